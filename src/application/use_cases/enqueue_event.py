"""Order the settling of an intent: what a producer calls in its own transaction."""

from dataclasses import dataclass

from application.ports.event_store import EventStore
from domain.intents import UNFINISHED, Action, EventId, IntentId, IntentStatus
from domain.payloads import parse_fee_splits


class EnqueueRefusedError(ValueError):
    """The order makes no sense; nothing was inserted. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueEvent:
    """Insert the event that posts or voids the pending transfers of an intent.

    Runs in the producer's own transaction, the one that makes the intent ``AUTHORIZED``.
    """

    store: EventStore

    def __call__(
        self, intent_id: IntentId, action: Action, *, payload_json: str | None = None
    ) -> EventId:
        """Return the id of the intent's event for *action*, inserted now or earlier.

        Idempotent: the same action again returns the event that is there, whatever its
        status and payload. Locks the intent until the producer's transaction ends.

        Raises:
            EnqueueRefusedError: no such intent, the other action was ordered already, or
                the intent is not authorized.
            InvalidPayloadError: the worker could not read *payload_json*.
            RowsRefusedError: Postgres does not take *payload_json*, for example for a NUL.
            DatabaseUnavailableError, DatabaseMisconfiguredError: the transaction is lost.
        """
        intent = self.store.lock_intent(intent_id)
        if intent is None:
            raise EnqueueRefusedError(f"there is no intent {intent_id}")
        for event in self.store.events_of(intent_id):
            if event.action == action:
                return event.id
            raise EnqueueRefusedError(
                f"intent {intent_id} has event {event.id}, {event.action}; "
                f"{action} would contradict it"
            )
        if intent.status not in UNFINISHED:
            raise EnqueueRefusedError(
                f"intent {intent_id} is {intent.status}; enqueue in the transaction that "
                f"makes it {IntentStatus.AUTHORIZED}, after that update"
            )
        parse_fee_splits(payload_json, amount_satang=intent.amount_satang)
        return self.store.insert(intent_id, action, payload_json)
