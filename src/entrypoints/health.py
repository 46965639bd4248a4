"""Which parts are up, told to operators: one log line a change of state, and over HTTP."""

import errno
import json
import socket
import threading
from enum import StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Final

import structlog

log = structlog.get_logger(__name__)


class Part(StrEnum):
    """What the worker depends on."""

    DATABASE = "database"
    LEDGER = "ledger"
    STATUS = "status"
    """Redis for the live status."""
    NOTIFICATIONS = "notifications"
    """Redis for push jobs."""
    WAKE_UP = "wake_up"
    """The connection that tells of new orders. Down means polling, and is not known before."""


NEEDED_TO_SETTLE: Final = (Part.DATABASE, Part.LEDGER)
_STARTING: Final = "not reached yet"
_STOP_DELAY_S: Final = 0.05


class Health:
    """The state of every part; thread-safe. A part is down until it was reached once.

    A fault is over when anybody reaches the part, except one that has an *owner*: a table or
    a right that one user of the part misses, while others get along, is over when that user
    does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: dict[Part, dict[str, str]] = {
            part: {"": _STARTING} for part in Part if part is not Part.WAKE_UP
        }
        self.role: str | None = None
        """Of an exclusive worker: ``active`` or ``stand-by``."""
        self._dead_loops: set[str] = set()

    def is_up(self, part: Part) -> bool:
        """Was *part* reached, and nothing bad seen of it since?"""
        return part not in self._faults

    def is_unfit(self, part: Part, *, owner: str) -> bool:
        """Is there a fault of *part* that is over only when *owner* gets along with it?"""
        with self._lock:
            return owner in self._faults.get(part, {})

    def up(self, part: Part, *, owner: str = "") -> None:
        """Note that *part* has answered *owner*."""
        if self.is_up(part):
            return
        with self._lock:
            faults = self._faults.get(part)
            if faults is None:
                return
            faults.pop("", None)
            faults.pop(owner, None)
            if faults:
                return
            del self._faults[part]
        log.info("outbox: part is up", part=part)

    def down(self, part: Part, fault: str, *, owner: str = "") -> None:
        """Note that *part* is away or, to *owner*, unfit; the first time of each is a log line."""
        with self._lock:
            faults = self._faults.setdefault(part, {})
            is_known = any(
                fault != _STARTING for known, fault in faults.items() if known or not owner
            )
            faults.pop("", None)
            faults[owner] = fault
        if not is_known:
            # Without hints all goes on, only later by up to a tick.
            say = log.warning if part is Part.WAKE_UP else log.error
            say("outbox: part is down", part=part, fault=fault)

    def faults(self) -> dict[Part, str]:
        """Return what is wrong, by part."""
        with self._lock:
            return {
                part: "; ".join(dict.fromkeys(faults.values()))
                for part, faults in self._faults.items()
            }

    def is_ready(self) -> bool:
        """Can intents be settled? Redis is not needed for that."""
        return all(self.is_up(part) for part in NEEDED_TO_SETTLE)

    def died(self, loop: str) -> None:
        """Note that *loop* has ended and was not told to; only a restart brings it back."""
        with self._lock:
            self._dead_loops.add(loop)

    def dead_loops(self) -> list[str]:
        """Return the names of the loops that should run and do not."""
        with self._lock:
            return sorted(self._dead_loops)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind, without asking the DNS for our name, which may take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]


class HealthServer:
    """``/livez`` and ``/readyz`` (200 or 503, JSON) on a thread of its own."""

    def __init__(self, health: Health, *, host: str, port: int) -> None:
        self._health = health
        self._address = (host, port)
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        """Listen and serve.

        Raises:
            OSError: the address cannot be listened on, for example since it is taken.
        """
        try:
            self._server = _Server(self._address, _handler(self._health))
        except (TypeError, UnicodeError) as error:
            # A name that the DNS has no form for.
            raise OSError(errno.EINVAL, "not a host name") from error
        threading.Thread(
            target=self._server.serve_forever, args=(_STOP_DELAY_S,), name="health", daemon=True
        ).start()

    @property
    def port(self) -> int:
        """The port listened on."""
        if self._server is None:
            raise RuntimeError("the health server was not started")
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """Stop serving; does nothing when not started."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def _handler(health: Health) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/livez":
                    dead = health.dead_loops()
                    if dead:
                        self._answer(
                            HTTPStatus.SERVICE_UNAVAILABLE, {"alive": False, "dead_loops": dead}
                        )
                    else:
                        self._answer(HTTPStatus.OK, {"alive": True})
                case "/readyz":
                    ready = health.is_ready()
                    role = {} if health.role is None else {"role": health.role}
                    self._answer(
                        HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE,
                        {"ready": ready, **role, "faults": health.faults()},
                    )
                case _:
                    self._answer(HTTPStatus.NOT_FOUND, {"error": "try /livez or /readyz"})

        def _answer(self, status: HTTPStatus, body: dict[str, object]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: probes come every few seconds."""

    return Handler
