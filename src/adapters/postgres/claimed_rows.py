"""What a claim holds, read afresh: an event with all that is stored beside it (DESIGN §6).

Whatever a row needs from another table it gets by a scalar subquery or a fenced one
(``OFFSET 0``): the planner must run those as one index probe a row. Given plain joins it
chooses, and with statistics from a quieter hour it chooses to read the whole backlog, or
millions of finished rows.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import sql

from adapters.postgres.arrays import Integers, Uuids
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.psp_records import PSP_COLUMNS, join_psp, psp_record
from domain.intents import (
    ClaimedEvent,
    EventId,
    Intent,
    IntentId,
    OutboxEvent,
    RetryState,
    UserId,
)

# An event is due when no backoff runs; retry_count 0, by an operator's hand, ends any backoff.
IS_DUE: Final = sql.SQL("""
    (e.retry_count = 0 OR COALESCE(
        (SELECT r.next_attempt_at FROM pm.outbox_retry r WHERE r.event_id = e.id)
            <= clock_timestamp(),
        true
    ))
""")
# The fence leaves the index on intent_id as the only way in: by the one on status, each event
# would walk over the whole backlog.
IS_HEAD: Final = sql.SQL("""
    NOT EXISTS (
        SELECT FROM (
            SELECT h.id, h.created_at, h.status
            FROM pm.outbox_event h
            WHERE h.intent_id = e.intent_id
            OFFSET 0
        ) h
        WHERE h.status = 'pending' AND (h.created_at, h.id) < (e.created_at, e.id)
    )
""")

_ROWS_OF: Final = sql.SQL("""
    SELECT
        e.id, e.intent_id, e.action, e.payload::text, e.retry_count,
        i.id IS NOT NULL, COALESCE(i.status, ''), i.operation_type, i.amount_satang, i.currency,
        i.user_id, i.issued_by_user_id, i.metadata::text,
        ARRAY(SELECT unnest(i.tb_transfer_ids)),
        {psp_columns},
        r.reason, r.attempts, r.generations,
        e.status
    FROM unnest(%(events)b::integer[]) WITH ORDINALITY AS held (id, position)
    CROSS JOIN LATERAL (
        SELECT * FROM {events} e WHERE e.id = held.id OFFSET 0
    ) e
    LEFT JOIN LATERAL (
        SELECT * FROM pm.intent i WHERE i.id = e.intent_id OFFSET 0
    ) i ON true
    LEFT JOIN LATERAL (
        SELECT * FROM pm.outbox_retry r WHERE r.event_id = e.id OFFSET 0
    ) r ON true
    {join_psp}
""")


def rows_of(events: sql.Composable) -> sql.Composed:
    """Return the query of ``%(events)b`` in *events*, and of all beside them; status is last."""
    return _ROWS_OF.format(
        events=events, psp_columns=PSP_COLUMNS, join_psp=join_psp(sql.SQL("e.intent_id"))
    )


_READ: Final = sql.SQL("""
    {rows}
    WHERE e.status = 'pending'
      AND (i.id IS NULL OR i.id = ANY(%(intents)b::uuid[]))
      AND i.status IS DISTINCT FROM 'MANUAL_REVIEW'
      AND {is_due}
      AND {is_head}
    ORDER BY held.position
""").format(rows=rows_of(sql.SQL("pm.outbox_event")), is_due=IS_DUE, is_head=IS_HEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a transaction holds locked."""

    events: tuple[int, ...] = ()
    intents: tuple[UUID, ...] = ()


def read_held(connection: BoundedConnection, held: Held) -> tuple[ClaimedEvent, ...]:
    """Read what is held, as it is now, leaving out events that are no longer due.

    Taking a lock re-reads the locked row, but none that was joined to it: a backoff or a
    manual review that was committed in between shows only here.
    """
    if not held.events:
        return ()
    rows = connection.execute(
        _READ, {"events": Integers(held.events), "intents": Uuids(held.intents)}
    ).fetchall()
    return tuple(map(claimed_of_row, rows))


def claimed_of_row(row: tuple[Any, ...]) -> ClaimedEvent:
    """Return the event of a row of ``rows_of``."""
    event, intent, psp, retry = row[:5], row[5:14], row[14:20], row[20:23]
    intent_id = IntentId(event[1])
    return ClaimedEvent(
        event=OutboxEvent(
            id=EventId(event[0]),
            intent_id=intent_id,
            action=event[2],
            payload_json=event[3],
            retry_count=event[4],
        ),
        intent=intent_of_row(intent_id, *intent[1:]) if intent[0] else None,
        psp=psp_record(psp),
        retry=RetryState(reason=retry[0], attempts=retry[1], generations=tuple(retry[2]))
        if retry[0] is not None
        else None,
    )


def intent_of_row(intent_id: IntentId, *row: Any) -> Intent:
    """Return the intent of the columns from ``status`` to ``tb_transfer_ids``."""
    status, operation_type, amount_satang, currency, user, issuer, metadata, transfers = row
    return Intent(
        id=intent_id,
        status=status,
        operation_type=operation_type,
        amount_satang=amount_satang,
        currency=currency,
        user_id=None if user is None else UserId(user),
        issued_by_user_id=None if issuer is None else UserId(issuer),
        metadata_json=metadata,
        tb_transfer_ids=tuple(transfers),
    )
