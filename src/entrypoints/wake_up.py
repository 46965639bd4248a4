"""Waking lanes when orders come; they go on looking from time to time, whatever happens here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from application.errors import OutboxError, WakeUpError
from application.ports.arrivals import Arrivals
from entrypoints.health import Health, Part

LISTENER: Final = "listener"
_WAIT_S: Final = 0.2
"""A stop waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenStep:
    """Wait for a hint, and wake a lane when one came."""

    arrivals: Arrivals
    wake_lane: Callable[[], None]
    health: Health

    def __call__(self) -> bool:
        """Return True: the wait is in here.

        Raises:
            WakeUpError: there are no hints; whatever the fault, it stops no settling.
        """
        try:
            has_come = self.arrivals.wait(timeout_s=_WAIT_S)
        except OutboxError as error:
            raise WakeUpError(f"polling only: {error}") from error
        self.health.up(Part.WAKE_UP, owner=LISTENER)
        if has_come:
            self.wake_lane()
        return True
