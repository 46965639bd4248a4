"""Order again what the worker itself can put right: what ``--fix`` does for one difference."""

import json
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from application.ports.event_store import EventStore
from domain.audit import AUTHOR
from domain.conclusions import AuditEvent
from domain.intents import Action, EventId, IntentId
from domain.payloads import InvalidPayloadError, parse_fee_splits
from domain.reconciliation.differences import Difference
from domain.reconciliation.fixing import TRANSFER_SHARED, NotOrdered, Obstacle, obstacle_to

REASON: Final = "reconcile"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAgain:
    """Insert the event that lets the worker fix a difference, and an audit row that says so.

    The worker checks everything against the ledger before it acts, and does nothing twice.
    ``store`` is on the caller's own transaction, one for each difference; the caller commits
    it. ``sharing`` are intents of whose money another lists a part, as ``IntentRecords`` tells.
    """

    store: EventStore
    sharing: Set[IntentId]

    def __call__(self, difference: Difference) -> EventId | NotOrdered:
        """Return the id of the new event, or why nothing was inserted.

        Raises:
            RowsRefusedError: Postgres refuses the audit row; roll back.
            DatabaseUnavailableError, DatabaseMisconfiguredError: the transaction is lost.
        """
        action, intent_id = difference.fix, difference.intent_id
        if action is None:
            return NotOrdered(Obstacle.NEEDS_A_PERSON, "the worker cannot put it right")
        if intent_id in self.sharing:
            return TRANSFER_SHARED
        intent = self.store.lock_intent(intent_id)
        if intent is None:
            return NotOrdered(Obstacle.INTENT_GONE, "the intent is gone")
        if intent.status != difference.status:
            return NotOrdered(Obstacle.STATUS_CHANGED, f"the intent is {intent.status} by now")
        events = self.store.events_of(intent_id)
        obstacle = obstacle_to(
            action, status=intent.status, amount_satang=intent.amount_satang, events=events
        )
        if obstacle is not None:
            return obstacle
        payload_json = events[-1].payload_json if events else None
        try:
            parse_fee_splits(payload_json, amount_satang=intent.amount_satang)
        except InvalidPayloadError as error:
            detail = f"the payload of event {events[-1].id} cannot be read: {error}"
            return NotOrdered(Obstacle.PAYLOAD_UNREADABLE, detail)
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
