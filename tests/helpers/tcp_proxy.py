"""A TCP proxy on loopback that fails on demand, as networks do.

It stands between a client under test and a real server.
"""

import contextlib
import re
import socket
import struct
import threading
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from entrypoints.sandbox.resources import HOST, free_port

CHUNK_BYTES = 65_536
REQUEST_BYTES_MIN = 2
OPENING_BYTES_MAX = 1_024
CONNECT_TIMEOUT_S = 5.0
JOIN_TIMEOUT_S = 5.0


class ProxyMode(StrEnum):
    """What happens to traffic, old connections and new ones."""

    PASS = "pass"
    BLACKHOLE = "blackhole"
    DROP_ANSWERS = "drop_answers"
    REFUSE = "refuse"


class TcpProxy:
    """Forwards a port of its own to *upstream*, a ``host:port`` or a URL with both.

    It starts in mode ``PASS``. As a context manager it is gone on exit.
    """

    def __init__(self, upstream: str) -> None:
        """Start to forward."""
        self.port = free_port()
        self._given = upstream
        self._given_address = self._upstream = _host_and_port(upstream)
        self._mode = ProxyMode.PASS
        # Guards all that follows; notified whenever a connection may go on or must end.
        self._changed = threading.Condition()
        self._connections: list[_Connection] = []
        self._listener: _Listener | None = None
        self._connections_total = 0
        self._answers_lost_total = 0
        self._lose_after: bytes | None = None
        self._swallowed = b""
        self._freeze_at: re.Pattern[bytes] | None = None
        self._freeze_after = b""
        self._frozen_total = 0
        self.pass_through()

    @property
    def address(self) -> str:
        """Where the proxy listens, as ``host:port``."""
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        """What was given as upstream, with the proxy's address in the server's place."""
        return self._given.replace("{}:{}".format(*self._given_address), self.address)

    @property
    def mode(self) -> ProxyMode:
        """What happens to traffic now."""
        return self._mode

    @property
    def connections_total(self) -> int:
        """How many connections clients have made so far."""
        return self._connections_total

    @property
    def answers_lost_total(self) -> int:
        """How many times ``lose_answer_to`` has taken hold."""
        return self._answers_lost_total

    @property
    def frozen_total(self) -> int:
        """How many times ``freeze_at`` has taken hold."""
        return self._frozen_total

    def pass_through(self) -> None:
        """Forward everything, also what was held back by ``blackhole`` and ``freeze_at``."""
        self._set_mode(ProxyMode.PASS)
        with self._changed:
            self._freeze_at = None
            for connection in self._connections:
                connection.is_frozen = False
            self._changed.notify_all()
        if self._listener is None:
            self._listener = _Listener(self)

    def blackhole(self, only: bytes = b"") -> None:
        """Keep connections and accept new ones, but let nothing through in either direction.

        Not even the end of a connection: the other side goes on to believe in it. With *only*,
        which is no part of what others say, it befalls clients whose first words contain that.
        """
        self._swallowed = only
        self._set_mode(ProxyMode.BLACKHOLE)

    def drop_answers(self) -> None:
        """Let requests through to the server, and throw away what it answers."""
        self._set_mode(ProxyMode.DROP_ANSWERS)

    def refuse(self) -> None:
        """Cut every connection and refuse new ones, as the host of a stopped server does."""
        self._set_mode(ProxyMode.REFUSE)
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        self.cut()

    def redirect(self, upstream: str) -> None:
        """Forward to another server from now on, as if it had taken the place of the first."""
        self._upstream = _host_and_port(upstream)
        self.cut()

    def cut(self) -> None:
        """End the connections that there are; the mode stays."""
        with self._changed:
            connections = list(self._connections)
        for connection in connections:
            connection.cut()

    def lose_answer_to(self, request: bytes) -> None:
        """Once: when a client sends *request*, let it through and lose the answer.

        The connection is cut when the server answers, so the server has then done what it was
        asked, and the client never hears of it. Only the first request after this call counts.
        """
        if len(request) < REQUEST_BYTES_MIN:
            raise ValueError(f"too short to recognise: {request!r}")
        with self._changed:
            self._lose_after = request

    def freeze_at(self, request: re.Pattern[bytes], *, after: bytes = b"") -> None:
        """Once: let a request through up to the end of what *request* finds, and then nothing.

        Neither more of it nor an answer passes, nor the end of the connection, until
        ``pass_through``. With *after*, only a client is meant that has said that before.
        """
        with self._changed:
            self._freeze_at = request
            self._freeze_after = after

    def close(self) -> None:
        """End every connection and stop listening."""
        self.refuse()
        with self._changed:
            connections = list(self._connections)
        for connection in connections:
            connection.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _set_mode(self, mode: ProxyMode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def _accepted(self, client: socket.socket) -> None:
        connection = _Connection(self, client)
        with self._changed:
            self._connections_total += 1
            self._connections.append(connection)
        connection.start()

    def _ended(self, connection: "_Connection") -> None:
        with self._changed:
            self._connections.remove(connection)

    def _wait_while_held(self, connection: "_Connection") -> None:
        with self._changed:
            self._changed.wait_for(lambda: connection.is_cut or not self._holds(connection))

    def _holds(self, connection: "_Connection") -> bool:
        is_swallowed = self._swallowed in connection.opening
        return connection.is_frozen or (self._mode is ProxyMode.BLACKHOLE and is_swallowed)

    def _claims_loss(self, before: bytes, data: bytes) -> bool:
        """Say whether *data*, sent right after *before*, ends the request that was waited for."""
        with self._changed:
            request = self._lose_after
            if request is None or request not in before[1 - len(request) :] + data:
                return False
            self._lose_after = None
            return True

    def _freeze(self, connection: "_Connection", before: bytes, data: bytes) -> int | None:
        """Freeze *connection* if *data* is what was waited for; return how much still passes."""
        with self._changed:
            found = self._freeze_at.search(data) if self._freeze_at is not None else None
            if found is None or self._freeze_after not in before:
                return None
            self._freeze_at = None
            self._frozen_total += 1
            connection.is_frozen = True
            return found.end()

    def _lost_an_answer(self) -> None:
        with self._changed:
            self._answers_lost_total += 1


class _Listener:
    """Accepts connections until it is closed; from then on the port refuses."""

    def __init__(self, proxy: TcpProxy) -> None:
        self._proxy = proxy
        self._socket = socket.create_server((HOST, proxy.port), backlog=128)
        self._thread = threading.Thread(target=self._accept, name="proxy-accept", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self._proxy._accepted(client)

    def close(self) -> None:
        # A mere close would leave the other thread in accept(), and the port open.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(JOIN_TIMEOUT_S)
        self._socket.close()


class _Connection:
    """One client's connection and the one to the server that belongs to it."""

    def __init__(self, proxy: TcpProxy, client: socket.socket) -> None:
        self.is_cut = False
        self.is_frozen = False
        self.opening = b""
        self._proxy = proxy
        self._client = client
        self._server: socket.socket | None = None
        self._losing = False
        self._requests = threading.Thread(target=self._serve, name="proxy-requests", daemon=True)

    def start(self) -> None:
        self._requests.start()

    def join(self) -> None:
        self._requests.join(JOIN_TIMEOUT_S)

    def cut(self) -> None:
        with self._proxy._changed:
            self.is_cut = True
            self._proxy._changed.notify_all()
            # Only shut down here, which wakes the threads that read; they close when both are out.
            for end in (self._client, self._server):
                if end is not None:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        answers = threading.Thread(target=self._forward_answers, name="proxy-answers", daemon=True)
        try:
            self._proxy._wait_while_held(self)
            if self._connect():
                answers.start()
                self._forward_requests()
        finally:
            self.cut()
            if answers.ident is not None:
                answers.join()
            self._close()
            self._proxy._ended(self)

    def _connect(self) -> bool:
        try:
            server = socket.create_connection(self._proxy._upstream, timeout=CONNECT_TIMEOUT_S)
        except OSError:
            return False
        server.settimeout(None)
        for end in (self._client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._proxy._changed:
            self._server = server
            return not self.is_cut

    def _forward_requests(self) -> None:
        assert self._server is not None
        before = b""  # a request may come in two pieces
        while data := self._receive_from(self._client):
            # Decided before it is forwarded, or the answer could overtake the decision.
            if self._proxy._claims_loss(before, data):
                self._losing = True
            passes = self._proxy._freeze(self, before, data)
            before = (before + data)[-CHUNK_BYTES:]
            if passes is not None:
                if not _send(self._server, data[:passes]):
                    return
                self._proxy._wait_while_held(self)
                data = data[passes:]
            if not _send(self._server, data):
                return

    def _forward_answers(self) -> None:
        assert self._server is not None
        while data := self._receive_from(self._server):
            if self._losing:
                self._proxy._lost_an_answer()
                break
            if self._proxy.mode is not ProxyMode.DROP_ANSWERS and not _send(self._client, data):
                break
        self.cut()

    def _receive_from(self, end: socket.socket) -> bytes:
        try:
            data = end.recv(CHUNK_BYTES)
        except OSError:
            data = b""
        if end is self._client and len(self.opening) < OPENING_BYTES_MAX:
            self.opening += data
        # The end of a connection is held back like its data: a black hole hides that as well.
        self._proxy._wait_while_held(self)
        return data

    def _close(self) -> None:
        for end in (self._client, self._server):
            if end is not None:
                # Reset rather than end in order, so that what is still in a buffer is lost too.
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()


def _host_and_port(upstream: str) -> tuple[str, int]:
    parts = urlsplit(upstream if "://" in upstream else f"tcp://{upstream}")
    if parts.hostname is None or parts.port is None:
        raise ValueError(f"no host and port in {upstream!r}")
    return parts.hostname, parts.port


def _send(end: socket.socket, data: bytes) -> bool:
    try:
        end.sendall(data)
    except OSError:
        return False
    return True
