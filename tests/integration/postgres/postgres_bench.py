"""The bench of the database contracts over a real database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from adapters.postgres.event_archive import PostgresEventArchive
from adapters.postgres.event_store import PostgresEventStore
from adapters.postgres.intent_records import PostgresIntentRecords
from adapters.postgres.intent_statuses import PostgresIntentStatuses
from adapters.postgres.intent_trail import PostgresIntentTrail
from adapters.postgres.notification_queue import PostgresNotificationQueue
from adapters.postgres.operator_store import PostgresOperatorStore
from adapters.postgres.outbox_reader import PostgresOutboxReader
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool
from application.ports.event_store import EventStore
from application.ports.intent_trail import IntentTrail
from domain.conclusions import (
    AuditEvent,
    HistoryLine,
    LineKind,
    PushJob,
    RecordedLine,
    StatusChange,
)
from domain.fees import AccountCode, MappedAccount
from domain.intents import EventId, Intent, IntentId, PspRecord, UserId
from tests.contracts.database_bench import EventState, IntentState, StoredRetry


class PostgresBench:
    """A ``DatabaseBench``; it looks and interferes over connections of its own."""

    def __init__(self, url: str, pool: Pool) -> None:
        self.url = url
        self.outbox = PostgresOutboxRepository(pool)
        self.notifications = PostgresNotificationQueue(pool)
        self.reader = PostgresOutboxReader(pool)
        self.statuses = PostgresIntentStatuses(pool)
        self.archive = PostgresEventArchive(pool)
        self.operators = PostgresOperatorStore(pool=pool, lock_timeout_ms=100)

    @contextmanager
    def producer(self) -> Iterator[EventStore]:
        with psycopg.connect(self.url) as connection:
            yield PostgresEventStore(connection)

    @contextmanager
    def trail(self, *, in_transaction: bool = False) -> Iterator[IntentTrail]:
        with psycopg.connect(self.url, autocommit=not in_transaction) as connection:
            yield PostgresIntentTrail(connection)

    def add_intent(
        self,
        intent: Intent,
        *,
        to_name: str | None = None,
        settlement_date: str | None = None,
        failure_reason: str | None = None,
    ) -> None:
        self.execute(
            "INSERT INTO pm.intent (id, status, operation_type, amount_satang, currency, user_id,"
            " issued_by_user_id, metadata, tb_transfer_ids, to_name, settlement_date,"
            " failure_reason)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s::uuid[], %s, %s::date, %s)",
            intent.id,
            intent.status,
            intent.operation_type,
            intent.amount_satang,
            intent.currency,
            intent.user_id,
            intent.issued_by_user_id,
            intent.metadata_json,
            list(intent.tb_transfer_ids),
            to_name,
            settlement_date,
            failure_reason,
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
        ((event_id,),) = self.execute(
            "INSERT INTO pm.outbox_event"
            " (intent_id, action, payload, status, retry_count, created_at)"
            " VALUES (%s, %s, %s::jsonb, %s, %s,"
            " timestamptz '2026-01-01' + %s * interval '1 second') RETURNING id",
            intent_id,
            action,
            payload_json,
            status,
            retry_count,
            created_after_s,
        )
        return EventId(event_id)

    def add_psp(self, intent_id: IntentId, record: PspRecord) -> None:
        # As the payment manager's own table may be.
        self.execute("ALTER TABLE pm.psp_tx_map DROP CONSTRAINT IF EXISTS psp_tx_map_pkey")
        self.execute(
            "INSERT INTO pm.psp_tx_map (intent_id, psp, receiver_display_name, psp_fee_satang,"
            " settlement_date, last_error) VALUES (%s, %s, %s, %s, %s::date, %s)",
            intent_id,
            record.psp,
            record.receiver_display_name,
            record.psp_fee_satang,
            record.settlement_date,
            record.last_error,
        )

    def map_account(self, code: AccountCode, account: MappedAccount) -> None:
        self.execute(
            "INSERT INTO pm.tb_account_map (code, tb_account_id, ledger)"
            " VALUES (%s, %s, %s) ON CONFLICT (code) DO UPDATE"
            " SET tb_account_id = excluded.tb_account_id, ledger = excluded.ledger",
            code,
            f"{account.account_id:032x}",
            account.ledger,
        )

    def add_job(self, job: PushJob) -> None:
        self.execute(
            "INSERT INTO pm.notification_outbox"
            " (notification_id, intent_id, user_id, job, created_at)"
            " VALUES (%s, %s, %s, %s::json, now())",
            job.notification_id,
            job.intent_id,
            job.user_id,
            job.job_json,
        )

    def set_intent_status(self, intent_id: IntentId, status: str) -> None:
        self.execute("UPDATE pm.intent SET status = %s WHERE id = %s", status, intent_id)

    def set_retry_count(self, event_id: EventId, retry_count: int) -> None:
        self.execute(
            "UPDATE pm.outbox_event SET retry_count = %s WHERE id = %s", retry_count, event_id
        )

    def records(self, *, page_intents: int = 1_000) -> PostgresIntentRecords:
        return PostgresIntentRecords(dsn=self.url, page_intents=page_intents)

    def set_age(self, intent_id: IntentId, age_ms: int) -> None:
        self.execute(
            "UPDATE pm.intent SET updated_at = clock_timestamp() - %s * interval '1 millisecond'"
            " WHERE id = %s",
            age_ms,
            intent_id,
        )

    def set_event_age(self, event_id: EventId, age_ms: int) -> None:
        self.execute(
            "UPDATE pm.outbox_event"
            " SET created_at = clock_timestamp() - %s * interval '1 millisecond' WHERE id = %s",
            age_ms,
            event_id,
        )

    def finish_event(self, event_id: EventId, age_ms: int) -> None:
        self.execute(
            "UPDATE pm.outbox_event SET status = 'processed', created_at = moment,"
            " processed_at = moment"
            " FROM (SELECT clock_timestamp() - %s * interval '1 millisecond') AS v (moment)"
            " WHERE id = %s",
            age_ms,
            event_id,
        )

    def outbox_ids(self) -> list[EventId]:
        return [id_ for (id_,) in self.execute("SELECT id FROM pm.outbox_event ORDER BY id")]

    def archive_ids(self) -> list[EventId]:
        return [
            id_ for (id_,) in self.execute("SELECT id FROM pm.outbox_event_archive ORDER BY id")
        ]

    def add_lines(self, intent_id: IntentId, *lines: RecordedLine) -> None:
        for line in lines:
            self.execute(
                "INSERT INTO pm.tx_history"
                " (intent_id, line_no, kind, fee_kind, account, amount_satang, currency)"
                " VALUES (%s, %s, %s, %s, %s, %s, 'THB')",
                intent_id,
                line.line_no,
                str(line.kind),
                line.fee_kind,
                line.account,
                line.amount_satang,
            )

    def remove_intent(self, intent_id: IntentId) -> None:
        self.execute("DELETE FROM pm.intent WHERE id = %s", intent_id)

    @contextmanager
    def hold_intent(self, *intent_ids: IntentId) -> Iterator[None]:
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "SELECT FROM pm.intent WHERE id = ANY(%s) FOR UPDATE", [list(intent_ids)]
            )
            yield

    @contextmanager
    def hold_event(self, *event_ids: EventId) -> Iterator[None]:
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "SELECT FROM pm.outbox_event WHERE id = ANY(%s) FOR UPDATE", [list(event_ids)]
            )
            yield

    def pass_time(self, duration_ms: int) -> None:
        self.execute(
            "UPDATE pm.outbox_retry"
            " SET next_attempt_at = next_attempt_at - %s * interval '1 millisecond'",
            duration_ms,
        )

    def intent(self, intent_id: IntentId) -> IntentState:
        ((status, to_name, settlement_date, failure_reason),) = self.execute(
            "SELECT status, to_name, settlement_date::text, failure_reason"
            " FROM pm.intent WHERE id = %s",
            intent_id,
        )
        return IntentState(
            status=status,
            to_name=to_name,
            settlement_date=settlement_date,
            failure_reason=failure_reason,
        )

    def event(self, event_id: EventId) -> EventState:
        ((status, retry_count, has_processed_at),) = self.execute(
            "SELECT status, retry_count, processed_at IS NOT NULL"
            " FROM pm.outbox_event WHERE id = %s",
            event_id,
        )
        return EventState(status=status, retry_count=retry_count, has_processed_at=has_processed_at)

    def retry(self, event_id: EventId) -> StoredRetry | None:
        for attempts, reason, last_error, generations in self.execute(
            "SELECT attempts, reason, last_error, generations"
            " FROM pm.outbox_retry WHERE event_id = %s",
            event_id,
        ):
            return StoredRetry(
                attempts=attempts,
                reason=reason,
                last_error=last_error,
                generations=tuple(generations),
            )
        return None

    def history(self, intent_id: IntentId) -> list[RecordedLine]:
        rows = self.execute(
            "SELECT line_no, kind, account, amount_satang, fee_kind"
            " FROM pm.tx_history WHERE intent_id = %s ORDER BY id",
            intent_id,
        )
        return [
            HistoryLine(
                line_no=line_no,
                kind=LineKind(kind),
                account=account,
                amount_satang=amount_satang,
                fee_kind=fee_kind,
            )
            for line_no, kind, account, amount_satang, fee_kind in rows
        ]

    def changes(self, intent_id: IntentId) -> list[StatusChange]:
        return [
            StatusChange(
                status_from=row.status_from,
                status_to=row.status_to,
                reason=row.reason,
                payload_json=row.payload_json,
            )
            for row in self.audit(intent_id)
        ]

    def audit(self, intent_id: IntentId) -> list[AuditEvent]:
        rows = self.execute(
            "SELECT status_from, status_to, reason, payload::text"
            " FROM pm.intent_event WHERE intent_id = %s ORDER BY id",
            intent_id,
        )
        return [
            AuditEvent(
                status_from=status_from,
                status_to=status_to,
                reason=reason,
                payload_json=payload,
            )
            for status_from, status_to, reason, payload in rows
        ]

    def jobs(self) -> list[PushJob]:
        rows = self.execute(
            "SELECT notification_id, intent_id, user_id, job::text"
            " FROM pm.notification_outbox ORDER BY id"
        )
        return [
            PushJob(
                notification_id=notification_id,
                intent_id=IntentId(intent_id),
                user_id=UserId(user_id),
                job_json=job,
            )
            for notification_id, intent_id, user_id, job in rows
        ]

    def execute(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one statement on its own and return its rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []
