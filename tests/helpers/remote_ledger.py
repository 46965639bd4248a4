"""A ledger of the test's process, for workers in other processes.

So it outlives a worker that is killed, several workers can share it, and the test can look into
it and hold its answers back. Put a ``TcpProxy`` before it to take it away.
"""

import contextlib
import socketserver
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Client, Connection, Pipe, wait
from types import TracebackType
from typing import Any, Self

from application.errors import LedgerUnavailableError, OutboxError
from application.ports.ledger import Ledger
from domain.ledger_requests import ChainAnswer, ResolutionSearch
from domain.transfers import Transfer, TransferId
from tests.helpers.resources import HOST, free_port


class LedgerServer:
    """Serves *ledger* on a loopback port. As a context manager it is gone on exit.

    A request that has arrived is carried out even when its client is gone by then, as the real
    server does.
    """

    def __init__(self, ledger: Ledger) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError, EOFError):
                    _serve_one(ledger, Connection(self.request.detach()))

        self.port = free_port()
        self._server = socketserver.ThreadingTCPServer((HOST, self.port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="ledger-server", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens, as ``host:port``."""
        return f"{HOST}:{self.port}"

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
    """The port ``Ledger`` by way of a ``LedgerServer``; a connection a call.

    It promises what the real adapter promises: each call comes back within *deadline_s*, and
    ``close`` ends those that wait.
    """

    def __init__(self, address: str, *, deadline_s: float) -> None:
        host, _, port = address.partition(":")
        self._address = (host, int(port))
        self._deadline_s = deadline_s
        self._closed, self._closing = Pipe(duplex=False)

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """See the port."""
        answers: Sequence[ChainAnswer] = self._call("create_chains", chains)
        return answers

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """See the port."""
        found: Mapping[TransferId, Transfer] = self._call("lookup", ids)
        return found

    def find_resolutions(
        self, searches: Sequence[ResolutionSearch]
    ) -> Sequence[tuple[Transfer, ...]]:
        """See the port."""
        found: Sequence[tuple[Transfer, ...]] = self._call("find_resolutions", searches)
        return found

    def close(self) -> None:
        """See the port."""
        self._closing.close()

    def _call(self, method: str, argument: object) -> Any:
        try:
            with Client(self._address) as connection:
                connection.send((method, argument))
                ready = wait([connection, self._closed], self._deadline_s)
                if connection not in ready:
                    raise LedgerUnavailableError("closed" if ready else "no answer in time")
                answer = connection.recv()
        except (OSError, EOFError) as error:
            raise LedgerUnavailableError(f"the ledger is away: {error}") from error
        if isinstance(answer, OutboxError):
            raise answer
        return answer


def _serve_one(ledger: Ledger, connection: "Connection[Any, Any]") -> None:
    with connection:
        method, argument = connection.recv()
        try:
            answer = getattr(ledger, method)(argument)
        except OutboxError as error:
            answer = error
        connection.send(answer)
