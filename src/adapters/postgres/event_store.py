"""Outbox rows in a producer's own transaction.

The connection is the producer's: whatever row factory it set, and no commit from here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from adapters.postgres.audit_trail import INSERT_AUDIT, audit_values
from adapters.postgres.errors import translated_write_errors
from adapters.postgres.event_archive import ALL_EVENTS
from application.errors import DatabaseMisconfiguredError
from application.ports.event_store import LockedIntent, StoredEvent
from domain.conclusions import AuditEvent
from domain.intents import Action, EventId, IntentId

_EVENTS_OF: Final = sql.SQL("""
    SELECT e.id, e.action, e.status, e.payload::text FROM {events} e
    WHERE e.intent_id = %(id)s ORDER BY e.created_at, e.id
""").format(events=ALL_EVENTS)


class PostgresEventStore:
    """An ``EventStore`` on *connection*, whose transaction its owner ends.

    Relies on READ COMMITTED: with a stricter isolation level a producer does not see what
    another one committed while it waited for the lock.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def lock_intent(self, intent_id: IntentId) -> LockedIntent | None:
        """See ``EventStore.lock_intent``.

        Raises:
            DatabaseMisconfiguredError: also when no transaction is open; nothing is locked then.
        """
        rows = self._run(
            "SELECT id, status, COALESCE(amount_satang, 0) FROM pm.intent WHERE id = %(id)s"
            " FOR UPDATE",
            {"id": intent_id},
        )
        if self._connection.info.transaction_status != TransactionStatus.INTRANS:
            raise DatabaseMisconfiguredError(
                "the connection is in autocommit mode: begin a transaction"
            )
        if not rows:
            return None
        ((found_id, status, amount_satang),) = rows
        return LockedIntent(id=IntentId(found_id), status=status, amount_satang=amount_satang)

    def events_of(self, intent_id: IntentId) -> Sequence[StoredEvent]:
        """See ``EventStore.events_of``."""
        rows = self._run(_EVENTS_OF, {"id": intent_id})
        return [
            StoredEvent(id=EventId(event_id), action=action, status=status, payload_json=payload)
            for event_id, action, status, payload in rows
        ]

    def insert(self, intent_id: IntentId, action: Action, payload_json: str | None) -> EventId:
        """See ``EventStore.insert``.

        Raises:
            RowsRefusedError: Postgres does not take *payload_json*; the producer's
                transaction has failed.
        """
        ((event_id,),) = self._run(
            "INSERT INTO pm.outbox_event (intent_id, action, payload)"
            " VALUES (%(id)s, %(action)s, %(payload)s::jsonb) RETURNING id",
            {"id": intent_id, "action": str(action), "payload": payload_json},
        )
        return EventId(event_id)

    def note(self, intent_id: IntentId, audit: AuditEvent) -> None:
        """See ``EventStore.note``.

        Raises:
            RowsRefusedError: Postgres does not take the row; the transaction has failed.
        """
        with translated_write_errors():
            self._connection.execute(INSERT_AUDIT, audit_values(intent_id, audit))

    def _run(
        self, query: str | sql.Composed, parameters: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        with (
            translated_write_errors(),
            self._connection.cursor(row_factory=tuple_row) as cursor,
        ):
            return cursor.execute(query, parameters).fetchall()
