"""Many intents and events at once, made by the server."""

from typing import Any

import psycopg

_ADD_INTENTS = (
    "INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
    " SELECT lpad(to_hex(number), 32, '0')::uuid, %s, 'QR', 100"
    " FROM generate_series(%s::int, %s) AS number"
)
_ADD_EVENTS = (
    "INSERT INTO pm.outbox_event"
    " (intent_id, action, status, retry_count, created_at, processed_at)"
    " SELECT lpad(to_hex(number), 32, '0')::uuid, 'post_pending', %s::text, %s, moment,"
    " CASE WHEN %s::text = 'processed' THEN moment + interval '1 s' END"
    " FROM (SELECT number, timestamptz '2026-01-01' + number * interval '1 ms' AS moment"
    " FROM generate_series(%s::int, %s) AS number) AS v"
)


def add_intents(connection: psycopg.Connection[Any], status: str, *, first: int, last: int) -> None:
    """Store intents whose ids are those numbers."""
    connection.execute(_ADD_INTENTS, [status, first, last])


def add_events(
    connection: psycopg.Connection[Any], status: str, *, first: int, last: int, retry_count: int = 0
) -> None:
    """Store an event of each of those intents; a greater number is younger by a millisecond."""
    connection.execute(_ADD_EVENTS, [status, retry_count, status, first, last])


def process(connection: psycopg.Connection[Any], *, first: int, last: int) -> None:
    """Let the pending events of those intents be processed, as a worker does; leaves dead rows."""
    connection.execute(
        "UPDATE pm.outbox_event SET status = 'processed', processed_at = clock_timestamp()"
        " WHERE status = 'pending' AND intent_id BETWEEN lpad(to_hex(%s::int), 32, '0')::uuid"
        " AND lpad(to_hex(%s::int), 32, '0')::uuid",
        [first, last],
    )
    connection.execute(
        "UPDATE pm.intent SET status = 'SETTLED', updated_at = clock_timestamp()"
        " WHERE id BETWEEN lpad(to_hex(%s::int), 32, '0')::uuid"
        " AND lpad(to_hex(%s::int), 32, '0')::uuid",
        [first, last],
    )
