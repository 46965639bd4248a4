"""The claim's SQL (DESIGN §6): lock events, lock their intents, read afresh.

Whatever a row needs from another table it gets by a scalar subquery or a fenced one
(``OFFSET 0``): the planner must run those as one index probe a row. Given plain joins it
chooses, and with statistics from a quieter hour it chooses to read the whole backlog, or
millions of finished rows.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import sql

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
_IS_DUE: Final = sql.SQL("""
    (e.retry_count = 0 OR COALESCE(
        (SELECT r.next_attempt_at FROM pm.outbox_retry r WHERE r.event_id = e.id)
            <= clock_timestamp(),
        true
    ))
""")
# The fence leaves the index on intent_id as the only way in: by the one on status, each event
# would walk over the whole backlog.
_IS_HEAD: Final = sql.SQL("""
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

# CASE fixes the order of the tests: with many events backed off, all but the first ones are
# rarely needed. created_at goes to the caller as text, for it may be 'infinity'.
LOCK_EVENTS: Final = sql.SQL("""
    SELECT
        e.id,
        e.intent_id,
        e.created_at::text,
        e.retry_count <> 0 AS was_tried,
        (SELECT i.id FROM pm.intent i WHERE i.id = e.intent_id) IS NULL AS is_orphan
    FROM pm.outbox_event e
    WHERE e.status = 'pending'
      AND (e.created_at, e.id) > (%(after_time)s::timestamptz, %(after_id)s::integer)
      AND CASE
            WHEN %(only_untried)s AND e.retry_count <> 0 THEN false
            WHEN NOT {is_due} THEN false
            WHEN (SELECT i.status FROM pm.intent i WHERE i.id = e.intent_id) = 'MANUAL_REVIEW'
                THEN false
            ELSE {is_head}
          END
    ORDER BY e.created_at, e.id
    LIMIT %(limit)s
    FOR UPDATE OF e SKIP LOCKED
""").format(is_due=_IS_DUE, is_head=_IS_HEAD)

_LOCK_INTENTS: Final = """
    SELECT i.id FROM pm.intent i WHERE i.id = ANY(%(intents)b::uuid[]) FOR UPDATE SKIP LOCKED
"""

# An operator's open transaction on a row of ours must cost its event only.
_LOCK_RETRIES: Final = """
    WITH locked AS MATERIALIZED (
        SELECT r.event_id FROM pm.outbox_retry r
        WHERE r.event_id = ANY(%(events)b::integer[])
        FOR UPDATE SKIP LOCKED
    )
    SELECT r.event_id, l.event_id IS NOT NULL
    FROM pm.outbox_retry r
    LEFT JOIN locked l USING (event_id)
    WHERE r.event_id = ANY(%(events)b::integer[])
"""

# Whoever took one of them in the meantime may have it.
_LOCK_EVENTS_AGAIN: Final = """
    SELECT e.id FROM pm.outbox_event e
    WHERE e.id = ANY(%(events)b::integer[])
    ORDER BY e.id
    FOR UPDATE SKIP LOCKED
"""

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
""").format(rows=rows_of(sql.SQL("pm.outbox_event")), is_due=_IS_DUE, is_head=_IS_HEAD)

# The index gives the order up to events of the same time. A planner that thinks there are few
# pending events would still rather read all of them, judge each, and sort at the end. (Sorts
# that must be then look so dear that they would be compiled, for longer than they take.)
KEEP_INDEX_ORDER: Final = (
    "SELECT set_config('enable_sort', 'off', true), set_config('jit', 'off', true)"
)


PAGES_MAX: Final = 8
"""How often a claim looks further behind events whose intents somebody else holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a transaction holds locked."""

    events: tuple[int, ...] = ()
    intents: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    held: Held
    tried: int
    """How many of those held have failed before."""
    is_last: bool
    has_others: bool
    """Events were locked that are not held: somebody else holds their intent or retry row, or
    too many of them were tried before."""
    end: "_Position"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Position:
    """A place in the order of events. Time is text, for it may be infinite."""

    time: str = "-infinity"
    event_id: int = 0


def lock_due(connection: BoundedConnection, *, limit: int) -> Held:
    """Lock at most *limit* due events whose intent could be locked too, or does not exist.

    Events whose intents somebody else holds are let go again, and it looks further behind
    them, within bounds: what lies behind must not wait. It stops with half a batch, so as not
    to crawl through a stretch where every second intent is held.

    Of a full batch, events that failed before get no more than half: however many there are,
    and they are the oldest, what was never tried does not wait behind them.
    """
    connection.execute(KEEP_INDEX_ORDER)
    held, position, tried_left = Held(), _Position(), max(1, limit // 2)
    for _ in range(PAGES_MAX):
        page = _lock_page(
            connection, position, limit=limit - len(held.events), tried_max=tried_left
        )
        held = Held(events=held.events + page.held.events, intents=held.intents + page.held.intents)
        tried_left = max(0, tried_left - page.tried)
        if page.has_others:
            held = _hold_only(connection, held)
        if page.is_last or len(held.events) > limit // 2:
            break
        position = page.end
    return held


def _lock_page(
    connection: BoundedConnection, position: _Position, *, limit: int, tried_max: int
) -> _Page:
    rows = connection.execute(
        LOCK_EVENTS,
        {
            "after_time": position.time,
            "after_id": position.event_id,
            "only_untried": tried_max == 0,
            "limit": limit,
        },
    ).fetchall()
    is_last = len(rows) < limit
    intents = _lock_intents(connection, [row[1] for row in rows if not row[4]])
    in_use = _retries_in_use(connection, [event for event, _, _, was_tried, _ in rows if was_tried])
    usable = [
        (event, intent, was_tried)
        for event, intent, _, was_tried, is_orphan in rows
        if (is_orphan or intent in intents) and event not in in_use
    ]
    tried = [event for event, _, was_tried in usable if was_tried]
    if not is_last:
        surplus = set(tried[tried_max:])
        usable = [one for one in usable if one[0] not in surplus]
    return _Page(
        held=Held(
            events=tuple(event for event, _, _ in usable),
            intents=tuple(intent for _, intent, _ in usable if intent in intents),
        ),
        tried=min(len(tried), tried_max),
        is_last=is_last,
        has_others=len(usable) < len(rows),
        end=_Position(time=rows[-1][2], event_id=rows[-1][0]) if rows else position,
    )


def _retries_in_use(connection: BoundedConnection, events: list[int]) -> set[int]:
    """Lock the retry rows of *events*; return the events whose row somebody else holds."""
    if not events:
        return set()
    rows = connection.execute(_LOCK_RETRIES, {"events": events}).fetchall()
    return {event for event, is_locked in rows if not is_locked}


def _hold_only(connection: BoundedConnection, held: Held) -> Held:
    """Let go of every lock but those of *held*. Nothing has been written yet."""
    connection.rollback()
    connection.begin()
    connection.execute(KEEP_INDEX_ORDER)
    if not held.events:
        return held
    events = connection.execute(_LOCK_EVENTS_AGAIN, {"events": list(held.events)}).fetchall()
    intents = _lock_intents(connection, list(held.intents))
    return Held(events=tuple(event for (event,) in events), intents=tuple(intents))


def read_held(connection: BoundedConnection, held: Held) -> tuple[ClaimedEvent, ...]:
    """Read what is held, as it is now, leaving out events that are no longer due.

    Taking a lock re-reads the locked row, but none that was joined to it: a backoff or a
    manual review that was committed in between shows only here.
    """
    if not held.events:
        return ()
    rows = connection.execute(
        _READ, {"events": list(held.events), "intents": list(held.intents)}
    ).fetchall()
    return tuple(map(claimed_of_row, rows))


def _lock_intents(connection: BoundedConnection, intents: list[UUID]) -> set[UUID]:
    if not intents:
        return set()
    return {row[0] for row in connection.execute(_LOCK_INTENTS, {"intents": intents})}


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
