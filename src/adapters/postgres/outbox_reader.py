"""What the operator's commands read, over the indexes that PM's tables have.

As in the claim, what a row needs from another table comes by a fenced subquery
(``OFFSET 0``), one index probe a row, whatever the statistics say; and rows are cut to the
limit before any of that.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import sql

from adapters.postgres.claiming import KEEP_INDEX_ORDER
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.dossier import read_dossier
from adapters.postgres.errors import translated_errors
from adapters.postgres.event_archive import ALL_EVENTS
from adapters.postgres.listing import NOT_COMPILED, listed, listed_event
from adapters.postgres.pool import Pool, transaction
from domain.dossier import Dossier
from domain.intents import UNSETTLED, EventId, IntentId
from domain.waiting import ActionStatistics, ListedEvent, Page, Stuck

_OLDEST_FIRST: Final = sql.SQL("e.created_at, e.id")

_PENDING: Final = sql.SQL("e.status = 'pending'")
# now() is when this transaction began, a moment ago; unlike clock_timestamp() it can be
# looked up in an index.
_OLD: Final = sql.SQL("e.status = 'pending' AND e.created_at < now() - %(older_than)s::interval")
# What is missing is 'MANUAL_REVIEW', too: nobody but a person finds the intent.
_GIVEN_UP: Final = sql.SQL("""
    e.status = 'failed'
    AND COALESCE(
        (SELECT COALESCE(i.status, '') FROM pm.intent i WHERE i.id = e.intent_id),
        'MANUAL_REVIEW'
    ) = ANY(%(unsettled)s::text[])
""")
# The intents are found first, once.
_BEHIND: Final = sql.SQL("""
    e.intent_id = ANY(ARRAY(
        SELECT DISTINCT f.intent_id
        FROM pm.outbox_event f
        WHERE f.status = 'failed'
          AND (SELECT i.status FROM pm.intent i WHERE i.id = f.intent_id) = 'MANUAL_REVIEW'
    ))
    AND e.status || '' = 'pending'
    AND e.created_at >= now() - %(older_than)s::interval
""")
_RETRIED: Final = sql.SQL("e.status = 'pending' AND e.retry_count > %(more_than)s::bigint")

# Where a serial began anew, the younger event is the one that is meant.
_INTENT_OF: Final = sql.SQL("""
    SELECT e.intent_id FROM {events} e WHERE e.id = %(event)s::bigint
    ORDER BY e.archived_at DESC NULLS FIRST LIMIT 1
""").format(events=ALL_EVENTS)

# An infinite time is no latency. Naming every status makes the index usable.
_STATISTICS: Final = """
    SELECT action, status, count(*), avg(ms)::bigint,
           (percentile_cont(0.5) WITHIN GROUP (ORDER BY ms))::bigint,
           (percentile_cont(0.99) WITHIN GROUP (ORDER BY ms))::bigint
    FROM (
        SELECT e.action, e.status,
               CASE WHEN isfinite(e.processed_at) AND isfinite(e.created_at)
                   THEN extract(epoch FROM e.processed_at - e.created_at) * 1000
               END AS ms
        FROM pm.outbox_event e
        WHERE e.status IN ('pending', 'processed', 'failed')
          AND e.created_at > now() - %(since)s::interval
    ) e
    GROUP BY action, status
    ORDER BY action, status
"""


@dataclass(frozen=True, slots=True)
class PostgresOutboxReader:
    """An ``OutboxReader`` on *pool*."""

    pool: Pool

    def queue(self, *, limit: int) -> Page:
        """See ``OutboxReader.queue``."""
        with self._snapshot() as connection:
            connection.execute(KEEP_INDEX_ORDER)
            return _page(connection, _PENDING, {}, limit=limit)

    def stuck(self, *, older_than: timedelta, limit: int) -> Stuck:
        """See ``OutboxReader.stuck``."""
        parameters = {"older_than": older_than, "unsettled": sorted(map(str, UNSETTLED))}
        with self._snapshot() as connection:
            connection.execute(KEEP_INDEX_ORDER)
            return Stuck(
                waiting=_page(connection, _OLD, parameters, limit=limit),
                failed=_page(connection, _GIVEN_UP, parameters, limit=limit),
                behind=_page(connection, _BEHIND, parameters, limit=limit),
            )

    def retried(self, *, more_than: int, limit: int) -> Page:
        """See ``OutboxReader.retried``."""
        order = sql.SQL("e.retry_count DESC, e.created_at, e.id")
        with self._snapshot() as connection:
            connection.execute(NOT_COMPILED)
            return _page(connection, _RETRIED, {"more_than": more_than}, limit=limit, order=order)

    def statistics(self, *, since: timedelta) -> Sequence[ActionStatistics]:
        """See ``OutboxReader.statistics``."""
        with self._snapshot() as connection:
            rows = connection.execute(_STATISTICS, {"since": since}).fetchall()
        return [
            ActionStatistics(
                action=action,
                status=status,
                count=count,
                latency_average_ms=average,
                latency_p50_ms=p50,
                latency_p99_ms=p99,
            )
            for action, status, count, average, p50, p99 in rows
        ]

    def intent_of(self, event_id: EventId) -> IntentId | None:
        """See ``OutboxReader.intent_of``."""
        with self._snapshot() as connection:
            row = connection.execute(_INTENT_OF, {"event": event_id}).fetchone()
        return None if row is None else IntentId(row[0])

    def dossier(self, intent_id: IntentId) -> Dossier | None:
        """See ``OutboxReader.dossier``."""
        with self._snapshot() as connection:
            return read_dossier(connection, intent_id)

    @contextmanager
    def _snapshot(self) -> Iterator[BoundedConnection]:
        with transaction(self.pool) as connection, translated_errors():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection


def _page(
    connection: BoundedConnection,
    where: sql.Composable,
    parameters: Mapping[str, Any],
    *,
    limit: int,
    order: sql.Composable = _OLDEST_FIRST,
) -> Page:
    count = sql.SQL("SELECT count(*) FROM pm.outbox_event e WHERE {}").format(where)
    ((total,),) = connection.execute(count, parameters).fetchall()
    return Page(
        events=_events(connection, where, parameters, limit=limit, order=order), total=total
    )


def _events(
    connection: BoundedConnection,
    where: sql.Composable,
    parameters: Mapping[str, Any],
    *,
    limit: int,
    order: sql.Composable = _OLDEST_FIRST,
) -> tuple[ListedEvent, ...]:
    query = listed(where=where, order=order)
    rows = connection.execute(query, {**parameters, "limit": limit}).fetchall()
    return tuple(map(listed_event, rows))
