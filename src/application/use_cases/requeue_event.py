"""Order an event again: what an operator does once the cause of its failures is mended."""

from dataclasses import dataclass

from application.errors import RowsRefusedError
from application.ports.operator_store import OperatorStore
from domain.intents import EventId
from domain.named_events import NothingToDo, Operator, Refused
from domain.requeueing import Requeue, requeue_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueEvent:
    """Set a failed event back to pending, or end the backoff of a pending one.

    An intent in ``MANUAL_REVIEW`` becomes what it was before. The ids that the worker sends
    follow from the intent, so what earlier attempts did is found, and not done twice.
    """

    store: OperatorStore

    def plan(self, event_id: EventId, by: Operator) -> Requeue | NothingToDo | Refused:
        """Return what a call would do, as things are now. Nothing is changed or locked."""
        named = self.store.read(event_id)
        return _unknown(event_id) if named is None else requeue_of(named, by)

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
                    return _unknown(event_id)
                decided = requeue_of(held.named, by)
                if isinstance(decided, Requeue):
                    held.requeue(decided)
                return decided
        except RowsRefusedError as error:
            return Refused(f"the database refuses it: {error}")


def _unknown(event_id: EventId) -> Refused:
    return Refused(f"there is no event {event_id}")
