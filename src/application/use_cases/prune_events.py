"""Move old finished events out of the outbox, a little at a time."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from application.ports.event_archive import EventArchive, Portion, Position


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneEvents:
    """Walks once through what was finished before a moment, in the order of creation.

    Each batch is a transaction of its own, and others get their turn between two of them.
    Stopped or killed at any point, it has moved whole batches; the next run goes on.
    """

    archive: EventArchive
    batch_events: int
    pause_s: float
    stop: threading.Event

    def before(self, age: timedelta) -> datetime:
        """Return the moment before which an event must be finished to be moved."""
        return self.archive.cutoff(age)

    def count(self, before: datetime) -> int | None:
        """Return how many events there are to move; None: it was stopped. Changes nothing.

        Also when it was stopped at the very end: who is asked to stop must not ask to go on.
        """
        total = 0
        for portion in self._portions(before):
            total += len(portion.event_ids)
            if self.stop.is_set():
                return None
        return total

    def __call__(self, before: datetime) -> Iterator[int]:
        """Move them, and yield after each batch how many went; ends early when stopped.

        Raises, while iterating:
            RowsRefusedError: the database does not let go of a batch, or does not take it.
            DatabaseUnavailableError: of the last batch it is not known whether it went.
            DatabaseMisconfiguredError: rights or a table are missing.
        """
        for portion in self._portions(before):
            if self.stop.is_set():
                return
            if portion.event_ids:
                yield self.archive.move(portion.event_ids, before=before)
                if portion.end is not None:
                    self.stop.wait(self.pause_s)

    def _portions(self, before: datetime) -> Iterator[Portion]:
        position: Position | None = Position()
        while position is not None:
            portion = self.archive.find(before=before, after=position, limit=self.batch_events)
            yield portion
            position = portion.end
