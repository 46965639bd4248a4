"""The audit trail of intents, on a producer's own connection."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from adapters.postgres.audit_trail import INSERT_AUDIT, audit_values
from adapters.postgres.errors import translated_write_errors
from application.ports.intent_trail import Recorded
from domain.conclusions import StatusChange
from domain.intents import IntentId

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# As a number, which the driver reads whatever the session's DateStyle is.
_INSERT: Final = (
    INSERT_AUDIT + " RETURNING floor(extract(epoch FROM created_at::timestamptz) * 1000)"
)


class PostgresIntentTrail:
    """An ``IntentTrail`` on *connection*, in a transaction of its owner's or in autocommit mode."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def append(self, intent_id: IntentId, change: StatusChange) -> Recorded:
        """See ``IntentTrail.append``."""
        with (
            translated_write_errors(),
            self._connection.cursor(row_factory=tuple_row) as cursor,
        ):
            ((at_ms,),) = cursor.execute(_INSERT, audit_values(intent_id, change)).fetchall()
        return Recorded(
            at=_EPOCH + timedelta(milliseconds=int(at_ms)),
            is_committed=self._connection.info.transaction_status == TransactionStatus.IDLE,
        )
