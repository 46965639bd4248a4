"""An operator's changes: one event, one transaction, locked in the order of the producers.

The intent comes before its events: producers and PM lock it first, too, and workers wait for
no lock of either, so nobody waits in a circle.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import sql

from adapters.postgres import writing
from adapters.postgres.audit_trail import INSERT_AUDIT, audit_values
from adapters.postgres.claimed_rows import claimed_of_row, rows_of
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors, translated_write_errors
from adapters.postgres.pool import Pool, transaction
from application.errors import HeldByOthersError, RowsRefusedError
from application.ports.operator_store import HeldEvent
from domain.conclusions import AuditEvent, Review
from domain.intents import EventId, IntentId, IntentStatus
from domain.named_events import NamedEvent, UnfinishedEvent
from domain.requeueing import Requeue

LOCK_TIMEOUT_MS: Final = 5_000
_NOT_TAKEN: Final = "a row did not take the update"

# In this order: an event that is moved meanwhile is found in the second.
_PLACES: Final = (
    rows_of(sql.SQL("pm.outbox_event")),
    rows_of(sql.SQL("pm.outbox_event_archive")),
)

# By created_at, for PM's own table may have no ids. Rows of a PSP's states tell nothing of the
# intent's, and nothing tells one that kept it under review.
_LATEST_CHANGES: Final = """
    SELECT a.status_from, a.status_to FROM pm.intent_event a
    WHERE a.intent_id = %(intent)s
      AND a.status_to = ANY(%(statuses)s::text[])
      AND (a.status_to <> 'MANUAL_REVIEW' OR a.status_from IS DISTINCT FROM 'MANUAL_REVIEW')
    ORDER BY a.created_at DESC NULLS LAST
    FETCH FIRST 1 ROW WITH TIES
"""


@dataclass(frozen=True, slots=True)
class PostgresHeldEvent:
    """A ``HeldEvent``; its locks are those of the connection's open transaction."""

    _connection: BoundedConnection
    named: NamedEvent

    def requeue(self, requeue: Requeue) -> None:
        """See ``HeldEvent.requeue``."""
        with translated_write_errors():
            self._change(
                "UPDATE pm.outbox_event SET status = 'pending', retry_count = 0 WHERE id = %s",
                requeue.event_id,
            )
            if self.named.status == "failed":
                self._connection.execute(
                    "DELETE FROM pm.outbox_retry WHERE event_id = %s", [requeue.event_id]
                )
            if requeue.intent_status is not None:
                self._change(
                    "UPDATE pm.intent SET status = %s, updated_at = clock_timestamp()"
                    " WHERE id = %s",
                    str(requeue.intent_status),
                    requeue.intent_id,
                )
            self._audit(requeue.intent_id, requeue.audit)
            self._check_constraints()

    def give_up(self, review: Review) -> None:
        """See ``HeldEvent.give_up``."""
        with translated_write_errors():
            if review.event_id not in writing.review(self._connection, [review]):
                raise RowsRefusedError(_NOT_TAKEN)
            if self.named.is_in_review:
                self._audit(review.intent_id, review.audit)
            self._check_constraints()

    def _change(self, query: str, *parameters: object) -> None:
        # A trigger of PM's may quietly keep the row as it was.
        if self._connection.execute(query.encode(), parameters).rowcount != 1:
            raise RowsRefusedError(_NOT_TAKEN)

    def _audit(self, intent_id: IntentId, audit: AuditEvent | None) -> None:
        if audit is not None:
            self._connection.execute(INSERT_AUDIT, audit_values(intent_id, audit))

    def _check_constraints(self) -> None:
        # What PM defers to the commit would be taken for an outage there.
        self._connection.execute("SET CONSTRAINTS ALL IMMEDIATE")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOperatorStore:
    """An ``OperatorStore`` on *pool*; waits *lock_timeout_ms* for its locks, all in all."""

    pool: Pool
    lock_timeout_ms: int = LOCK_TIMEOUT_MS

    def read(self, event_id: EventId) -> NamedEvent | None:
        """See ``OperatorStore.read``."""
        with transaction(self.pool) as connection, translated_errors():
            # For what several statements read is to be of one moment.
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return _named(connection, event_id)

    def unfinished(self, intent_id: IntentId) -> Sequence[UnfinishedEvent]:
        """See ``OperatorStore.unfinished``."""
        with transaction(self.pool) as connection, translated_errors():
            rows = connection.execute(
                "SELECT e.id, e.status FROM pm.outbox_event e"
                " WHERE e.intent_id = %s AND e.status || '' <> 'processed'"
                " ORDER BY e.created_at, e.id",
                [intent_id],
            ).fetchall()
        return [UnfinishedEvent(EventId(event_id), status) for event_id, status in rows]

    def hold(self, event_id: EventId) -> AbstractContextManager[HeldEvent | None]:
        """See ``OperatorStore.hold``."""
        return self._hold(event_id)

    @contextmanager
    def _hold(self, event_id: EventId) -> Iterator[HeldEvent | None]:
        with transaction(self.pool) as connection:
            with translated_errors():
                named = self._lock(connection, event_id)
            yield None if named is None else PostgresHeldEvent(connection, named)

    def _lock(self, connection: BoundedConnection, event_id: EventId) -> NamedEvent | None:
        rows = connection.execute(
            "SELECT e.intent_id FROM pm.outbox_event e WHERE e.id = %s::bigint", [event_id]
        ).fetchall()
        if not rows:
            # What is in the archive never changes: there is nothing to lock.
            return _named(connection, event_id)
        ((intent_id,),) = rows
        ends_at_s = time.monotonic() + self.lock_timeout_ms / 1_000
        for query, key in (
            ("SELECT FROM pm.intent WHERE id = %s FOR UPDATE", intent_id),
            ("SELECT FROM pm.outbox_event WHERE id = %s FOR UPDATE", event_id),
        ):
            # 0 would be no limit at all.
            left_ms = max(1, int((ends_at_s - time.monotonic()) * 1_000))
            connection.execute("SELECT set_config('lock_timeout', %s, true)", [f"{left_ms}ms"])
            _lock_row(connection, query, key)
        return _named(connection, event_id)


def _lock_row(connection: BoundedConnection, query: str, key: UUID | int) -> None:
    try:
        connection.execute(query.encode(), [key])
    except psycopg.errors.LockNotAvailable as error:
        raise HeldByOthersError(
            "a worker or the payment manager is at its intent; nothing was changed,"
            " try again in a moment"
        ) from error


def _named(connection: BoundedConnection, event_id: EventId) -> NamedEvent | None:
    row = _row(connection, event_id)
    if row is None:
        return None
    claimed = claimed_of_row(row)
    ((database_user,),) = connection.execute("SELECT session_user").fetchall()
    return NamedEvent(
        claimed=claimed,
        status=row[-1],
        status_before_review=_status_before_review(connection, claimed.event.intent_id),
        database_user=database_user,
    )


def _status_before_review(connection: BoundedConnection, intent_id: IntentId) -> str | None:
    changes = connection.execute(
        _LATEST_CHANGES, {"intent": intent_id, "statuses": [str(status) for status in IntentStatus]}
    ).fetchall()
    # Which of several that bear the same time came last is not known.
    latest: set[tuple[str | None, str]] = set(changes)
    if len(latest) != 1:
        return None
    ((before, after),) = latest
    return before if after == IntentStatus.MANUAL_REVIEW else None


def _row(connection: BoundedConnection, event_id: EventId) -> tuple[Any, ...] | None:
    for query in _PLACES:
        row = connection.execute(query, {"events": [event_id]}).fetchone()
        if row is not None:
            return row
    return None
