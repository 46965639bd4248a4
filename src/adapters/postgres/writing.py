"""The SQL that writes what became of events: one statement for each kind of conclusion.

Each takes its rows as arrays. Whatever follows from a change is fed by the rows that the change
*returned*, so that a row which was not as expected brings no effect with it (DESIGN §6).

The arrays are sent in binary form (``%(…)b``), by dumpers of our own (``arrays``): as text, the
driver quotes them so slowly that it took ten times as long.

Rows are found by their ids (``= ANY``), whatever the statistics say. ``CASE WHEN … THEN true END``
hides the rest of a condition from the planner. By an index on the status it would walk over the
whole backlog, once for each row; and of ``IN (SELECT …)`` it would make a join, which, with few
rows expected, compares each with each. As it stands, the few ids are hashed once.
"""

from collections.abc import Sequence
from typing import Final, LiteralString

from adapters.postgres.arrays import BigIntegers, Integers, Texts, Uuids
from adapters.postgres.connection import BoundedConnection
from application.errors import RowsRefusedError
from domain.conclusions import Acknowledge, Retry, Review, Settle, StatusMessage
from domain.intents import EventId

_SETTLE: Final = """
    WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at),
    wanted AS MATERIALIZED (
        SELECT * FROM unnest(
            %(event_ids)b::integer[], %(intent_ids)b::uuid[], %(statuses)b::text[],
            %(to_names)b::text[], %(settlement_dates)b::text[], %(failure_reasons)b::text[],
            %(audit_from)b::text[], %(audit_to)b::text[], %(audit_reasons)b::text[],
            %(audit_payloads)b::text[]
        ) AS w (
            event_id, intent_id, status,
            to_name, settlement_date, failure_reason,
            audit_from, audit_to, audit_reason,
            audit_payload
        )
    ),
    settled AS (
        UPDATE pm.intent i
        SET status = w.status,
            to_name = COALESCE(w.to_name, i.to_name),
            settlement_date = COALESCE(w.settlement_date::date, i.settlement_date),
            failure_reason = COALESCE(w.failure_reason, i.failure_reason),
            updated_at = (SELECT at FROM moment)
        FROM wanted w
        WHERE i.id = w.intent_id
          AND i.id = ANY(%(intent_ids)b::uuid[])
          AND CASE WHEN i.status IN ('AUTHORIZED', 'SETTLING') THEN true END
        RETURNING w.event_id, i.updated_at, i.status = w.status AS took
    ),
    finished AS (
        UPDATE pm.outbox_event e
        SET status = 'processed', processed_at = (SELECT at FROM moment)
        WHERE e.id = ANY(%(event_ids)b::integer[])
          AND CASE WHEN e.id IN (SELECT event_id FROM settled) THEN e.status = 'pending' END
        RETURNING e.id, e.status = 'processed' AS took
    ),
    forgotten AS (
        DELETE FROM pm.outbox_retry r
        WHERE r.event_id = ANY(%(event_ids)b::integer[])
          AND CASE WHEN r.event_id IN (SELECT event_id FROM settled) THEN true END
    ),
    history AS (
        INSERT INTO pm.tx_history
            (intent_id, line_no, kind, fee_kind, account, amount_satang, currency, created_at)
        SELECT l.intent_id, l.line_no, l.kind, l.fee_kind, l.account, l.amount_satang,
               l.currency, (SELECT at FROM moment)
        FROM unnest(
            %(line_events)b::integer[], %(line_intents)b::uuid[], %(line_nos)b::integer[],
            %(line_kinds)b::text[], %(line_fee_kinds)b::text[], %(line_accounts)b::text[],
            %(line_amounts)b::bigint[], %(line_currencies)b::text[]
        ) WITH ORDINALITY AS l (
            event_id, intent_id, line_no,
            kind, fee_kind, account,
            amount_satang, currency, position
        )
        WHERE CASE WHEN l.event_id IN (SELECT event_id FROM settled) THEN true END
        ORDER BY l.position
    ),
    audited AS (
        INSERT INTO pm.intent_event
            (intent_id, status_from, status_to, reason, payload, created_at)
        SELECT w.intent_id, w.audit_from, w.audit_to, w.audit_reason, w.audit_payload::jsonb,
               (SELECT at FROM moment)
        FROM wanted w
        WHERE CASE WHEN w.event_id IN (SELECT event_id FROM settled) THEN true END
    ),
    queued AS (
        INSERT INTO pm.notification_outbox
            (notification_id, intent_id, user_id, job, created_at)
        SELECT j.notification_id, j.intent_id, j.user_id, j.job::json, (SELECT at FROM moment)
        FROM unnest(
            %(job_events)b::integer[], %(job_intents)b::uuid[], %(job_ids)b::uuid[],
            %(job_users)b::uuid[], %(jobs)b::text[]
        ) WITH ORDINALITY AS j (event_id, intent_id, notification_id, user_id, job, position)
        WHERE CASE WHEN j.event_id IN (SELECT event_id FROM settled) THEN true END
        ORDER BY j.position
        -- The same id is the same message, and it is waiting already.
        ON CONFLICT (notification_id) DO NOTHING
    )
    SELECT event_id, updated_at,
           took AND CASE WHEN event_id IN (SELECT id FROM finished WHERE took) THEN true
                         ELSE false END
    FROM settled
"""

_ACKNOWLEDGE: Final = """
    WITH finished AS (
        UPDATE pm.outbox_event e
        SET status = 'processed', processed_at = clock_timestamp()
        WHERE e.id = ANY(%(event_ids)b::integer[]) AND CASE WHEN e.status = 'pending' THEN true END
        RETURNING e.id, e.status = 'processed' AS took
    ),
    forgotten AS (
        DELETE FROM pm.outbox_retry r
        WHERE r.event_id = ANY(%(event_ids)b::integer[])
          AND CASE WHEN r.event_id IN (SELECT id FROM finished) THEN true END
    )
    SELECT id FROM finished WHERE took
"""

_RETRY: Final = """
    WITH failed AS (
        UPDATE pm.outbox_event e
        -- People write into this column. 0 would end the backoff; beyond an integer is an error.
        SET retry_count = LEAST(GREATEST(e.retry_count, 0), 2147483646) + 1
        WHERE e.id = ANY(%(event_ids)b::integer[]) AND CASE WHEN e.status = 'pending' THEN true END
        RETURNING e.id AS event_id
    )
    INSERT INTO pm.outbox_retry AS r
        (event_id, intent_id, attempts, reason, last_error, generations,
         next_attempt_at, first_failed_at, updated_at)
    SELECT w.event_id, w.intent_id, w.attempts, w.reason, w.last_error, w.generations::integer[],
           clock_timestamp() + w.delay_ms * interval '1 millisecond',
           clock_timestamp(), clock_timestamp()
    FROM unnest(
        %(event_ids)b::integer[], %(intent_ids)b::uuid[], %(attempts)b::integer[],
        %(reasons)b::text[], %(last_errors)b::text[], %(generations)b::text[],
        %(delays_ms)b::bigint[]
    ) AS w (event_id, intent_id, attempts, reason, last_error, generations, delay_ms)
    WHERE CASE WHEN w.event_id IN (SELECT event_id FROM failed) THEN true END
    ON CONFLICT (event_id) DO UPDATE
    SET attempts = EXCLUDED.attempts,
        reason = EXCLUDED.reason,
        last_error = EXCLUDED.last_error,
        generations = EXCLUDED.generations,
        next_attempt_at = EXCLUDED.next_attempt_at,
        updated_at = EXCLUDED.updated_at
    RETURNING r.event_id
"""

# The retry row stays beside a failed event: it tells the operator why.
_REVIEW: Final = """
    WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at),
    wanted AS MATERIALIZED (
        SELECT * FROM unnest(
            %(event_ids)b::integer[], %(intent_ids)b::uuid[], %(reasons)b::text[],
            %(last_errors)b::text[], %(audit_from)b::text[], %(audit_to)b::text[],
            %(audit_reasons)b::text[], %(audit_payloads)b::text[]
        ) AS w (
            event_id, intent_id, reason,
            last_error, audit_from, audit_to,
            audit_reason, audit_payload
        )
    ),
    failed AS (
        UPDATE pm.outbox_event e
        SET status = 'failed', retry_count = LEAST(e.retry_count, 2147483646) + 1
        WHERE e.id = ANY(%(event_ids)b::integer[]) AND CASE WHEN e.status = 'pending' THEN true END
        RETURNING e.id AS event_id, e.status = 'failed' AS took
    ),
    explained AS (
        INSERT INTO pm.outbox_retry AS r
            (event_id, intent_id, attempts, reason, last_error,
             next_attempt_at, first_failed_at, updated_at)
        SELECT w.event_id, w.intent_id, 1, w.reason, w.last_error,
               m.at, m.at, m.at
        FROM wanted w, moment m
        WHERE CASE WHEN w.event_id IN (SELECT event_id FROM failed) THEN true END
        ON CONFLICT (event_id) DO UPDATE
        SET attempts = r.attempts + 1,
            reason = EXCLUDED.reason,
            last_error = EXCLUDED.last_error,
            updated_at = EXCLUDED.updated_at
    ),
    stopped AS (
        UPDATE pm.intent i
        SET status = w.audit_to, updated_at = (SELECT at FROM moment)
        FROM wanted w
        WHERE i.id = w.intent_id
          AND i.id = ANY(%(intent_ids)b::uuid[])
          AND w.audit_to IS NOT NULL
          AND CASE WHEN w.event_id IN (SELECT event_id FROM failed) THEN true END
          AND CASE WHEN i.status IS DISTINCT FROM 'MANUAL_REVIEW' THEN true END
        RETURNING w.event_id, i.status = w.audit_to AS took
    ),
    audited AS (
        INSERT INTO pm.intent_event
            (intent_id, status_from, status_to, reason, payload, created_at)
        SELECT w.intent_id, w.audit_from, w.audit_to, w.audit_reason, w.audit_payload::jsonb,
               (SELECT at FROM moment)
        FROM wanted w
        WHERE CASE WHEN w.event_id IN (SELECT event_id FROM stopped) THEN true END
    )
    SELECT w.event_id
    FROM wanted w
    WHERE CASE WHEN w.event_id IN (SELECT event_id FROM failed WHERE took) THEN
        CASE WHEN w.audit_to IS NULL THEN true
            WHEN w.event_id IN (SELECT event_id FROM stopped) THEN
                w.event_id IN (SELECT event_id FROM stopped WHERE took)
            -- As it was before this statement.
            ELSE (SELECT i.status FROM pm.intent i WHERE i.id = w.intent_id) = 'MANUAL_REVIEW'
        END
    END
"""

Parameters = dict[str, Texts | Integers | BigIntegers | Uuids]


def settle(connection: BoundedConnection, settles: Sequence[Settle]) -> list[StatusMessage]:
    """Make intents final, with all that follows; a message for each that took it, in order.

    Of the others, the intent or its event did not take the update.
    """
    rows = connection.execute(_SETTLE, _settle_parameters(settles)).fetchall()
    moments = {event_id: updated_at for event_id, updated_at, took in rows if took}
    return [
        StatusMessage(intent_id=one.intent_id, status=one.status, updated_at=moments[one.event_id])
        for one in settles
        if one.event_id in moments
    ]


def acknowledge(connection: BoundedConnection, acknowledges: Sequence[Acknowledge]) -> set[EventId]:
    """Finish events whose intents were final already; return those that took it."""
    return _event_ids(
        connection, _ACKNOWLEDGE, {"event_ids": Integers([one.event_id for one in acknowledges])}
    )


def retry(connection: BoundedConnection, retries: Sequence[Retry]) -> set[EventId]:
    """Count a failure of events and let them wait; return those that took it."""
    parameters: Parameters = {
        "event_ids": Integers([one.event_id for one in retries]),
        "intent_ids": Uuids([one.intent_id for one in retries]),
        "attempts": Integers([one.attempts for one in retries]),
        "reasons": Texts([str(one.reason) for one in retries]),
        "last_errors": Texts([one.last_error for one in retries]),
        # As array literals: unnest would flatten arrays of arrays.
        "generations": Texts([f"{{{','.join(map(str, one.generations))}}}" for one in retries]),
        "delays_ms": BigIntegers([one.delay_ms for one in retries]),
    }
    return _event_ids(connection, _RETRY, parameters)


def review(connection: BoundedConnection, reviews: Sequence[Review]) -> set[EventId]:
    """Give up on events, and hand their intents to a person.

    Return the events of which that is so now; of the others, the event or its intent did not
    take the update.
    """
    audits = [one.audit for one in reviews]
    parameters: Parameters = {
        "event_ids": Integers([one.event_id for one in reviews]),
        "intent_ids": Uuids([one.intent_id for one in reviews]),
        "reasons": Texts([str(one.reason) for one in reviews]),
        "last_errors": Texts([one.last_error for one in reviews]),
        "audit_from": Texts([audit.status_from if audit else None for audit in audits]),
        "audit_to": Texts([audit.status_to if audit else None for audit in audits]),
        "audit_reasons": Texts([audit.reason if audit else None for audit in audits]),
        "audit_payloads": Texts([audit.payload_json if audit else None for audit in audits]),
    }
    return _event_ids(connection, _REVIEW, parameters)


def _event_ids(
    connection: BoundedConnection, query: LiteralString, parameters: Parameters
) -> set[EventId]:
    rows = connection.execute(query, parameters).fetchall()
    return {EventId(event_id) for (event_id,) in rows}


def require_all(took: int, wanted: int) -> None:
    """Raise where a trigger of PM's kept or changed a row: half of a conclusion is worse than none.

    An event would be over whose intent is not, and its frozen money out of sight.
    """
    if took < wanted:
        raise RowsRefusedError("the event or its intent did not take the update")


def _settle_parameters(settles: Sequence[Settle]) -> Parameters:
    lines = [(settle, line) for settle in settles for line in settle.history]
    jobs = [(settle, job) for settle in settles for job in settle.jobs]
    return {
        "event_ids": Integers([one.event_id for one in settles]),
        "intent_ids": Uuids([one.intent_id for one in settles]),
        "statuses": Texts([str(one.status) for one in settles]),
        "to_names": Texts([one.to_name for one in settles]),
        "settlement_dates": Texts([one.settlement_date for one in settles]),
        "failure_reasons": Texts([one.failure_reason for one in settles]),
        "audit_from": Texts([one.audit.status_from for one in settles]),
        "audit_to": Texts([str(one.audit.status_to) for one in settles]),
        "audit_reasons": Texts([one.audit.reason for one in settles]),
        "audit_payloads": Texts([one.audit.payload_json for one in settles]),
        "line_events": Integers([settle.event_id for settle, _ in lines]),
        "line_intents": Uuids([settle.intent_id for settle, _ in lines]),
        "line_nos": Integers([line.line_no for _, line in lines]),
        "line_kinds": Texts([str(line.kind) for _, line in lines]),
        "line_fee_kinds": Texts([line.fee_kind for _, line in lines]),
        "line_accounts": Texts([line.account for _, line in lines]),
        "line_amounts": BigIntegers([line.amount_satang for _, line in lines]),
        "line_currencies": Texts([settle.currency for settle, _ in lines]),
        "job_events": Integers([settle.event_id for settle, _ in jobs]),
        "job_intents": Uuids([settle.intent_id for settle, _ in jobs]),
        "job_ids": Uuids([job.notification_id for _, job in jobs]),
        "job_users": Uuids([job.user_id for _, job in jobs]),
        "jobs": Texts([job.job_json for _, job in jobs]),
    }
