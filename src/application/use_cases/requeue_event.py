"""Order an event again: what an operator does once the cause of its failures is mended."""

from collections.abc import Iterable
from dataclasses import dataclass

from application.errors import RowsRefusedError
from application.ports.operator_store import OperatorStore
from domain.intents import EventId, IntentId, IntentStatus
from domain.named_events import NamedEvent, NothingToDo, Operator, Refused, unknown
from domain.requeueing import Requeue, requeue_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueEvent:
    """Set a failed event back to pending, or end the backoff of a pending one.

    An intent in ``MANUAL_REVIEW`` becomes what it was before. The ids that the worker sends
    follow from the intent, so what earlier attempts did is found, and not done twice.
    """

    store: OperatorStore

    def plan(
        self, event_ids: Iterable[EventId], by: Operator
    ) -> dict[EventId, Requeue | NothingToDo | Refused]:
        """Return what a call for each would do, as things are now. Nothing is changed or locked.

        To be called in the order of the answer: as soon as one event is pending, a worker may
        take it, so that an intent's events are ordered again oldest first.
        """
        plans: dict[EventId, Requeue | NothingToDo | Refused] = {}
        restored: dict[IntentId, IntentStatus] = {}
        for event_id, found in self._in_order(event_ids).items():
            if found is None:
                plans[event_id] = unknown(event_id)
                continue
            status = restored.get(found.claimed.event.intent_id)
            planned = requeue_of(found if status is None else found.after(status), by)
            if isinstance(planned, Requeue) and planned.intent_status is not None:
                restored[planned.intent_id] = planned.intent_status
            plans[event_id] = planned
        return plans

    def _in_order(self, event_ids: Iterable[EventId]) -> dict[EventId, NamedEvent | None]:
        found = {event_id: self.store.read(event_id) for event_id in event_ids}
        ordered: dict[EventId, NamedEvent | None] = {}
        for event_id, named in found.items():
            if named is not None:
                for one in self.store.unfinished(named.claimed.event.intent_id):
                    if one.id in found:
                        ordered[one.id] = found[one.id]
            ordered[event_id] = named
        return ordered

    def __call__(self, event_id: EventId, by: Operator) -> Requeue | NothingToDo | Refused:
        """Do it, and return what was done. Idempotent: the second time there is nothing to do.

        Raises:
            HeldByOthersError: a worker or PM is at the intent; nothing is changed.
            DatabaseUnavailableError, DatabaseMisconfiguredError: nothing is changed, unless
                only the news of the commit was lost.
        """
        try:
            with self.store.hold(event_id) as held:
                if held is None:
                    return unknown(event_id)
                decided = requeue_of(held.named, by)
                if isinstance(decided, Requeue):
                    held.requeue(decided)
                return decided
        except RowsRefusedError as error:
            return Refused(f"the database refuses it: {error}")
