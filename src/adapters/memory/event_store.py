"""Outbox rows in a producer's own in-memory transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.memory.database import Transaction
from adapters.memory.rows import EventRow
from adapters.memory.writing import write_audit
from application.ports.event_store import LockedIntent, StoredEvent
from domain.conclusions import AuditEvent
from domain.intents import Action, EventId, IntentId, OutboxEvent


@dataclass(frozen=True, slots=True)
class InMemoryEventStore:
    """An ``EventStore`` on *transaction*, which its owner ends."""

    transaction: Transaction

    def lock_intent(self, intent_id: IntentId) -> LockedIntent | None:
        """See ``EventStore.lock_intent``."""
        if self.transaction.intent(intent_id) is None:
            return None
        self.transaction.lock(("intent", intent_id))
        row = self.transaction.intent(intent_id)
        if row is None:
            return None
        return LockedIntent(id=intent_id, status=row.status, amount_satang=row.intent.amount_satang)

    def events_of(self, intent_id: IntentId) -> Sequence[StoredEvent]:
        """See ``EventStore.events_of``."""
        rows = self.transaction.database.tables.all_events() | self.transaction.changes.events
        mine = [row for row in rows.values() if row.event.intent_id == intent_id]
        return [
            StoredEvent(
                id=row.event.id,
                action=row.event.action,
                status=row.status,
                payload_json=row.event.payload_json,
            )
            for row in sorted(mine, key=lambda row: row.age_key)
        ]

    def insert(self, intent_id: IntentId, action: Action, payload_json: str | None) -> EventId:
        """See ``EventStore.insert``."""
        database = self.transaction.database
        event_id = database.next_event_id()
        self.transaction.changes.events[event_id] = EventRow(
            event=OutboxEvent(
                id=event_id,
                intent_id=intent_id,
                action=action,
                payload_json=payload_json,
                retry_count=0,
            ),
            status="pending",
            created_at=database.now,
        )
        return event_id

    def note(self, intent_id: IntentId, audit: AuditEvent) -> None:
        """See ``EventStore.note``."""
        write_audit(self.transaction, intent_id, audit)
