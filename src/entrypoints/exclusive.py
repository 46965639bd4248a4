"""``run --exclusive``: one worker claims, the others stand by.

A convenience and no safeguard: claiming is safe for any number of workers, so that nothing
breaks where two believe for a moment that it is their turn.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from application.errors import OutboxError
from application.ports.exclusive_lock import LEASE_S, ExclusiveLock
from entrypoints.health import Health, Part

log = structlog.get_logger(__name__)

EXCLUSIVE: Final = "exclusive"
STAND_BY_TICK_MS: Final = 1_000
"""How often a stand-by tries."""
_BEAT_S: Final = 0.5


class Turn:
    """Whether it is this worker's turn to claim; thread-safe.

    It ends by itself ``LEASE_S`` after the last sign of life was begun, before the server gives
    it to another. So a process that was frozen does not go on with a turn that is over.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends_at_s = float("-inf")

    def is_ours(self) -> bool:
        """May a lane claim now?"""
        return self._clock() < self._ends_at_s

    def now_s(self) -> float:
        """Return the time of its clock, which has no meaning but to be compared."""
        return self._clock()

    def extend(self, *, asked_at_s: float) -> None:
        """It is ours, by a sign of life that was given at *asked_at_s* or later."""
        self._ends_at_s = asked_at_s + LEASE_S

    def end(self) -> None:
        """It is another's turn, or nobody's."""
        self._ends_at_s = float("-inf")


@dataclass(slots=True, kw_only=True)
class HoldStep:
    """Try to get the lock; where it is held, give a sign of life and wait for the next."""

    lock: ExclusiveLock
    turn: Turn
    wake_lane: Callable[[], None]
    health: Health
    _was_ours: bool | None = None

    def __call__(self) -> bool:
        """Return whether it is our turn, and the next sign of life is due at once."""
        try:
            self._hold()
        except OutboxError as error:
            self.turn.end()
            # Under a name of its own, since lanes may well reach a database that has no
            # session to give. There it would go up and down.
            self.health.down(Part.DATABASE, str(error), owner=EXCLUSIVE)
        else:
            self.health.up(Part.DATABASE, owner=EXCLUSIVE)
        self._tell()
        return self.turn.is_ours()

    def _hold(self) -> None:
        asked_at_s = self.turn.now_s()
        if not self.lock.hold():
            self.turn.end()
            return
        self.turn.extend(asked_at_s=asked_at_s)
        self._tell()
        self.lock.watch(timeout_s=_BEAT_S)

    def _tell(self) -> None:
        is_ours = self.turn.is_ours()
        if is_ours is self._was_ours:
            return
        self._was_ours = is_ours
        role = "active" if is_ours else "stand-by"
        self.health.role = role
        log.info("outbox: worker is now " + role)
        if is_ours:
            self.wake_lane()
