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
)
from domain.retry import Backoff, Jitter
from entrypoints.health import Health, Part

log = structlog.get_logger(__name__)

Step = Callable[[], bool]
"""One unit of work; True: there may be more of it right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a loop waits: ``tick_ms`` when idle, ``backoff`` after failures."""

    tick_ms: int
    backoff: Backoff
    jitter: Jitter


class Loop(threading.Thread):
    """A thread that runs *step* until ``stop``; it survives whatever *step* raises.

    An outage counts against no event: the loop itself backs off (DESIGN §8). Errors of
    Redis are booked on *redis_part*, since the status and the push jobs may have different
    servers. *owner* is under whose name the step notes its successes.
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
    ) -> None:
        # A daemon, since a thread that hangs in a driver must not keep the process alive.
        super().__init__(name=name, daemon=True)
        self._step = step
        self._pace = pace
        self._health = health
        self._redis_part = redis_part
        self._owner = owner
        self._wake = threading.Event()
        self._stopping = threading.Event()

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
            if not self._stopping.is_set():
                self._health.died(self.name)

    def _repeat(self) -> None:
        failures = 0
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
            if not more and not self._stopping.is_set():
                self._wake.wait(self._pace.tick_ms / 1_000)

    def _note(self, error: Exception) -> None:
        if self._stopping.is_set():
            # What a stop cuts off is no fault of the part.
            return
        match error:
            case LedgerUnavailableError() | LedgerMisconfiguredError():
                part = Part.LEDGER
            case DatabaseUnavailableError() | DatabaseMisconfiguredError():
                part = Part.DATABASE
            case OutboxError():
                part = self._redis_part
            case _:
                log.exception("outbox: unforeseen error", loop=self.name)
                return
        # An outage is everybody's. What is not as this loop needs it may do for another.
        owner = self._owner if isinstance(error, MisconfiguredError) else ""
        self._health.down(part, str(error), owner=owner)
