"""The SQL of one line of a list: an event, what holds it back, and its latest failure."""

from typing import Any, Final

from psycopg import sql

from domain.intents import EventId, IntentId
from domain.waiting import ListedEvent, RetryNote

Row = tuple[Any, ...]

NOT_COMPILED: Final = "SELECT set_config('jit', 'off', true)"
"""Compiling a statement takes longer than running it for a few rows."""


def utc(table: str, column: str) -> sql.Composed:
    """Return the expression that prints a time in UTC, ISO 8601; ``infinity`` as it is.

    As text, since Python has no such time, nor any after the year 9999.
    """
    return sql.SQL(
        "CASE WHEN isfinite({time})"
        " THEN to_char({time} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        " ELSE {time}::text END"
    ).format(time=sql.Identifier(table, column))


# Not every version of Postgres can subtract from an infinite time, so that has no age.
_COLUMNS: Final = sql.SQL("""
    e.id, e.intent_id, e.action, e.status, e.retry_count, {created_at},
    CASE WHEN isfinite(e.created_at)
        THEN floor(extract(epoch FROM now() - e.created_at))::bigint
    END,
    i.found, COALESCE(i.status, ''),
    CASE WHEN e.status = 'pending' THEN (
        SELECT h.id
        FROM (SELECT * FROM pm.outbox_event h WHERE h.intent_id = e.intent_id OFFSET 0) h
        WHERE h.status = 'pending' AND (h.created_at, h.id) < (e.created_at, e.id)
        ORDER BY h.created_at, h.id
        LIMIT 1
    ) END,
    r.reason, r.last_error, {next_attempt_at}, r.next_attempt_at <= now()
""").format(created_at=utc("e", "created_at"), next_attempt_at=utc("r", "next_attempt_at"))

_BESIDE: Final = sql.SQL("""
    LEFT JOIN LATERAL (
        SELECT true AS found, i.status FROM pm.intent i WHERE i.id = e.intent_id OFFSET 0
    ) i ON true
    LEFT JOIN LATERAL (
        SELECT * FROM pm.outbox_retry r WHERE r.event_id = e.id OFFSET 0
    ) r ON true
""")

_NOTHING: Final = sql.SQL("")
_OUTBOX: Final = sql.SQL("pm.outbox_event")


def listed(
    *,
    where: sql.Composable,
    order: sql.Composable,
    more: sql.Composable = _NOTHING,
    events: sql.Composable = _OUTBOX,
) -> sql.Composed:
    """Return the query of the first ``%(limit)s`` events for which *where* holds.

    The limit comes first: everything else is read for these rows only. *more* are further
    columns of ``e``, with a comma before each; *events* is where to look.
    """
    return sql.SQL("""
        SELECT {columns} {more}
        FROM (
            SELECT * FROM {events} e WHERE {where} ORDER BY {order} LIMIT %(limit)s
        ) e
        {beside}
        ORDER BY {order}
    """).format(
        columns=_COLUMNS, more=more, events=events, where=where, order=order, beside=_BESIDE
    )


def listed_event(row: Row) -> ListedEvent:
    """Return the event of a row of ``listed``."""
    event, (found, intent_status, head_id), retry = row[:7], row[7:10], row[10:14]
    return ListedEvent(
        id=EventId(event[0]),
        intent_id=IntentId(event[1]),
        action=event[2],
        status=event[3],
        retry_count=event[4],
        created_at=event[5],
        age_s=event[6],
        intent_status=intent_status if found else None,
        head_id=None if head_id is None else EventId(head_id),
        retry=None
        if retry[0] is None
        else RetryNote(
            reason=retry[0], last_error=retry[1], next_attempt_at=retry[2], is_over=retry[3]
        ),
    )
