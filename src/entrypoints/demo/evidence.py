"""Gather from Postgres, the ledger and the stream what the invariants are checked on."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg

from application.ports.ledger import Ledger
from domain.conclusions import LineKind, RecordedLine
from domain.intents import Intent, IntentId, IntentStatus
from domain.invariants import EventEvidence, IntentEvidence
from domain.ledger_requests import ResolutionSearch
from domain.notifications import notifications_for
from domain.requeueing import REQUEUE
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How long settling took, from the event's insertion on, in ms; and how many a second."""

    p50_ms: int
    p99_ms: int
    events_per_s: int


def gather(
    connection: psycopg.Connection,
    ledger: Ledger,
    intents: Mapping[IntentId, Intent],
    *,
    job_ids: Iterable[UUID],
    fee_code: int,
    fee_account: AccountId,
) -> list[IntentEvidence]:
    """Return the evidence on *intents*, all of which are at rest."""
    rows = _Rows.read(connection)
    pendings = ledger.lookup(
        [TransferId(id_.int) for one in intents.values() for id_ in one.tb_transfer_ids if id_]
    )
    searches = [
        ResolutionSearch(
            intent_id=intent.id,
            pendings=_pendings_of(intent, pendings),
            fee_code=fee_code,
            fee_credit_account_id=fee_account,
        )
        for intent in intents.values()
    ]
    found = [ledger.find_resolutions(search).transfers for search in searches]
    seen: dict[IntentId, list[UUID]] = defaultdict(list)
    intent_of_job = _intents_by_job(intents.values())
    for job_id in job_ids:
        seen[intent_of_job[job_id]].append(job_id)
    return [
        IntentEvidence(
            intent_id=intent.id,
            status=rows.statuses[intent.id],
            reviewed_from=rows.reviewed_from.get(intent.id),
            events=tuple(rows.events[intent.id]),
            pendings=search.pendings,
            resolvers=tuple(one for one in related if one.pending_id),
            fees=tuple(one for one in related if not one.pending_id and one.code == fee_code),
            lines=tuple(rows.lines[intent.id]),
            final_audits=rows.final_audits[intent.id],
            jobs_expected=_jobs_expected(intent, rows),
            jobs_seen=tuple(seen[intent.id]),
        )
        for intent, search, related in zip(intents.values(), searches, found, strict=True)
    ]


def measure_delays(connection: psycopg.Connection) -> Delays:
    """Measure over all processed events, by the database's clock."""
    rows = connection.execute(
        "SELECT coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY delay_ms), 0),"
        "       coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY delay_ms), 0),"
        "       coalesce(count(*) * 1000 / greatest(max(total_ms), 1), 0)"
        " FROM (SELECT (extract(epoch FROM processed_at - created_at) * 1000)::bigint AS delay_ms,"
        "              (extract(epoch FROM max(processed_at) OVER () - min(created_at) OVER ())"
        "               * 1000)::bigint AS total_ms"
        "       FROM pm.outbox_event WHERE status = 'processed') AS processed"
    ).fetchall()
    [(p50_ms, p99_ms, events_per_s)] = rows
    return Delays(p50_ms=p50_ms, p99_ms=p99_ms, events_per_s=events_per_s)


def longest_wait_ms(connection: psycopg.Connection, *, after_id: int, before_id: int) -> int:
    """Return the longest delay of the processed events between two event ids; 0 without any."""
    rows = connection.execute(
        "SELECT coalesce(max(extract(epoch FROM processed_at - created_at) * 1000), 0)::bigint"
        " FROM pm.outbox_event WHERE status = 'processed' AND id > %s AND id <= %s",
        [after_id, before_id],
    ).fetchall()
    return int(rows[0][0])


@dataclass(frozen=True, slots=True)
class _Rows:
    statuses: Mapping[IntentId, str]
    events: Mapping[IntentId, Sequence[EventEvidence]]
    lines: Mapping[IntentId, Sequence[RecordedLine]]
    final_audits: Mapping[IntentId, int]
    reviewed_from: Mapping[IntentId, str]

    @classmethod
    def read(cls, connection: psycopg.Connection) -> "_Rows":
        with connection.transaction():
            statuses: dict[IntentId, str] = dict(
                connection.execute("SELECT id, status FROM pm.intent").fetchall()
            )
            events: dict[IntentId, list[EventEvidence]] = defaultdict(list)
            for intent_id, action, status in connection.execute(
                "SELECT intent_id, action, status FROM pm.outbox_event ORDER BY created_at, id"
            ):
                events[intent_id].append(EventEvidence(action=action, status=status))
            lines: dict[IntentId, list[RecordedLine]] = defaultdict(list)
            for intent_id, line_no, kind, account, amount_satang in connection.execute(
                "SELECT intent_id, line_no, kind, account, amount_satang"
                " FROM pm.tx_history ORDER BY intent_id, line_no"
            ):
                lines[intent_id].append(
                    RecordedLine(
                        line_no=line_no,
                        kind=LineKind(kind),
                        account=account,
                        amount_satang=amount_satang,
                    )
                )
            audits = defaultdict[IntentId, int](int) | dict(
                connection.execute(
                    "SELECT intent_id, count(*) FROM pm.intent_event"
                    " WHERE status_to IN ('SETTLED', 'FAILED')"
                    "   AND status_from IS DISTINCT FROM status_to"
                    "   AND reason IS DISTINCT FROM %s GROUP BY intent_id",
                    [REQUEUE],
                ).fetchall()
            )
            reviewed_from: dict[IntentId, str] = dict(
                connection.execute(
                    "SELECT intent_id, status_from FROM pm.intent_event"
                    " WHERE status_to = 'MANUAL_REVIEW' ORDER BY id"
                ).fetchall()
            )
        return cls(statuses, events, lines, audits, reviewed_from)


def _pendings_of(intent: Intent, pendings: Mapping[TransferId, Transfer]) -> tuple[Transfer, ...]:
    ids = dict.fromkeys(TransferId(id_.int) for id_ in intent.tb_transfer_ids if id_ is not None)
    found = [pendings[id_] for id_ in ids if id_ in pendings]
    return tuple(one for one in found if TransferFlags.PENDING in one.flags)


def _jobs_expected(intent: Intent, rows: _Rows) -> tuple[UUID, ...]:
    """Return the jobs that follow from each final status that the intent has or had."""
    return tuple(
        job.notification_id
        for status in (IntentStatus.SETTLED, IntentStatus.FAILED)
        if status in (rows.statuses[intent.id], rows.reviewed_from.get(intent.id))
        for job in notifications_for(intent, status)
    )


def _intents_by_job(intents: Iterable[Intent]) -> dict[UUID, IntentId]:
    return {
        job.notification_id: intent.id
        for intent in intents
        for status in (IntentStatus.SETTLED, IntentStatus.FAILED)
        for job in notifications_for(intent, status)
    }
