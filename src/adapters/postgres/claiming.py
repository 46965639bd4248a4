"""The locks of a claim (DESIGN §6): events, then their intents; ``claimed_rows`` reads them.

Of a full batch, events that failed before get no more than half as long as there are others:
however many there are, and they are the oldest, what was never tried does not wait behind them.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg import sql

from adapters.postgres.arrays import Integers, Uuids
from adapters.postgres.claimed_rows import IS_DUE, IS_HEAD, Held
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.untried_search import FRONT, UntriedSearch

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
      AND e.created_at >= %(from_time)s::timestamptz - interval '1 second'
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
""").format(is_due=IS_DUE, is_head=IS_HEAD)

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

_LOCK_EVENTS_AGAIN: Final = """
    SELECT e.id FROM pm.outbox_event e
    WHERE e.id = ANY(%(events)b::integer[])
    ORDER BY e.id
    FOR UPDATE SKIP LOCKED
"""

_LAST_PENDING: Final = """
    SELECT COALESCE(max(e.created_at), '-infinity')::text
    FROM pm.outbox_event e
    WHERE e.status = 'pending'
"""

# The index gives the order up to events of the same time. A planner that thinks there are few
# pending events would still rather read all of them, judge each, and sort at the end. (Sorts
# that must be then look so dear that they would be compiled, for longer than they take.)
KEEP_INDEX_ORDER: Final = (
    "SELECT set_config('enable_sort', 'off', true), set_config('jit', 'off', true)"
)


PAGES_MAX: Final = 8
"""How often a claim looks further behind events whose intents somebody else holds."""


@dataclass(frozen=True, slots=True)
class _Event:
    """A row of ``LOCK_EVENTS``. Time is text, for it may be infinite."""

    id: int
    intent_id: UUID
    created_at: str
    was_tried: bool
    is_orphan: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    locked: list[_Event]
    usable: list[_Event]
    """Those whose intent and retry row, if there are any, were locked as well."""
    is_last: bool


def lock_due(connection: BoundedConnection, *, limit: int, search: UntriedSearch) -> Held:
    """Lock at most *limit* due events whose intent could be locked too, or does not exist.

    Events whose intents somebody else holds are let go again, and it looks further behind
    them, within bounds: what lies behind must not wait. It stops with half a batch, so as not
    to crawl through a stretch where every second intent is held.
    """
    connection.execute(KEEP_INDEX_ORDER)
    held: list[_Event] = []
    end: _Event | None = None
    for _ in range(PAGES_MAX):
        page = _lock_page(connection, limit=limit - len(held), after=end)
        held += page.usable
        if len(page.usable) < len(page.locked):
            held = _hold_only(connection, held)
        if page.is_last:
            break
        end = page.locked[-1]
        if len(held) > limit // 2:
            held = _make_room(connection, held, limit=limit, after=end, search=search)
            break
    return Held(
        events=tuple(event.id for event in held),
        intents=tuple(event.intent_id for event in held if not event.is_orphan),
    )


def _make_room(
    connection: BoundedConnection,
    held: list[_Event],
    *,
    limit: int,
    after: _Event,
    search: UntriedSearch,
) -> list[_Event]:
    """Replace what is too much of tried events by untried ones, as far as there are any."""
    surplus = [event for event in held if event.was_tried][max(1, limit // 2) :]
    if not surplus:
        return held
    places = limit - len(held) + len(surplus)
    page = _lock_page(connection, limit=places, after=after, untried_from=search.begin())
    # Not behind what it found: this transaction may yet be rolled back.
    found = page.usable[:1] or page.locked[-1:]
    search.found_nothing_before(found[0].created_at if found else _last_pending(connection))
    untried = page.usable
    # There are more of them than could be had now: then the batch is rather not full.
    too_many = max(0, len(held) + len(untried) - limit) if page.is_last else len(surplus)
    dropped = {event.id for event in surplus[len(surplus) - too_many :]}
    kept = [event for event in held if event.id not in dropped] + untried
    if dropped or len(untried) < len(page.locked):
        kept = _hold_only(connection, kept)
    return kept


def _lock_page(
    connection: BoundedConnection,
    *,
    limit: int,
    after: _Event | None,
    untried_from: str | None = None,
) -> _Page:
    """Lock the next *limit* due events behind *after*; only untried ones from a time on."""
    rows = connection.execute(
        LOCK_EVENTS,
        {
            "after_time": FRONT if after is None else after.created_at,
            "after_id": 0 if after is None else after.id,
            "only_untried": untried_from is not None,
            "from_time": untried_from or FRONT,
            "limit": limit,
        },
    ).fetchall()
    locked = [_Event(*row) for row in rows]
    return _Page(locked=locked, usable=_usable(connection, locked), is_last=len(rows) < limit)


def _usable(connection: BoundedConnection, events: list[_Event]) -> list[_Event]:
    """Lock what belongs to *events*; return those of which nobody else holds anything."""
    intents = _lock_intents(connection, [one.intent_id for one in events if not one.is_orphan])
    in_use = _retries_in_use(connection, [one.id for one in events if one.was_tried])
    return [
        one
        for one in events
        if (one.is_orphan or one.intent_id in intents) and one.id not in in_use
    ]


def _lock_intents(connection: BoundedConnection, intents: list[UUID]) -> set[UUID]:
    if not intents:
        return set()
    return {row[0] for row in connection.execute(_LOCK_INTENTS, {"intents": Uuids(intents)})}


def _retries_in_use(connection: BoundedConnection, events: list[int]) -> set[int]:
    """Lock the retry rows of *events*; return the events whose row somebody else holds."""
    if not events:
        return set()
    rows = connection.execute(_LOCK_RETRIES, {"events": Integers(events)}).fetchall()
    return {event for event, is_locked in rows if not is_locked}


def _hold_only(connection: BoundedConnection, events: list[_Event]) -> list[_Event]:
    """Let go of all locks but those of *events*. Nothing has been written yet.

    Whoever took one of them in the meantime may have it; returns the others.
    """
    connection.rollback()
    connection.begin()
    connection.execute(KEEP_INDEX_ORDER)
    ids = [event.id for event in events]
    rows = connection.execute(_LOCK_EVENTS_AGAIN, {"events": Integers(ids)}).fetchall()
    locked = {event_id for (event_id,) in rows}
    return _usable(connection, [event for event in events if event.id in locked])


def _last_pending(connection: BoundedConnection) -> str:
    ((created_at,),) = connection.execute(_LAST_PENDING).fetchall()
    return str(created_at)
