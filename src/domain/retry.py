"""When an event is tried again, and when the worker gives up on it (DESIGN §8)."""

from collections.abc import Callable
from typing import Final, assert_never

from domain.values import value
from domain.verdicts import RetryReason

Jitter = Callable[[int], int]
"""Given an upper bound in ms, return a random integer from 0 to it, both included."""

_DOUBLINGS_MAX: Final = 30


@value
class Backoff:
    """Exponential backoff with full jitter: replicas that fail together spread out again."""

    first_ms: int = 1_000
    max_ms: int = 300_000

    def delay_ms(self, failures: int, jitter: Jitter) -> int:
        """Return how long to wait after *failures* earlier failures of the same thing.

        A count below zero, which a person may have written, is as good as none.
        """
        doublings = min(max(failures, 0), _DOUBLINGS_MAX)
        return jitter(min(self.max_ms, self.first_ms << doublings))


@value
class RetryPolicy:
    """How often an event is tried. ``gives_up`` False is the sources' rule: for ever."""

    attempts_max: int = 12
    attempts_max_not_found: int = 5
    backoff: Backoff = Backoff()
    gives_up: bool = True

    def attempts_limit(self, reason: RetryReason) -> int | None:
        """Return how many failures for *reason* are one too many; None: never give up."""
        match reason:
            case RetryReason.PENDING_TRANSFER_NOT_FOUND:
                limit: int | None = self.attempts_max_not_found
            case (
                RetryReason.LEDGER_REFUSED
                | RetryReason.IDS_BURNED
                | RetryReason.RESOLUTION_NOT_FOUND
                | RetryReason.UNFORESEEN
            ):
                limit = self.attempts_max
            case (
                RetryReason.FEE_ACCOUNT_UNMAPPED
                | RetryReason.FEE_REFUSED
                | RetryReason.NEEDS_REVIEW
                # A slow ledger is no fault of the event's.
                | RetryReason.OUT_OF_TIME
            ):
                limit = None
            case _:
                assert_never(reason)
        return limit if self.gives_up else None
