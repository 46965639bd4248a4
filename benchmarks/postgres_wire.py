"""Counts what clients ask of Postgres, by the protocol's own messages and not by a clock.

It stands between them and the server. A statement is an Execute or a simple Query. A round trip
ends with a message that has the server answer at once (Sync, Flush or Query) and holds all that
was asked since the last one: in pipeline mode that is many statements.
"""

import contextlib
import socket
import socketserver
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

_CHUNK_BYTES: Final = 65_536
_LENGTH_BYTES: Final = 4
# Asked before the session starts: is there TLS, is there GSSAPI? What follows has no type either.
_NEGOTIATIONS: Final = frozenset({80_877_103, 80_877_104})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many of each there were, over all connections."""

    statements: int = 0
    round_trips: int = 0
    commits: int = 0

    def __sub__(self, earlier: "Counts") -> "Counts":
        return Counts(
            statements=self.statements - earlier.statements,
            round_trips=self.round_trips - earlier.round_trips,
            commits=self.commits - earlier.commits,
        )


class PostgresWire:
    """Relays a loopback port of its own to the server of *url*. A context manager."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        upstream = (str(parts.hostname), int(str(parts.port)))
        self._lock = threading.Lock()
        self._counts = Counts()
        wire = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection(upstream) as server:
                    wire._relay(self.request, server)

        self._server = socketserver.ThreadingTCPServer((upstream[0], 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="postgres-wire", daemon=True
        )
        self._thread.start()
        own_address = f"{upstream[0]}:{self._server.server_address[1]}"
        self.url = url.replace(f"{upstream[0]}:{upstream[1]}", own_address)

    @property
    def counts(self) -> Counts:
        """What was asked so far."""
        return self._counts

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

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = threading.Thread(target=_pump, args=(server, client), daemon=True)
        answers.start()
        asked = _Asked()
        with contextlib.suppress(OSError):
            while data := client.recv(_CHUNK_BYTES):
                # Before it is passed on: who sees the answer also sees it counted.
                self._add(asked.read(data))
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        answers.join()

    def _add(self, more: Counts) -> None:
        with self._lock:
            self._counts = Counts(
                statements=self._counts.statements + more.statements,
                round_trips=self._counts.round_trips + more.round_trips,
                commits=self._counts.commits + more.commits,
            )


class _Asked:
    """Reads one client's messages, however they are cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._has_started = False
        self._awaits_answers = False

    def read(self, data: bytes) -> Counts:
        """Return what the messages that *data* completes ask for."""
        self._buffer += data
        statements = round_trips = commits = 0
        while message := self._next():
            kind, body = message
            statements += kind in (b"E", b"Q")
            round_trips += self._ends_round_trip(kind)
            commits += _is_commit(kind, body)
        return Counts(statements=statements, round_trips=round_trips, commits=commits)

    def _ends_round_trip(self, kind: bytes) -> bool:
        if kind not in (b"S", b"H"):
            self._awaits_answers = kind != b"Q"
            return kind == b"Q"
        # A Sync right after a Flush, or the reverse, asks for nothing more.
        awaited, self._awaits_answers = self._awaits_answers, False
        return awaited

    def _next(self) -> tuple[bytes, bytes] | None:
        kind_bytes = 1 if self._has_started else 0
        head = kind_bytes + _LENGTH_BYTES
        if len(self._buffer) < head:
            return None
        end = kind_bytes + int.from_bytes(self._buffer[kind_bytes:head])
        if len(self._buffer) < end:
            return None
        kind, body = bytes(self._buffer[:kind_bytes]), bytes(self._buffer[head:end])
        del self._buffer[:end]
        if not self._has_started:
            self._has_started = int.from_bytes(body[:_LENGTH_BYTES]) not in _NEGOTIATIONS
        return kind, body


def _is_commit(kind: bytes, body: bytes) -> bool:
    match kind:
        case b"Q":
            text = body
        case b"P":
            _, _, text = body.partition(b"\0")
        case _:
            return False
    return text.upper().startswith(b"COMMIT")


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
