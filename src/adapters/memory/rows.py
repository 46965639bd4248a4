"""The rows of the in-memory database, named and ordered as the tables of schema ``pm``."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from domain.conclusions import PushJob, RecordedLine, StatusChange
from domain.fees import AccountCode, MappedAccount
from domain.intents import EventId, Intent, IntentId, OutboxEvent, PspRecord

Key = TypeVar("Key")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRow:
    """A row of ``pm.intent``."""

    intent: Intent
    updated_at: datetime
    to_name: str | None = None
    settlement_date: str | None = None
    failure_reason: str | None = None

    @property
    def status(self) -> str:
        """The intent's status."""
        return self.intent.status


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A row of ``pm.outbox_event``, or of its archive."""

    event: OutboxEvent
    status: str
    created_at: datetime
    processed_at: datetime | None = None
    archived_at: datetime | None = None
    """None in the outbox itself."""

    @property
    def age_key(self) -> tuple[datetime, EventId]:
        """What events are ordered by."""
        return self.created_at, self.event.id


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRow:
    """A row of ``pm.outbox_retry``."""

    event_id: EventId
    intent_id: IntentId
    attempts: int
    reason: str
    last_error: str
    next_attempt_at: datetime
    generations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """A row of ``pm.tx_history``."""

    intent_id: IntentId
    currency: str
    line: RecordedLine


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """A row of ``pm.intent_event``."""

    intent_id: IntentId
    audit: StatusChange
    created_at: datetime


@dataclass(slots=True)
class Tables:
    """All rows, as committed. Rows are replaced, never changed."""

    intents: dict[IntentId, IntentRow] = field(default_factory=dict)
    events: dict[EventId, EventRow] = field(default_factory=dict)
    archive: dict[EventId, EventRow] = field(default_factory=dict)
    psp: dict[IntentId, list[PspRecord]] = field(default_factory=dict)
    accounts: dict[AccountCode, MappedAccount] = field(default_factory=dict)
    retries: dict[EventId, RetryRow] = field(default_factory=dict)
    history: list[HistoryRow] = field(default_factory=list)
    audit: list[AuditRow] = field(default_factory=list)
    jobs: dict[UUID, PushJob] = field(default_factory=dict)

    def all_events(self) -> dict[EventId, EventRow]:
        """Return every event there is, be it archived."""
        return self.archive | self.events

    def psp_of(self, intent_id: IntentId) -> PspRecord | None:
        """Return the PSP row that counts: the latest settlement, then the highest fee."""
        return max(
            self.psp.get(intent_id, []),
            key=lambda record: (record.settlement_date or "", record.psp_fee_satang or 0),
            default=None,
        )


@dataclass(slots=True)
class Changes:
    """What a transaction has written and not committed; None stands for a deleted row."""

    intents: dict[IntentId, IntentRow] = field(default_factory=dict)
    events: dict[EventId, EventRow] = field(default_factory=dict)
    archived: dict[EventId, EventRow] = field(default_factory=dict)
    retries: dict[EventId, RetryRow | None] = field(default_factory=dict)
    history: list[HistoryRow] = field(default_factory=list)
    audit: list[AuditRow] = field(default_factory=list)
    jobs: dict[UUID, PushJob | None] = field(default_factory=dict)

    def copy(self) -> "Changes":
        """Return a copy to come back to: a savepoint."""
        return Changes(
            dict(self.intents),
            dict(self.events),
            dict(self.archived),
            dict(self.retries),
            list(self.history),
            list(self.audit),
            dict(self.jobs),
        )

    def apply_to(self, tables: Tables) -> None:
        """Make the changes part of *tables*."""
        tables.intents |= self.intents
        tables.events |= self.events
        for event_id, row in self.archived.items():
            del tables.events[event_id]
            tables.archive[event_id] = row
        _merge(tables.retries, self.retries)
        tables.history += self.history
        tables.audit += self.audit
        _merge(tables.jobs, self.jobs)


def _merge(rows: dict[Key, Row], changes: dict[Key, Row | None]) -> None:
    for key, row in changes.items():
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row


def utc(time: datetime) -> str:
    """Return *time* as the database prints it for people and programs."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
