"""Events as an operator changes them, one at a time."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from domain.conclusions import Review
from domain.intents import EventId, IntentId
from domain.named_events import NamedEvent, UnfinishedEvent
from domain.requeueing import Requeue


class HeldEvent(Protocol):
    """An event that is locked, with its intent, until the block of ``hold`` ends.

    Both writes raise RowsRefusedError where the database does not take a value or a row does
    not take the update; leave the block by it, then nothing is kept.
    """

    @property
    def named(self) -> NamedEvent:
        """What is there, read under the lock."""
        ...

    def requeue(self, requeue: Requeue) -> None:
        """Make the event pending with ``retry_count`` 0, restore the intent, write the audit row.

        A failed event loses its retry row; a pending one keeps it, with what was learned of
        burned ids, and is due all the same.
        """
        ...

    def give_up(self, review: Review) -> None:
        """Write as ``ClaimedBatch.write`` does for a ``Review``.

        Also where the intent is in ``MANUAL_REVIEW`` already there is an audit row.
        """
        ...


class OperatorStore(Protocol):
    """Archived events are read as processed ones; nothing is done to them.

    Every method raises DatabaseUnavailableError or DatabaseMisconfiguredError like
    ``OutboxRepository.claim``.
    """

    def read(self, event_id: EventId) -> NamedEvent | None:
        """Return an event as it is now, without a lock; None: no such event."""
        ...

    def unfinished(self, intent_id: IntentId) -> Sequence[UnfinishedEvent]:
        """Return the events of an intent that are not ``processed``, oldest first."""
        ...

    def hold(self, event_id: EventId) -> AbstractContextManager[HeldEvent | None]:
        """Lock an event and its intent for the length of the block; None: no such event.

        Leaving the block normally commits; leaving it by an exception rolls back.

        Raises, on entry or on leaving:
            HeldByOthersError: somebody else has held one of them for too long.
            DatabaseUnavailableError: on leaving, the commit may have happened.
        """
        ...
