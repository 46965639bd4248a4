"""The life of one client: made, used by many lanes, retired once, closed once.

The client's calls have neither time-out nor cancel, and an exception thrown into one
(Ctrl-C) would leak its packet. So they run in worker threads that nothing interrupts, and
lanes wait on futures. A blocked worker is freed by closing the client.

All threads are daemons: none of them may keep a stopping process alive.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from queue import SimpleQueue
from typing import Any

import structlog

from adapters.tigerbeetle.client import Client

log = structlog.get_logger(__name__)

Request = Callable[[Client], Any]


class Epoch:
    """One client and the calls that wait on it. Thread-safe.

    A keeper thread makes the client and is the only one that closes it, so it is closed
    exactly once. There are as many workers as there were calls at the same time.

    Whenever the client had nothing to do for ``idle_s`` seconds (0: never), the keeper calls
    ``on_idle``, which is to give it a call that ends.
    """

    def __init__(
        self,
        number: int,
        make_client: Callable[[], Client],
        *,
        close_timeout_s: float,
        idle_s: float = 0.0,
        on_idle: Callable[["Epoch"], None] = lambda _: None,
    ):
        self.number = number
        self.closed = threading.Event()
        """Set once the client is closed, or was never made."""
        self._make_client = make_client
        self._close_timeout_s = close_timeout_s
        self._idle_s = idle_s
        self._on_idle = on_idle
        self._used_at_s = time.monotonic()
        self._lock = threading.Lock()
        self._client: Future[Client] = Future()
        self._may_close = threading.Event()
        self._lost: Exception | None = None
        self._jobs: SimpleQueue[tuple[Request, Future[Any]] | None] = SimpleQueue()
        self._waiting: set[Future[Any]] = set()
        self._workers = 0
        self._idle = 0

    @property
    def is_retired(self) -> bool:
        """Whether this client takes no more calls."""
        return self._lost is not None

    def start(self) -> None:
        """Begin to make the client, in the background."""
        self._start_thread(self._keep, "keeper")

    def submit(self, request: Request) -> Future[Any]:
        """Run ``request(client)`` in a worker; the future ends by its answer or by ``retire``."""
        future: Future[Any] = Future()
        with self._lock:
            if self._lost is not None:
                raise self._lost
            if self._idle == 0:
                self._start_thread(self._work, f"worker-{self._workers}")
                self._workers += 1
            else:
                self._idle -= 1
            self._waiting.add(future)
        self._jobs.put((request, future))
        return future

    def retire(self, error: Exception) -> None:
        """End every waiting call with *error* and let the client be closed. Never blocks.

        Only the first time counts.
        """
        with self._lock:
            if self._lost is not None:
                return
            self._lost = error
            abandoned, workers = list(self._waiting), self._workers
        for future in (*abandoned, self._client):
            _settle(future, error=error)
        for _ in range(workers):
            self._jobs.put(None)
        self._may_close.set()

    def _keep(self) -> None:
        try:
            client = self._make_client()
        except Exception as error:
            self.retire(error)
        else:
            _settle(self._client, answer=client)
            while not self._may_close.wait(self._until_idle_s()):
                if self._until_idle_s() == 0:
                    self._on_idle(self)
            self._close(client)
        self.closed.set()

    def _until_idle_s(self) -> float | None:
        """Seconds until the client has been idle for long enough, if no call comes; or None."""
        if self._idle_s == 0:
            return None
        with self._lock:
            if self._waiting:
                return self._idle_s
            return max(0.0, self._used_at_s + self._idle_s - time.monotonic())

    def _close(self, client: Client) -> None:
        hung = threading.Timer(
            self._close_timeout_s, log.error, ["ledger_client_close_hangs"], {"epoch": self.number}
        )
        hung.daemon = True
        hung.start()
        try:
            client.close()
        except Exception as error:
            # AssertionError: it found calls that had ended but whose threads had not run yet.
            log.debug("ledger_client_close_failed", epoch=self.number, error=repr(error))
        finally:
            hung.cancel()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            request, future = job
            answer, error = None, None
            try:
                answer = request(self._client.result())
            except Exception as raised:
                error = raised
            with self._lock:
                # Before the answer is out: its receiver may come back at once with more.
                self._idle += 1
                self._waiting.discard(future)
                self._used_at_s = time.monotonic()
            _settle(future, answer=answer, error=error)
            del job, request, future, answer, error  # keep no batch alive while idle

    def _start_thread(self, target: Callable[[], None], role: str) -> None:
        name = f"tigerbeetle-{self.number}-{role}"
        threading.Thread(target=target, name=name, daemon=True).start()


def _settle(future: Future[Any], *, answer: object = None, error: Exception | None = None) -> None:
    """End *future*, unless it has ended: the first end counts."""
    try:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)
    except InvalidStateError:
        pass
