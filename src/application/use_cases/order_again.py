"""Order again what the worker itself can put right: what ``--fix`` does for one difference."""

import json
from dataclasses import dataclass
from typing import Final

from application.ports.event_store import EventStore
from domain.audit import AUTHOR
from domain.conclusions import AuditEvent
from domain.intents import Action, EventId
from domain.payloads import InvalidPayloadError, parse_fee_splits
from domain.reconciliation.differences import Difference

REASON: Final = "reconcile"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAgain:
    """Insert the event that lets the worker mend a difference, and an audit row that says so.

    The worker checks everything against the ledger before it acts, and does nothing twice.
    *store* is on the caller's own transaction, one for each difference; the caller commits it.
    """

    store: EventStore

    def __call__(self, difference: Difference) -> EventId | None:
        """Return the id of the new event; None if nothing was inserted.

        That is so where the difference has no ``mend``, the intent's status is another by now,
        it has a pending event or one of the other action, another intent lists the same
        pending transfer, or the worker could not read the payload of the earlier order.

        Raises:
            RowsRefusedError: Postgres refuses the audit row; roll back.
            DatabaseUnavailableError, DatabaseMisconfiguredError: the transaction is lost.
        """
        action, intent_id = difference.mend, difference.intent_id
        # It reads a whole table: not while the intent is locked.
        if action is None or self.store.shares_transfers(intent_id):
            return None
        intent = self.store.lock_intent(intent_id)
        if intent is None or intent.status != difference.status:
            return None
        events = self.store.events_of(intent_id)
        if any(event.status == "pending" or event.action != action for event in events):
            return None
        payload_json = events[-1].payload_json if events else None
        try:
            parse_fee_splits(payload_json, amount_satang=intent.amount_satang)
        except InvalidPayloadError:
            return None
        event_id = self.store.insert(intent_id, action, payload_json)
        self.store.note(intent_id, _audit(difference, action, event_id))
        return event_id


def _audit(difference: Difference, action: Action, event_id: EventId) -> AuditEvent:
    """Return the row that says who ordered what, and why; the status stays as it is."""
    payload = {
        "by": AUTHOR,
        "eventId": event_id,
        "action": action,
        "kind": difference.kind,
        "detail": difference.detail,
    }
    return AuditEvent(
        status_from=difference.status,
        status_to=difference.status,
        reason=REASON,
        payload_json=json.dumps(payload, separators=(",", ":")),
    )
