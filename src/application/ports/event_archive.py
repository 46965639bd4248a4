"""Where finished events go, once nobody needs them in the outbox any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from domain.intents import EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in the order of events. Time is text, for it may be infinite."""

    created_at: str = "-infinity"
    event_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """A stretch of the finished events.

    ``event_ids`` are those of it that may be moved; ``end`` is where the next portion begins,
    None where there is none.
    """

    event_ids: Sequence[EventId]
    end: Position | None


class EventArchive(Protocol):
    """Moves events that are over: ``processed`` so long ago, and their intent at rest.

    An intent is at rest when it is final, or gone, and all events of it are over. An event
    without ``processed_at``, or of an intent that no one has finished, is never moved.

    Every method raises DatabaseUnavailableError or DatabaseMisconfiguredError like
    ``OutboxRepository.claim``.
    """

    def cutoff(self, age: timedelta) -> datetime:
        """Return when *age* ago was, by the database's clock."""
        ...

    def find(self, *, before: datetime, after: Position, limit: int) -> Portion:
        """Look at the next *limit* finished events behind *after*; lock and change nothing.

        Only what was created before *before*, too, is looked at.
        """
        ...

    def move(self, event_ids: Sequence[EventId], *, before: datetime) -> int:
        """Move those of *event_ids* that are over; return how many were.

        One transaction, so each event is in exactly one place at any time. Waits for nobody:
        an event that somebody holds locked stays. Idempotent.

        Raises:
            RowsRefusedError: the database does not let go of them, or does not take them.
        """
        ...
