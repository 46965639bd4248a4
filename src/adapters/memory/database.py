"""The payment manager's database in memory: rows, row locks, transactions and a clock.

The fakes of the database's ports share one of these, as the real adapters share a database.
What a transaction writes is seen by others when it commits; its locks end with it. Any step of
a transaction can be made to fail once, as a real database does.
"""

import itertools
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from adapters.memory.rows import Changes, EventRow, HistoryRow, IntentRow, RetryRow, Tables
from application.errors import DatabaseUnavailableError, OutboxError
from domain.conclusions import PushJob, RecordedLine, StatusChange
from domain.fees import AccountCode, MappedAccount
from domain.intents import EventId, Intent, IntentId, OutboxEvent, PspRecord

LOCK_TIMEOUT_S: Final = 5.0


class Step(StrEnum):
    """Where a transaction can fail.

    ``COMMIT`` loses the transaction, ``COMMIT_ANSWER`` loses only the news that it committed.
    """

    BEGIN = "begin"
    WRITE = "write"
    COMMIT = "commit"
    COMMIT_ANSWER = "commit_answer"


@dataclass(slots=True)
class InMemoryDatabase:
    """A database of one process; safe to share between threads.

    ``now`` stands still unless ``advance`` moves it.
    """

    tables: Tables = field(default_factory=Tables)
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _locks: set[Hashable] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _event_ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _faults: dict[Step, OutboxError] = field(default_factory=dict)

    # What tests put in.

    def add_intent(
        self,
        intent: Intent,
        *,
        to_name: str | None = None,
        settlement_date: str | None = None,
        failure_reason: str | None = None,
    ) -> None:
        """Store *intent*, in place of an earlier one of the same id."""
        with self._changed:
            self.tables.intents[intent.id] = IntentRow(
                intent=intent,
                updated_at=self.now,
                to_name=to_name,
                settlement_date=settlement_date,
                failure_reason=failure_reason,
            )

    def add_event(
        self,
        intent_id: IntentId,
        action: str,
        *,
        payload_json: str | None = None,
        status: str = "pending",
        retry_count: int = 0,
        created_at: datetime | None = None,
    ) -> EventId:
        """Store an event, created now unless *created_at* says otherwise."""
        with self._changed:
            event_id = self.next_event_id()
            self.tables.events[event_id] = EventRow(
                event=OutboxEvent(
                    id=event_id,
                    intent_id=intent_id,
                    action=action,
                    payload_json=payload_json,
                    retry_count=retry_count,
                ),
                status=status,
                created_at=created_at or self.now,
            )
            return event_id

    def add_psp(self, intent_id: IntentId, record: PspRecord) -> None:
        """Store one more PSP row of an intent."""
        with self._changed:
            self.tables.psp.setdefault(intent_id, []).append(record)

    def map_account(self, code: AccountCode, account: MappedAccount) -> None:
        """Store where the account of *code* is."""
        with self._changed:
            self.tables.accounts[code] = account

    def add_job(self, job: PushJob) -> None:
        """Queue a push job."""
        with self._changed:
            self.tables.jobs[job.notification_id] = job

    def set_intent_status(self, intent_id: IntentId, status: str) -> None:
        """Set an intent's status, as the payment manager does."""
        with self._changed:
            row = self.tables.intents[intent_id]
            self.tables.intents[intent_id] = replace(row, intent=replace(row.intent, status=status))

    def set_retry_count(self, event_id: EventId, retry_count: int) -> None:
        """Set an event's count of failures, as operators do."""
        with self._changed:
            row = self.tables.events[event_id]
            event = replace(row.event, retry_count=retry_count)
            self.tables.events[event_id] = replace(row, event=event)

    def set_intent_age(self, intent_id: IntentId, age: timedelta) -> None:
        """Let an intent's last change have been so long ago."""
        with self._changed:
            row = self.tables.intents[intent_id]
            self.tables.intents[intent_id] = replace(row, updated_at=self.now - age)

    def set_event_age(self, event_id: EventId, age: timedelta) -> None:
        """Let an event have been created so long ago."""
        with self._changed:
            row = self.tables.events[event_id]
            self.tables.events[event_id] = replace(row, created_at=self.now - age)

    def finish_event(self, event_id: EventId, age: timedelta) -> None:
        """Let an event have been created and processed so long ago."""
        with self._changed:
            row, moment = self.tables.events[event_id], self.now - age
            self.tables.events[event_id] = replace(
                row, status="processed", created_at=moment, processed_at=moment
            )

    def add_line(self, intent_id: IntentId, line: RecordedLine) -> None:
        """Store a line of an intent's history."""
        with self._changed:
            row = HistoryRow(intent_id=intent_id, currency="THB", line=line)
            self.tables.history.append(row)

    def remove_intent(self, intent_id: IntentId) -> None:
        """Delete an intent's row."""
        with self._changed:
            del self.tables.intents[intent_id]

    def advance(self, duration: timedelta) -> None:
        """Let time pass."""
        with self._changed:
            self.now += duration

    def fail_once(self, step: Step, error: OutboxError) -> None:
        """Make the next *step* of any transaction raise *error*."""
        self._faults[step] = error

    # What tests look at; what no transaction has committed is not there.

    def intent(self, intent_id: IntentId) -> IntentRow:
        """Return the row of an intent."""
        return self.tables.intents[intent_id]

    def event(self, event_id: EventId) -> EventRow:
        """Return the row of an event."""
        return self.tables.events[event_id]

    def retry(self, event_id: EventId) -> RetryRow | None:
        """Return what earlier failures of an event left behind."""
        return self.tables.retries.get(event_id)

    def history(self, intent_id: IntentId) -> Sequence[RecordedLine]:
        """Return an intent's lines, in the order of writing."""
        return [row.line for row in self.tables.history if row.intent_id == intent_id]

    def audit(self, intent_id: IntentId) -> Sequence[StatusChange]:
        """Return an intent's audit trail, oldest first."""
        return [row.audit for row in self.tables.audit if row.intent_id == intent_id]

    def jobs(self) -> Sequence[PushJob]:
        """Return the queued push jobs, oldest first."""
        return list(self.tables.jobs.values())

    # What the fakes use.

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """Run the block in a transaction: commit when it ends normally, else roll back."""
        transaction = Transaction(self)
        try:
            transaction.step(Step.BEGIN)
            yield transaction
            transaction.step(Step.COMMIT)
            with self._changed:
                transaction.changes.apply_to(self.tables)
            transaction.step(Step.COMMIT_ANSWER)
        finally:
            with self._changed:
                self._locks -= transaction.locks
                self._changed.notify_all()

    def next_event_id(self) -> EventId:
        """Return an id that no event has had."""
        return EventId(next(self._event_ids))


@dataclass(slots=True)
class Transaction:
    """An open transaction: what it wrote, and what it holds locked."""

    database: InMemoryDatabase
    changes: Changes = field(default_factory=Changes)
    locks: set[Hashable] = field(default_factory=set)
    _is_lost: bool = False

    def step(self, step: Step) -> None:
        """Raise what this step was told to raise; a transaction that failed never commits."""
        if self._is_lost:
            raise DatabaseUnavailableError("the transaction had failed before its end")
        fault = self.database._faults.pop(step, None)
        if fault is not None:
            self._is_lost = True
            raise fault

    def lock(self, *keys: Hashable, timeout_s: float = LOCK_TIMEOUT_S) -> None:
        """Lock all of *keys*, waiting for whoever holds one of them."""
        with self.database._changed:
            if not self.database._changed.wait_for(lambda: self.try_lock(*keys), timeout_s):
                raise DatabaseUnavailableError("lock time-out")

    def try_lock(self, *keys: Hashable) -> bool:
        """Lock all of *keys*, or none if another transaction holds one of them."""
        with self.database._changed:
            new = set(keys) - self.locks
            if new & self.database._locks:
                return False
            self.database._locks |= new
            self.locks |= new
            return True

    def exclusively(self) -> threading.Condition:
        """Let nobody else in while a statement looks at several rows."""
        return self.database._changed

    def intent(self, intent_id: IntentId) -> IntentRow | None:
        """Return an intent's row as this transaction sees it."""
        return self.changes.intents.get(intent_id) or self.database.tables.intents.get(intent_id)

    def event(self, event_id: EventId) -> EventRow | None:
        """Return an event's row as this transaction sees it."""
        return self.changes.events.get(event_id) or self.database.tables.events.get(event_id)

    def retry(self, event_id: EventId) -> RetryRow | None:
        """Return an event's retry row as this transaction sees it."""
        if event_id in self.changes.retries:
            return self.changes.retries[event_id]
        return self.database.tables.retries.get(event_id)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what the block wrote when it raises; locks stay."""
        before = self.changes.copy()
        try:
            yield
        except BaseException:
            self.changes = before
            raise
