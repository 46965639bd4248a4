"""Finished events on their way into the archive, and both tables read as one.

A batch is found without a lock, by the index on status and time, and then moved by its ids.
Each look starts where the last one ended: behind it lie the dead entries of what was moved,
which every look would walk over again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from psycopg import sql

from adapters.postgres.claiming import KEEP_INDEX_ORDER
from adapters.postgres.errors import translated_errors, translated_write_errors
from adapters.postgres.pool import Pool, transaction
from application.ports.event_archive import Portion, Position
from domain.intents import EventId

_COLUMNS: Final = sql.SQL(
    "id, intent_id, action, status, payload, retry_count, created_at, processed_at"
)

ALL_EVENTS: Final = sql.SQL("""
    (
        SELECT {columns}, NULL::timestamptz AS archived_at FROM pm.outbox_event
        UNION ALL
        SELECT {columns}, archived_at FROM pm.outbox_event_archive
    )
""").format(columns=_COLUMNS)
"""Every event there is, be it archived; a condition on it reaches the indexes of both tables."""

# Not a plain comparison: by the index on the status, each batch would read through all that is
# finished.
_IS_OVER: Final = sql.SQL(
    "{event}.status || '' = 'processed' AND {event}.processed_at < %(before)s"
)

_MAY_GO: Final = sql.SQL("""
    {is_over}
    AND COALESCE(
        (SELECT i.status FROM pm.intent i WHERE i.id = e.intent_id), 'FAILED'
    ) IN ('SETTLED', 'FAILED')
    AND NOT EXISTS (
        SELECT FROM (SELECT * FROM pm.outbox_event o WHERE o.intent_id = e.intent_id OFFSET 0) o
        WHERE ({other_is_over}) IS NOT TRUE
    )
""").format(
    is_over=_IS_OVER.format(event=sql.SQL("e")), other_is_over=_IS_OVER.format(event=sql.SQL("o"))
)

# An event is created before it is processed: what is younger cannot be over so long.
_FIND: Final = sql.SQL("""
    SELECT e.id, e.created_at::text, ({may_go}) IS TRUE
    FROM (
        SELECT e.id, e.intent_id, e.status, e.created_at, e.processed_at
        FROM pm.outbox_event e
        WHERE e.status = 'processed'
          AND (e.created_at, e.id) > (%(after_time)s::timestamptz, %(after_id)s::integer)
          AND e.created_at < %(before)s
        ORDER BY e.created_at, e.id
        LIMIT %(limit)s
    ) e
    ORDER BY e.created_at, e.id
""").format(may_go=_MAY_GO)

_MOVE: Final = sql.SQL("""
    WITH held AS MATERIALIZED (
        SELECT e.id FROM pm.outbox_event e
        WHERE e.id = ANY(%(events)s::integer[]) AND {may_go}
        FOR UPDATE OF e SKIP LOCKED
    ), moved AS (
        DELETE FROM pm.outbox_event e WHERE e.id = ANY(ARRAY(SELECT id FROM held))
        RETURNING {columns}
    )
    INSERT INTO pm.outbox_event_archive ({columns}, archived_at)
    SELECT {columns}, clock_timestamp() FROM moved
""").format(may_go=_MAY_GO, columns=_COLUMNS)


@dataclass(frozen=True, slots=True)
class PostgresEventArchive:
    """An ``EventArchive`` on *pool*."""

    pool: Pool

    def cutoff(self, age: timedelta) -> datetime:
        """See ``EventArchive.cutoff``."""
        with transaction(self.pool) as connection, translated_errors():
            ((moment,),) = connection.execute("SELECT now() - %s", [age]).fetchall()
        found: datetime = moment
        return found

    def find(self, *, before: datetime, after: Position, limit: int) -> Portion:
        """See ``EventArchive.find``."""
        with transaction(self.pool) as connection, translated_errors():
            connection.execute(KEEP_INDEX_ORDER)
            rows = connection.execute(
                _FIND,
                {
                    "before": before,
                    "after_time": after.created_at,
                    "after_id": after.event_id,
                    "limit": limit,
                },
            ).fetchall()
        return Portion(
            event_ids=[EventId(event_id) for event_id, _, may_go in rows if may_go],
            end=Position(created_at=rows[-1][1], event_id=rows[-1][0])
            if len(rows) == limit
            else None,
        )

    def move(self, event_ids: Sequence[EventId], *, before: datetime) -> int:
        """See ``EventArchive.move``."""
        with transaction(self.pool) as connection, translated_write_errors():
            connection.execute(KEEP_INDEX_ORDER)
            return connection.execute(_MOVE, {"events": list(event_ids), "before": before}).rowcount
