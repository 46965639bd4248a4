"""What the operator's commands read: lists of events, and all about one intent."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from domain.dossier import Dossier
from domain.intents import EventId, IntentId
from domain.waiting import ActionStatistics, Page, Stuck


class OutboxReader(Protocol):
    """Read-only; locks nothing, waits for nobody's lock. Each answer is of one moment.

    Every method raises DatabaseUnavailableError or DatabaseMisconfiguredError like
    ``OutboxRepository.claim``.
    """

    def queue(self, *, limit: int) -> Page:
        """Return the pending events in the order in which workers take them."""
        ...

    def stuck(self, *, older_than: timedelta, limit: int) -> Stuck:
        """Return what does not get on, oldest first, at most *limit* of each kind."""
        ...

    def retried(self, *, more_than: int, limit: int) -> Page:
        """Return the pending events of more than so many failures, most failures first."""
        ...

    def statistics(self, *, since: timedelta) -> Sequence[ActionStatistics]:
        """Return figures of the events created within *since*, by action, then status."""
        ...

    def intent_of(self, event_id: EventId) -> IntentId | None:
        """Return which intent an event is of, be it there or not; None: no such event.

        Archived events count, here and in ``dossier``, and nowhere else.
        """
        ...

    def dossier(self, intent_id: IntentId) -> Dossier | None:
        """Return everything about an intent; None: neither it nor any event of it is there."""
        ...
