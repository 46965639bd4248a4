"""Run a step over and over: at once while there is work, at a tick without, slower in trouble."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    LedgerMisconfiguredError,
    LedgerUnavailableError,
    MisconfiguredError,
    OutboxError,
    WakeUpError,
)
from domain.pacing import IdlePause
from domain.retry import Backoff, Jitter
from entrypoints.health import Health, Part

log = structlog.get_logger(__name__)

Step = Callable[[], bool]
"""One unit of work; True: there may be more of it right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a loop waits: when idle, up to ``tick_ms``, and ``backoff`` after failures.

    Without ``first_pause_ms`` the first pause is as long as all others.
    """

    tick_ms: int
    backoff: Backoff
    jitter: Jitter
    first_pause_ms: int | None = None

    def idle_ms(self, vain_looks: int) -> int:
        """Return how long to wait after *vain_looks* looks in a row that found nothing."""
        first_ms = self.tick_ms if self.first_pause_ms is None else self.first_pause_ms
        return IdlePause(first_ms=first_ms, max_ms=self.tick_ms).after(vain_looks)


class Loop(threading.Thread):
    """A thread that runs *step* until ``stop``; it survives whatever *step* raises.

    An outage counts against no event: the loop itself backs off (DESIGN §8). Errors of
    Redis are booked on *redis_part*, since the status and the push jobs may have different
    servers. *owner* is under whose name the step notes its successes. *at_end* is called on the
    thread when it ends, however it does.
    """

    def __init__(
        self,
        name: str,
        step: Step,
        *,
        pace: Pace,
        health: Health,
        redis_part: Part,
        owner: str = "",
        at_end: Callable[[], None] | None = None,
    ) -> None:
        # A daemon, since a thread that hangs in a driver must not keep the process alive.
        super().__init__(name=name, daemon=True)
        self._step = step
        self._pace = pace
        self._health = health
        self._redis_part = redis_part
        self._owner = owner
        self._at_end = at_end
        self._is_idle = False
        self._wake = threading.Event()
        self._stopping = threading.Event()

    @property
    def is_idle(self) -> bool:
        """Whether it waits for work, so that ``wake`` makes it look at once."""
        return self._is_idle

    def wake(self) -> None:
        """End the present idle wait; never blocks."""
        self._wake.set()

    def stop(self) -> None:
        """Ask the loop to end after the step that it is in."""
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Thread body."""
        try:
            self._repeat()
        finally:
            if self._at_end is not None:
                with contextlib.suppress(Exception):
                    self._at_end()
            if not self._stopping.is_set():
                self._health.died(self.name)

    def _repeat(self) -> None:
        failures = vain_looks = 0
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                more = self._step()
            except Exception as error:
                # Whatever goes wrong with telling what went wrong, the loop goes on.
                with contextlib.suppress(Exception):
                    self._note(error)
                # Waking is for work; in trouble the pause is kept.
                self._stopping.wait(
                    self._pace.backoff.delay_ms(failures, self._pace.jitter) / 1_000
                )
                failures += 1
                continue
            failures = 0
            vain_looks = 0 if more else vain_looks + 1
            if not more and not self._stopping.is_set():
                self._is_idle = True
                self._wake.wait(self._pace.idle_ms(vain_looks) / 1_000)
                self._is_idle = False

    def _note(self, error: Exception) -> None:
        if self._stopping.is_set():
            # What a stop cuts off is no fault of the part.
            return
        match error:
            case LedgerUnavailableError() | LedgerMisconfiguredError():
                part = Part.LEDGER
            case DatabaseUnavailableError() | DatabaseMisconfiguredError():
                part = Part.DATABASE
            case WakeUpError():
                part = Part.WAKE_UP
            case OutboxError():
                part = self._redis_part
            case _:
                log.exception("outbox: unforeseen error", loop=self.name)
                return
        # An outage is everybody's. What is not as this loop needs it may do for another.
        owner = self._owner if isinstance(error, MisconfiguredError) else ""
        self._health.down(part, str(error), owner=owner)
