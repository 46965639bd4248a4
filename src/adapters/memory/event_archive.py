"""Finished events on their way into the archive, in the in-memory database."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from adapters.memory.database import InMemoryDatabase, Step
from adapters.memory.rows import EventRow
from application.ports.event_archive import Portion, Position
from domain.intents import EventId, IntentStatus

_FINAL = (IntentStatus.SETTLED, IntentStatus.FAILED)


@dataclass(frozen=True, slots=True)
class InMemoryEventArchive:
    """An ``EventArchive`` on *database*."""

    database: InMemoryDatabase

    def cutoff(self, age: timedelta) -> datetime:
        """See ``EventArchive.cutoff``."""
        return self.database.now - age

    def find(self, *, before: datetime, after: Position, limit: int) -> Portion:
        """See ``EventArchive.find``."""
        behind = _key(after)
        rows = sorted(
            (
                row
                for row in self.database.tables.events.values()
                if row.status == "processed" and row.created_at < before and row.age_key > behind
            ),
            key=lambda row: row.age_key,
        )[:limit]
        return Portion(
            event_ids=[row.event.id for row in rows if self._may_go(row, before)],
            end=Position(created_at=rows[-1].created_at.isoformat(), event_id=rows[-1].event.id)
            if len(rows) == limit
            else None,
        )

    def move(self, event_ids: Sequence[EventId], *, before: datetime) -> int:
        """See ``EventArchive.move``."""
        with self.database.transaction() as transaction, transaction.exclusively():
            transaction.step(Step.WRITE)
            for event_id in event_ids:
                row = transaction.event(event_id)
                if row is None or not self._may_go(row, before):
                    continue
                if transaction.try_lock(("event", event_id)):
                    archived = replace(row, archived_at=self.database.now)
                    transaction.changes.archived[event_id] = archived
            return len(transaction.changes.archived)

    def _may_go(self, row: EventRow, before: datetime) -> bool:
        tables, intent_id = self.database.tables, row.event.intent_id
        intent = tables.intents.get(intent_id)
        return (intent is None or intent.status in _FINAL) and all(
            _is_over(other, before)
            for other in tables.events.values()
            if other.event.intent_id == intent_id
        )


def _is_over(row: EventRow, before: datetime) -> bool:
    return row.status == "processed" and row.processed_at is not None and row.processed_at < before


def _key(position: Position) -> tuple[datetime, EventId]:
    if position.created_at == "-infinity":
        return datetime.min.replace(tzinfo=UTC), EventId(0)
    return datetime.fromisoformat(position.created_at), EventId(position.event_id)
