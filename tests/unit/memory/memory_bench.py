"""The bench of the database contracts over the in-memory database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from adapters.memory.database import InMemoryDatabase
from adapters.memory.event_archive import InMemoryEventArchive
from adapters.memory.event_store import InMemoryEventStore
from adapters.memory.intent_records import InMemoryIntentRecords
from adapters.memory.intent_statuses import InMemoryIntentStatuses
from adapters.memory.intent_trail import InMemoryIntentTrail
from adapters.memory.notification_queue import InMemoryNotificationQueue
from adapters.memory.operator_store import InMemoryOperatorStore
from adapters.memory.outbox_reader import InMemoryOutboxReader
from adapters.memory.outbox_repository import InMemoryOutboxRepository
from application.ports.event_store import EventStore
from application.ports.intent_trail import IntentTrail
from domain.conclusions import AuditEvent, PushJob, RecordedLine, StatusChange
from domain.fees import AccountCode, MappedAccount
from domain.intents import EventId, Intent, IntentId, PspRecord
from tests.contracts.database_bench import EventState, IntentState, StoredRetry


@dataclass(frozen=True)
class InMemoryBench:
    """A ``DatabaseBench``."""

    database: InMemoryDatabase = field(default_factory=InMemoryDatabase)

    @property
    def outbox(self) -> InMemoryOutboxRepository:
        return InMemoryOutboxRepository(self.database)

    @property
    def notifications(self) -> InMemoryNotificationQueue:
        return InMemoryNotificationQueue(self.database)

    @property
    def reader(self) -> InMemoryOutboxReader:
        return InMemoryOutboxReader(self.database)

    @property
    def statuses(self) -> InMemoryIntentStatuses:
        return InMemoryIntentStatuses(self.database)

    @property
    def archive(self) -> InMemoryEventArchive:
        return InMemoryEventArchive(self.database)

    @property
    def operators(self) -> InMemoryOperatorStore:
        return InMemoryOperatorStore(database=self.database, lock_timeout_s=0.1)

    @contextmanager
    def producer(self) -> Iterator[EventStore]:
        with self.database.transaction() as transaction:
            yield InMemoryEventStore(transaction)

    @contextmanager
    def trail(self, *, in_transaction: bool = False) -> Iterator[IntentTrail]:
        if not in_transaction:
            yield InMemoryIntentTrail(self.database)
            return
        with self.database.transaction() as transaction:
            yield InMemoryIntentTrail(transaction)

    def add_intent(
        self,
        intent: Intent,
        *,
        to_name: str | None = None,
        settlement_date: str | None = None,
        failure_reason: str | None = None,
    ) -> None:
        self.database.add_intent(
            intent,
            to_name=to_name,
            settlement_date=settlement_date,
            failure_reason=failure_reason,
        )

    def add_event(
        self,
        intent_id: IntentId,
        action: str = "post_pending",
        *,
        payload_json: str | None = None,
        status: str = "pending",
        retry_count: int = 0,
        created_after_s: float = 0,
    ) -> EventId:
        return self.database.add_event(
            intent_id,
            action,
            payload_json=payload_json,
            status=status,
            retry_count=retry_count,
            created_at=self.database.now - timedelta(hours=1) + timedelta(seconds=created_after_s),
        )

    def add_psp(self, intent_id: IntentId, record: PspRecord) -> None:
        self.database.add_psp(intent_id, record)

    def map_account(self, code: AccountCode, account: MappedAccount) -> None:
        self.database.map_account(code, account)

    def add_job(self, job: PushJob) -> None:
        self.database.add_job(job)

    def set_intent_status(self, intent_id: IntentId, status: str) -> None:
        self.database.set_intent_status(intent_id, status)

    def set_retry_count(self, event_id: EventId, retry_count: int) -> None:
        self.database.set_retry_count(event_id, retry_count)

    def records(self, *, page_intents: int = 1_000) -> InMemoryIntentRecords:
        return InMemoryIntentRecords(self.database, page_intents)

    def set_age(self, intent_id: IntentId, age_ms: int) -> None:
        self.database.set_intent_age(intent_id, timedelta(milliseconds=age_ms))

    def set_event_age(self, event_id: EventId, age_ms: int) -> None:
        self.database.set_event_age(event_id, timedelta(milliseconds=age_ms))

    def finish_event(self, event_id: EventId, age_ms: int) -> None:
        self.database.finish_event(event_id, timedelta(milliseconds=age_ms))

    def outbox_ids(self) -> list[EventId]:
        return sorted(self.database.tables.events)

    def archive_ids(self) -> list[EventId]:
        return sorted(self.database.tables.archive)

    def add_lines(self, intent_id: IntentId, *lines: RecordedLine) -> None:
        for line in lines:
            self.database.add_line(intent_id, line)

    def remove_intent(self, intent_id: IntentId) -> None:
        self.database.remove_intent(intent_id)

    @contextmanager
    def hold_intent(self, *intent_ids: IntentId) -> Iterator[None]:
        with self.database.transaction() as transaction:
            transaction.lock(*(("intent", intent_id) for intent_id in intent_ids))
            yield

    @contextmanager
    def hold_event(self, *event_ids: EventId) -> Iterator[None]:
        with self.database.transaction() as transaction:
            transaction.lock(*(("event", event_id) for event_id in event_ids))
            yield

    def pass_time(self, duration_ms: int) -> None:
        self.database.advance(timedelta(milliseconds=duration_ms))

    def intent(self, intent_id: IntentId) -> IntentState:
        row = self.database.intent(intent_id)
        return IntentState(
            status=row.status,
            to_name=row.to_name,
            settlement_date=row.settlement_date,
            failure_reason=row.failure_reason,
        )

    def event(self, event_id: EventId) -> EventState:
        row = self.database.event(event_id)
        return EventState(
            status=row.status,
            retry_count=row.event.retry_count,
            has_processed_at=row.processed_at is not None,
        )

    def retry(self, event_id: EventId) -> StoredRetry | None:
        row = self.database.retry(event_id)
        if row is None:
            return None
        return StoredRetry(
            attempts=row.attempts,
            reason=row.reason,
            last_error=row.last_error,
            generations=row.generations,
        )

    def history(self, intent_id: IntentId) -> list[RecordedLine]:
        return list(self.database.history(intent_id))

    def audit(self, intent_id: IntentId) -> list[AuditEvent]:
        return [row for row in self.database.audit(intent_id) if isinstance(row, AuditEvent)]

    def changes(self, intent_id: IntentId) -> list[StatusChange]:
        return list(self.database.audit(intent_id))

    def jobs(self) -> list[PushJob]:
        return list(self.database.jobs())
