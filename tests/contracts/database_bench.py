"""What the contracts of the database's ports need: to seed, to look, to get in the way."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from application.ports.event_archive import EventArchive
from application.ports.event_store import EventStore
from application.ports.intent_statuses import IntentStatuses
from application.ports.intent_trail import IntentTrail
from application.ports.notification_queue import NotificationQueue
from application.ports.operator_store import OperatorStore
from application.ports.outbox_reader import OutboxReader
from application.ports.outbox_repository import OutboxRepository
from domain.conclusions import AuditEvent, PushJob, RecordedLine, StatusChange
from domain.fees import AccountCode, MappedAccount
from domain.intents import EventId, Intent, IntentId, PspRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentState:
    """What settling may change of an intent."""

    status: str
    to_name: str | None = None
    settlement_date: str | None = None
    failure_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventState:
    """What an attempt may change of an event."""

    status: str
    retry_count: int = 0
    has_processed_at: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRetry:
    """What failures of an event leave behind."""

    attempts: int
    reason: str
    last_error: str
    generations: tuple[int, ...]


class DatabaseBench(Protocol):
    """A database, empty at first, with a port's implementation on it."""

    @property
    def outbox(self) -> OutboxRepository:
        """The repository under test."""
        ...

    @property
    def notifications(self) -> NotificationQueue:
        """The queue under test."""
        ...

    @property
    def reader(self) -> OutboxReader:
        """The operator's reader under test."""
        ...

    @property
    def statuses(self) -> IntentStatuses:
        """The clients' reader under test."""
        ...

    @property
    def archive(self) -> EventArchive:
        """The archive under test."""
        ...

    @property
    def operators(self) -> OperatorStore:
        """The operator's store under test; it waits for a lock for a tenth of a second."""
        ...

    def producer(self) -> AbstractContextManager[EventStore]:
        """A producer's transaction: commits when the block ends normally, else rolls back."""
        ...

    def trail(self, *, in_transaction: bool = False) -> AbstractContextManager[IntentTrail]:
        """A producer's audit trail, each row on its own or all in a transaction of the block."""
        ...

    def add_intent(
        self,
        intent: Intent,
        *,
        to_name: str | None = None,
        settlement_date: str | None = None,
        failure_reason: str | None = None,
    ) -> None:
        """Store an intent."""
        ...

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
        """Store an event, created so many seconds after a fixed time in the past."""
        ...

    def add_psp(self, intent_id: IntentId, record: PspRecord) -> None:
        """Store a PSP row, beside those that the intent may have."""
        ...

    def map_account(self, code: AccountCode, account: MappedAccount) -> None:
        """Store where an account is, whatever was stored before."""
        ...

    def add_job(self, job: PushJob) -> None:
        """Queue a push job."""
        ...

    def set_intent_status(self, intent_id: IntentId, status: str) -> None:
        """Set a status, as the payment manager does."""
        ...

    def set_retry_count(self, event_id: EventId, retry_count: int) -> None:
        """Set a count of failures, as operators do."""
        ...

    def set_event_age(self, event_id: EventId, age_ms: int) -> None:
        """Let the event have been created so long ago."""
        ...

    def finish_event(self, event_id: EventId, age_ms: int) -> None:
        """Let the event have been created and processed so long ago."""
        ...

    def outbox_ids(self) -> Sequence[EventId]:
        """The ids of ``pm.outbox_event``, ascending."""
        ...

    def archive_ids(self) -> Sequence[EventId]:
        """The ids of the archive, ascending."""
        ...

    def hold_intent(self, *intent_ids: IntentId) -> AbstractContextManager[None]:
        """Somebody else locks intents for the length of the block."""
        ...

    def hold_event(self, *event_ids: EventId) -> AbstractContextManager[None]:
        """Somebody else locks events for the length of the block."""
        ...

    def pass_time(self, duration_ms: int) -> None:
        """Let backoffs come nearer to their end."""
        ...

    def intent(self, intent_id: IntentId) -> IntentState:
        """What is committed of an intent."""
        ...

    def event(self, event_id: EventId) -> EventState:
        """What is committed of an event."""
        ...

    def retry(self, event_id: EventId) -> StoredRetry | None:
        """What is committed of an event's failures."""
        ...

    def history(self, intent_id: IntentId) -> Sequence[RecordedLine]:
        """An intent's lines, in the order of writing."""
        ...

    def audit(self, intent_id: IntentId) -> Sequence[AuditEvent]:
        """An intent's audit trail, oldest first."""
        ...

    def changes(self, intent_id: IntentId) -> Sequence[StatusChange]:
        """The same, whoever wrote it."""
        ...

    def jobs(self) -> Sequence[PushJob]:
        """The queued jobs, oldest first."""
        ...
