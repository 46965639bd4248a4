"""All rows of one intent, each table by the columns that every PM schema has.

What is only shown is read by way of JSON, where a column that is missing is NULL.
"""

from typing import Any, Final

from psycopg import sql

from adapters.postgres.claimed_rows import intent_of_row
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.event_archive import ALL_EVENTS
from adapters.postgres.listing import NOT_COMPILED, listed, listed_event, utc
from domain.conclusions import PushJob
from domain.dossier import (
    AuditRecord,
    Dossier,
    EventSheet,
    HistoryRecord,
    IntentSheet,
    PspSheet,
)
from domain.intents import IntentId, UserId

ROWS_MAX: Final = 1_000
"""Rows of each kind; an intent has a handful."""

_INTENT: Final = sql.SQL("""
    SELECT COALESCE(i.status, ''), i.operation_type, i.amount_satang, i.currency, i.user_id,
           i.issued_by_user_id, i.metadata::text, ARRAY(SELECT unnest(i.tb_transfer_ids)),
           i.to_name, i.settlement_date::text, i.failure_reason, {updated_at},
           j.channel, {created_at}
    FROM pm.intent i
    CROSS JOIN jsonb_to_record(to_jsonb(i)) AS j (channel text, created_at timestamptz)
    WHERE i.id = %(intent)s
""").format(updated_at=utc("i", "updated_at"), created_at=utc("j", "created_at"))

_EVENTS: Final = listed(
    where=sql.SQL("e.intent_id = %(intent)s"),
    order=sql.SQL("e.created_at, e.id"),
    more=sql.SQL(", e.payload::text, {}, {}").format(
        utc("e", "processed_at"), utc("e", "archived_at")
    ),
    events=ALL_EVENTS,
)

_PSP: Final = """
    SELECT m.psp, m.receiver_display_name, m.psp_fee_satang, m.settlement_date::text, m.last_error,
           j.state, j.psp_reference
    FROM pm.psp_tx_map m
    CROSS JOIN jsonb_to_record(to_jsonb(m)) AS j (state text, psp_reference text)
    WHERE m.intent_id = %(intent)s
    ORDER BY m.settlement_date, m.psp
    LIMIT %(limit)s
"""

_HISTORY: Final = """
    SELECT h.line_no, h.kind, h.account, h.amount_satang, h.currency, h.fee_kind
    FROM pm.tx_history h
    WHERE h.intent_id = %(intent)s
    ORDER BY h.created_at, h.line_no
    LIMIT %(limit)s
"""

_AUDIT: Final = sql.SQL("""
    SELECT {created_at}, a.status_from, a.status_to, a.reason, a.payload::text
    FROM pm.intent_event a
    WHERE a.intent_id = %(intent)s
    ORDER BY a.created_at
    LIMIT %(limit)s
""").format(created_at=utc("a", "created_at"))

_JOBS: Final = """
    SELECT n.notification_id, n.intent_id, n.user_id, n.job::text
    FROM pm.notification_outbox n
    WHERE n.intent_id = %(intent)s
    ORDER BY n.id
    LIMIT %(limit)s
"""


def read_dossier(connection: BoundedConnection, intent_id: IntentId) -> Dossier | None:
    """See ``OutboxReader.dossier``; what is read is of one moment if the transaction is."""
    connection.execute(NOT_COMPILED)

    def rows(query: str | sql.Composed) -> list[tuple[Any, ...]]:
        parameters = {"intent": intent_id, "limit": ROWS_MAX}
        return connection.execute(query, parameters).fetchall()

    intents, events = rows(_INTENT), rows(_EVENTS)
    if not (intents or events):
        return None
    return Dossier(
        intent_id=intent_id,
        intent=_intent_sheet(intent_id, intents[0]) if intents else None,
        events=tuple(
            EventSheet(
                event=listed_event(row),
                payload_json=row[-3],
                processed_at=row[-2],
                archived_at=row[-1],
            )
            for row in events
        ),
        psp=tuple(
            PspSheet(
                psp=psp,
                receiver_display_name=name,
                psp_fee_satang=fee_satang,
                settlement_date=settlement_date,
                last_error=last_error,
                state=state,
                psp_reference=reference,
            )
            for psp, name, fee_satang, settlement_date, last_error, state, reference in rows(_PSP)
        ),
        history=tuple(
            HistoryRecord(
                line_no=line_no,
                kind=kind,
                account=account,
                amount_satang=amount_satang,
                currency=currency,
                fee_kind=fee_kind,
            )
            for line_no, kind, account, amount_satang, currency, fee_kind in rows(_HISTORY)
        ),
        audit=tuple(
            AuditRecord(
                created_at=created_at,
                status_from=status_from,
                status_to=status_to,
                reason=reason,
                payload_json=payload,
            )
            for created_at, status_from, status_to, reason, payload in rows(_AUDIT)
        ),
        jobs=tuple(
            PushJob(
                notification_id=notification_id,
                intent_id=IntentId(job_intent_id),
                user_id=UserId(user_id),
                job_json=job,
            )
            for notification_id, job_intent_id, user_id, job in rows(_JOBS)
        ),
    )


def _intent_sheet(intent_id: IntentId, row: tuple[Any, ...]) -> IntentSheet:
    to_name, settlement_date, failure_reason, updated_at, channel, created_at = row[8:]
    return IntentSheet(
        intent=intent_of_row(intent_id, *row[:8]),
        channel=channel,
        to_name=to_name,
        settlement_date=settlement_date,
        failure_reason=failure_reason,
        created_at=created_at,
        updated_at=updated_at,
    )
