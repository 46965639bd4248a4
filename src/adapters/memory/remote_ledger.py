"""An in-memory ledger for several processes: one serves it, others call it over loopback.

For trying things out without a TigerBeetle. The ledger outlives a worker that is killed, and
whoever serves it can look into it and hold its answers back. One connection a call, one line
of JSON there and one back.
"""

import contextlib
import json
import socket
import socketserver
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from adapters.memory import ledger_wire as wire
from application.errors import LedgerMisconfiguredError, LedgerUnavailableError
from application.ports.fee_scan import FeeScan
from application.ports.ledger import Ledger
from domain.chains import chain_fault
from domain.ledger_requests import ChainAnswer, ChainRefused, ResolutionSearch, SearchAnswer
from domain.transfers import Account, AccountId, Transfer, TransferId

SCHEME: Final = "memory://"
HOST: Final = "127.0.0.1"


class LedgerServer:
    """Serves *ledger* on a free loopback port. As a context manager it is gone on exit.

    A request that has arrived is carried out even when its client is gone by then, as the
    real server does. While paused, it takes requests and answers none.
    """

    def __init__(self, ledger: Ledger, *, fee_scan: FeeScan | None = None) -> None:
        running = self._running = threading.Event()
        running.set()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                request = self.rfile.readline()
                if not request:
                    return
                running.wait()
                match json.loads(request):
                    case ["transfers_of_code", [code, since_ns]] if fee_scan is not None:
                        answer = wire.fee_page(fee_scan, code, since_ns)
                    case other:
                        answer = wire.answer(ledger, other)
                with contextlib.suppress(OSError):
                    self.wfile.write(json.dumps(answer).encode() + b"\n")

        self._server = socketserver.ThreadingTCPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="ledger-server", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens, as ``host:port``."""
        return f"{HOST}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """What ``TIGERBEETLE_ADDRESSES`` says to use this ledger."""
        return f"{SCHEME}{self.address}"

    def pause(self) -> None:
        """Answer nothing from now on."""
        self._running.clear()

    def resume(self) -> None:
        """Carry out what has arrived, and go on."""
        self._running.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class RemoteLedger:
    """The ports ``Ledger`` and ``FeeScan`` by way of a ``LedgerServer``.

    It promises what the real adapter promises: each call comes back within *deadline_s*, and
    ``close`` ends those that wait.

    Raises:
        LedgerMisconfiguredError: *url* is not ``memory://host:port``.
    """

    def __init__(self, url: str, *, deadline_s: float) -> None:
        parts = urlsplit(url)
        try:
            self._address = (str(parts.hostname), int(str(parts.port)))
        except ValueError:
            raise LedgerMisconfiguredError(
                f"TIGERBEETLE_ADDRESSES: {url!r} is not {SCHEME}host:port"
            ) from None
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_closed = False

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """See the port."""
        # Here, since JSON would make numbers of values that are none.
        faults = [chain_fault(chain) for chain in chains]
        sendable = [
            list(map(wire.pack, chain))
            for chain, fault in zip(chains, faults, strict=True)
            if fault is None
        ]
        answers = map(wire.unpack_chain_answer, self._call("create_chains", sendable))
        return [next(answers) if fault is None else ChainRefused(fault) for fault in faults]

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """See the port."""
        found = map(wire.unpack, self._call("lookup", list(ids)))
        return {transfer.id: transfer for transfer in found}

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """See the port."""
        return wire.unpack_search_answer(self._call("find_resolutions", wire.pack_search(search)))

    def transfers_of_code(self, code: int, *, since_ns: int) -> Iterator[Transfer]:
        """See ``FeeScan``."""
        while page := list(map(wire.unpack, self._call("transfers_of_code", [code, since_ns]))):
            yield from page
            since_ns = page[-1].timestamp_ns + 1

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        """See the port."""
        found = map(wire.unpack_account, self._call("lookup_accounts", list(ids)))
        return {account.id: account for account in found}

    def close(self) -> None:
        """See the port."""
        with self._lock:
            self._is_closed = True
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _call(self, method: str, argument: object) -> Any:
        deadline = time.monotonic() + self._deadline_s
        try:
            with self._connection() as connection:
                connection.sendall(json.dumps([method, argument]).encode() + b"\n")
                answer = _read_line(connection, deadline)
        except OSError as error:
            raise LedgerUnavailableError(f"outcome unknown: {error}") from error
        if not answer.endswith(b"\n"):
            raise LedgerUnavailableError("outcome unknown: the connection ended")
        return json.loads(answer)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[socket.socket]:
        with socket.create_connection(self._address, self._deadline_s) as connection:
            with self._lock:
                if self._is_closed:
                    raise LedgerUnavailableError("the ledger was closed")
                self._open.add(connection)
            try:
                yield connection
            finally:
                with self._lock:
                    self._open.discard(connection)


def _read_line(connection: socket.socket, deadline: float) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        received = connection.recv(65_536)
        if not received:
            break
        line += received
    return bytes(line)
