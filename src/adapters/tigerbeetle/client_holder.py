"""One client a process, replaced when it stops answering, and kept from being evicted.

Each client has an epoch. The first call of an epoch that is not answered in time retires
it; every other call that waits on it ends too, and the next use makes a new client. What a
retired client was asked may still be carried out: the outcome is unknown.

A cluster has room for some dozens of sessions; one more evicts whichever committed longest
ago. So a client that nobody uses looks something up from time to time.
"""

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog
from tigerbeetle import TooMuchDataError

from adapters.tigerbeetle.client import ANY_ID, Client
from adapters.tigerbeetle.epoch import Epoch
from adapters.tigerbeetle.errors import NoAnswerError

log = structlog.get_logger(__name__)

T = TypeVar("T")

EPOCHS_OPEN_MAX: Final = 4
"""Clients that may exist at once: the one in use, and others whose close has not ended.

A client holds a thread, descriptors and one of the cluster's sessions; when closing hangs,
making ever more of them would harm the cluster and the process.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive:
    """Look something up when a client was not used for ``idle_s`` seconds; 0: never.

    The answer has to come within ``timeout_s`` seconds, as with any call.
    """

    idle_s: float
    timeout_s: float


_NO_KEEP_ALIVE: Final = KeepAlive(idle_s=0.0, timeout_s=0.0)


class ClientHolder:
    """Runs calls on the process's client. Thread-safe; nothing happens before the first call.

    A forked child makes its own client: to touch the parent's would abort the parent.
    """

    def __init__(
        self,
        make_client: Callable[[], Client],
        *,
        close_timeout_s: float,
        keep_alive: KeepAlive = _NO_KEEP_ALIVE,
    ):
        self._make_client = make_client
        self._close_timeout_s = close_timeout_s
        self._keep_alive = keep_alive
        self._lock = threading.Lock()
        self._epoch: Epoch | None = None
        self._open: list[Epoch] = []
        self._epochs_begun = 0
        self._answering = True
        self._closed = False
        _after_fork_in_child(self._forget_parents_client)

    def call(self, request: Callable[[Client], T], *, timeout_s: float) -> T:
        """Return ``request(client)``, or come back after *timeout_s* at the latest.

        Raises:
            NoAnswerError: no answer; the outcome is unknown.
            Exception: whatever the client, or making it, raised.
        """
        return self._call(self._current(), request, timeout_s)

    def _call(self, epoch: Epoch, request: Callable[[Client], T], timeout_s: float) -> T:
        try:
            future = epoch.submit(request)
            wait([future], timeout=timeout_s)
            if not future.done():
                # Ends this future too, unless the answer comes in this very moment.
                self._retire(epoch, NoAnswerError("no answer within the deadline"))
            answer: T = future.result()
        except TooMuchDataError:
            raise  # said before anything was sent; the client is as good as before
        except Exception as error:
            self._retire(epoch, error)
            raise
        self._note_answer(epoch)
        return answer

    def close(self) -> None:
        """End waiting calls, refuse further ones, and wait for the client's close, bounded."""
        with self._lock:
            self._closed = True
            epochs = list(self._open)
        for epoch in epochs:
            epoch.retire(NoAnswerError("the ledger was closed"))
        deadline = time.monotonic() + self._close_timeout_s
        for epoch in epochs:
            epoch.closed.wait(timeout=max(0.0, deadline - time.monotonic()))

    def _current(self) -> Epoch:
        with self._lock:
            if self._closed:
                raise NoAnswerError("the ledger was closed")
            if self._epoch is None or self._epoch.is_retired:
                self._open = [epoch for epoch in self._open if not epoch.closed.is_set()]
                if len(self._open) >= EPOCHS_OPEN_MAX:
                    raise NoAnswerError(
                        f"{len(self._open)} clients are still being closed; "
                        "if this lasts, restart the process"
                    )
                self._epoch = self._begin_epoch()
            return self._epoch

    def _begin_epoch(self) -> Epoch:
        self._epochs_begun += 1
        epoch = Epoch(
            self._epochs_begun,
            self._make_client,
            close_timeout_s=self._close_timeout_s,
            idle_s=self._keep_alive.idle_s,
            on_idle=self._look_something_up,
        )
        epoch.start()
        self._open.append(epoch)
        return epoch

    def _look_something_up(self, epoch: Epoch) -> None:
        """Call *epoch*'s own client, if it still has one; what fails retires it."""
        with contextlib.suppress(Exception):
            self._call(
                epoch, lambda client: client.lookup_accounts([ANY_ID]), self._keep_alive.timeout_s
            )

    def _retire(self, epoch: Epoch, error: Exception) -> None:
        epoch.retire(error)
        if self._turns(epoch, answering=False):
            log.debug("ledger_client_lost", epoch=epoch.number, error=repr(error))

    def _note_answer(self, epoch: Epoch) -> None:
        if not self._answering and self._turns(epoch, answering=True):
            log.debug("ledger_client_recovered", epoch=epoch.number)

    def _turns(self, epoch: Epoch, *, answering: bool) -> bool:
        """Note how calls of *epoch* end; return whether that is a change of state."""
        with self._lock:
            if self._closed or epoch is not self._epoch or answering is self._answering:
                return False
            self._answering = answering
            return True

    def _forget_parents_client(self) -> None:
        self._lock = threading.Lock()  # a thread that is not in this process may hold the old one
        self._epoch = None
        self._open = []


def _after_fork_in_child(method: Callable[[], None]) -> None:
    """Call the bound *method* in forked children, as long as its object lives."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        if (alive := reference()) is not None:
            alive()

    os.register_at_fork(after_in_child=call)
