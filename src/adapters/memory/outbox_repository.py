"""The outbox in memory, with the rules of DESIGN §6."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice

from adapters.memory.database import InMemoryDatabase, Step, Transaction
from adapters.memory.rows import EventRow
from adapters.memory.writing import write_one
from application.ports.outbox_repository import ClaimedBatch
from domain.conclusions import Conclusion, StatusMessage
from domain.fees import AccountCode, MappedAccount
from domain.intents import (
    ClaimedEvent,
    IntentId,
    IntentStatus,
    RetryState,
)
from domain.transfers import AccountId


@dataclass(frozen=True, slots=True)
class InMemoryClaimedBatch:
    """A ``ClaimedBatch``; its locks are those of its open transaction."""

    _transaction: Transaction
    events: Sequence[ClaimedEvent]

    def fee_accounts(self, codes: Collection[AccountCode]) -> Mapping[AccountCode, MappedAccount]:
        """See ``ClaimedBatch.fee_accounts``."""
        accounts = self._transaction.database.tables.accounts
        return {code: accounts[code] for code in codes if code in accounts}

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """See ``ClaimedBatch.some_mapped_accounts``."""
        return _some_mapped_accounts(self._transaction, limit)

    def write(self, conclusions: Sequence[Conclusion]) -> Sequence[StatusMessage]:
        """See ``ClaimedBatch.write``."""
        if not conclusions:
            return ()
        self._transaction.step(Step.WRITE)
        with self._transaction.savepoint():
            written = [write_one(self._transaction, one) for one in conclusions]
        return [message for message in written if message is not None]


@dataclass(frozen=True, slots=True)
class InMemoryOutboxRepository:
    """An ``OutboxRepository`` on *database*."""

    database: InMemoryDatabase

    def rehearse(self) -> None:
        """See ``OutboxRepository.rehearse``."""
        with self.database.transaction():
            pass

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """See ``OutboxRepository.some_mapped_accounts``."""
        with self.database.transaction() as transaction:
            return _some_mapped_accounts(transaction, limit)

    def claim(self, *, limit: int) -> AbstractContextManager[ClaimedBatch]:
        """See ``OutboxRepository.claim``."""
        return self._claim(limit)

    @contextmanager
    def _claim(self, limit: int) -> Iterator[ClaimedBatch]:
        with self.database.transaction() as transaction:
            with transaction.exclusively():
                events = [claimed_of_row(transaction, row) for row in _lock_due(transaction, limit)]
            yield InMemoryClaimedBatch(transaction, events)


def _some_mapped_accounts(transaction: Transaction, limit: int) -> list[AccountId]:
    accounts = transaction.database.tables.accounts
    return [accounts[code].account_id for code in islice(sorted(accounts), limit)]


def _lock_due(transaction: Transaction, limit: int) -> list[EventRow]:
    pending = sorted(
        (row for row in transaction.database.tables.events.values() if row.status == "pending"),
        key=lambda row: row.age_key,
    )
    due: list[EventRow] = []
    seen: set[IntentId] = set()
    for row in pending:
        is_head = row.event.intent_id not in seen
        seen.add(row.event.intent_id)
        if is_head and _is_due(transaction, row):
            due.append(row)
    locked: list[EventRow] = []
    untried = sum(row.event.retry_count == 0 for row in due)
    tried_left = max(1, limit // 2, limit - untried)
    for row in due:
        if len(locked) == limit:
            break
        was_tried = row.event.retry_count != 0
        if (tried_left or not was_tried) and _try_lock(transaction, row):
            locked.append(row)
            tried_left -= was_tried
    return locked


def _is_due(transaction: Transaction, row: EventRow) -> bool:
    intent = transaction.intent(row.event.intent_id)
    if intent is not None and intent.status == IntentStatus.MANUAL_REVIEW:
        return False
    retry = transaction.retry(row.event.id)
    return (
        row.event.retry_count == 0
        or retry is None
        or retry.next_attempt_at <= transaction.database.now
    )


def _try_lock(transaction: Transaction, row: EventRow) -> bool:
    keys = [("event", row.event.id)]
    if transaction.intent(row.event.intent_id) is None:
        return transaction.try_lock(*keys)
    return transaction.try_lock(*keys, ("intent", row.event.intent_id))


def claimed_of_row(transaction: Transaction, row: EventRow) -> ClaimedEvent:
    """Return an event with all that is stored beside it."""
    intent = transaction.intent(row.event.intent_id)
    retry = transaction.retry(row.event.id)
    return ClaimedEvent(
        event=row.event,
        intent=intent.intent if intent is not None else None,
        psp=transaction.database.tables.psp_of(row.event.intent_id),
        retry=RetryState(
            reason=retry.reason, attempts=retry.attempts, generations=retry.generations
        )
        if retry is not None
        else None,
    )
