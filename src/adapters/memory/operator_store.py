"""An operator's changes in the in-memory database."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from adapters.memory.database import LOCK_TIMEOUT_S, InMemoryDatabase, Step, Transaction
from adapters.memory.outbox_repository import claimed_of_row
from adapters.memory.writing import write_audit, write_one
from application.errors import DatabaseUnavailableError, HeldByOthersError
from application.ports.operator_store import HeldEvent
from domain.conclusions import Review
from domain.intents import EventId, IntentId, IntentStatus
from domain.named_events import NamedEvent, UnfinishedEvent
from domain.requeueing import Requeue


@dataclass(frozen=True, slots=True)
class InMemoryHeldEvent:
    """A ``HeldEvent``; its locks are those of its open transaction."""

    _transaction: Transaction
    named: NamedEvent

    def requeue(self, requeue: Requeue) -> None:
        """See ``HeldEvent.requeue``."""
        transaction = self._transaction
        transaction.step(Step.WRITE)
        row = transaction.event(requeue.event_id)
        if row is not None:
            event = replace(row.event, retry_count=0)
            transaction.changes.events[event.id] = replace(row, event=event, status="pending")
        if self.named.status == "failed":
            transaction.changes.retries[requeue.event_id] = None
        intent = transaction.intent(requeue.intent_id)
        if requeue.intent_status is not None and intent is not None:
            transaction.changes.intents[requeue.intent_id] = replace(
                intent,
                intent=replace(intent.intent, status=requeue.intent_status),
                updated_at=transaction.database.now,
            )
        if requeue.audit is not None:
            write_audit(transaction, requeue.intent_id, requeue.audit)

    def give_up(self, review: Review) -> None:
        """See ``HeldEvent.give_up``."""
        self._transaction.step(Step.WRITE)
        write_one(self._transaction, review)
        if self.named.is_in_review and review.audit is not None:
            write_audit(self._transaction, review.intent_id, review.audit)


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemoryOperatorStore:
    """An ``OperatorStore`` on *database*; waits *lock_timeout_s* for its locks."""

    database: InMemoryDatabase
    lock_timeout_s: float = LOCK_TIMEOUT_S

    def read(self, event_id: EventId) -> NamedEvent | None:
        """See ``OperatorStore.read``."""
        with self.database.transaction() as transaction:
            return _named(transaction, event_id)

    def unfinished(self, intent_id: IntentId) -> Sequence[UnfinishedEvent]:
        """See ``OperatorStore.unfinished``."""
        rows = [
            row
            for row in self.database.tables.events.values()
            if row.event.intent_id == intent_id and row.status != "processed"
        ]
        rows.sort(key=lambda row: row.age_key)
        return [UnfinishedEvent(row.event.id, row.status) for row in rows]

    def hold(self, event_id: EventId) -> AbstractContextManager[HeldEvent | None]:
        """See ``OperatorStore.hold``."""
        return self._hold(event_id)

    @contextmanager
    def _hold(self, event_id: EventId) -> Iterator[HeldEvent | None]:
        with self.database.transaction() as transaction:
            named = self._lock(transaction, event_id)
            yield None if named is None else InMemoryHeldEvent(transaction, named)

    def _lock(self, transaction: Transaction, event_id: EventId) -> NamedEvent | None:
        row = transaction.event(event_id)
        if row is None:
            return _named(transaction, event_id)
        intent_id = row.event.intent_id
        keys = [("intent", intent_id)] if transaction.intent(intent_id) is not None else []
        try:
            transaction.lock(*keys, ("event", event_id), timeout_s=self.lock_timeout_s)
        except DatabaseUnavailableError as error:
            raise HeldByOthersError("a worker is at its intent") from error
        return _named(transaction, event_id)


def _named(transaction: Transaction, event_id: EventId) -> NamedEvent | None:
    row = transaction.event(event_id) or transaction.database.tables.archive.get(event_id)
    if row is None:
        return None
    return NamedEvent(
        claimed=claimed_of_row(transaction, row),
        status=row.status,
        status_before_review=_status_before_review(transaction, row.event.intent_id),
    )


def _status_before_review(transaction: Transaction, intent_id: IntentId) -> str | None:
    changes = [
        (row.audit.status_from, row.audit.status_to)
        for row in transaction.database.tables.audit
        if row.intent_id == intent_id and row.audit.status_to in tuple(IntentStatus)
    ]
    kept = (IntentStatus.MANUAL_REVIEW, IntentStatus.MANUAL_REVIEW)
    before, after = next((one for one in reversed(changes) if one != kept), (None, None))
    return before if after == IntentStatus.MANUAL_REVIEW else None
