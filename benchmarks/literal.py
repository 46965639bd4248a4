"""The sources' worker, as they describe it: one event after the other, no tick in between.

For each event it reads, asks the ledger, writes, audits, publishes and pushes by calls of its
own. What the rows say is worked out by our domain, so that both must end in equal rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
from redis import Redis

from application.ports.ledger import Ledger
from domain.chains import close_chain
from domain.concluding import Rules, conclude
from domain.conclusions import Settle
from domain.fees import AccountCode, MappedAccount
from domain.intents import (
    ClaimedEvent,
    EventId,
    Intent,
    IntentId,
    OutboxEvent,
    PspRecord,
    UserId,
)
from domain.ledger_requests import ChainAnswer, ChainRefused
from domain.planning import judge_event, plan
from domain.resolution import Order
from domain.transfer_builders import build_fee_transfer, build_resolving_transfer
from domain.transfer_status import TransferStatus
from domain.transfers import AccountId, Transfer, TransferId
from domain.verdicts import Done, ManualReview
from entrypoints.settings import NOTIFICATIONS_STREAM

BATCH_SIZE: Final = 10
STATEMENTS_PER_BATCH: Final = 1
STATEMENTS_PER_EVENT: Final = 9

FINE: Final = frozenset(
    {
        TransferStatus.CREATED,
        TransferStatus.PENDING_TRANSFER_ALREADY_POSTED,
        TransferStatus.PENDING_TRANSFER_ALREADY_VOIDED,
    }
)
"""All that the sources take for success."""

_TAKE: Final = (
    "SELECT id, intent_id, action, payload::text, retry_count FROM pm.outbox_event"
    " WHERE status = 'pending' ORDER BY created_at LIMIT %s"
)
_READ_INTENT: Final = (
    "SELECT status, operation_type, amount_satang, currency, user_id, issued_by_user_id,"
    " metadata::text, tb_transfer_ids FROM pm.intent WHERE id = %s"
)
_READ_PSP: Final = (
    "SELECT psp, receiver_display_name, psp_fee_satang, settlement_date::text, last_error"
    " FROM pm.psp_tx_map WHERE intent_id = %s"
)
_READ_ACCOUNTS: Final = (
    "SELECT code, tb_account_id, ledger FROM pm.tb_account_map"
    " WHERE code IN ('revenue.THB', 'nostro.ipps.THB')"
)
_UPDATE_INTENT: Final = (
    "UPDATE pm.intent SET status = %s, to_name = coalesce(%s, to_name),"
    " settlement_date = coalesce(%s::date, settlement_date), failure_reason = %s,"
    " updated_at = now() WHERE id = %s"
)
_INSERT_LINES: Final = (
    "INSERT INTO pm.tx_history"
    " (intent_id, line_no, kind, fee_kind, account, amount_satang, currency) VALUES "
)
_A_LINE: Final = "(%s, %s, %s, %s, %s, %s, %s)"
_FINISH: Final = (
    "UPDATE pm.outbox_event SET status = 'processed', processed_at = now() WHERE id = %s"
)
_INSERT_AUDIT: Final = (
    "INSERT INTO pm.intent_event (intent_id, status_from, status_to, reason, payload)"
    " VALUES (%s, %s, %s, %s, %s::jsonb)"
)
_COUNT_FAILURE: Final = "UPDATE pm.outbox_event SET retry_count = retry_count + 1 WHERE id = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralWorker:
    """``processOutboxBatch`` of the sources; *connection* is in autocommit mode."""

    connection: psycopg.Connection
    redis: Redis
    ledger: Ledger
    rules: Rules
    field: str

    def __call__(self) -> int:
        """Process up to ten events; return how many were there."""
        events = self.connection.execute(_TAKE, [BATCH_SIZE]).fetchall()
        for event in events:
            self._process(event)
        return len(events)

    def _process(self, row: tuple[Any, ...]) -> None:
        claimed = self._read(row)
        task = judge_event(claimed)
        if isinstance(task, ManualReview):
            self._count_failure(claimed)
            return
        order = plan(claimed, task, rule=self.rules.fee, accounts=self._accounts())
        if not isinstance(order, Order) or not self._has_moved(order):
            self._count_failure(claimed)
            return
        done = Done(order.fee.amount_satang if order.fee is not None else None)
        settle = conclude(claimed, task, done, self.rules)
        if isinstance(settle, Settle):
            self._write(settle)
            self._announce(settle)

    def _read(self, row: tuple[Any, ...]) -> ClaimedEvent:
        event_id, intent_id, action, payload, retry_count = row
        [intent] = self.connection.execute(_READ_INTENT, [intent_id]).fetchall()
        [psp] = self.connection.execute(_READ_PSP, [intent_id]).fetchall()
        return ClaimedEvent(
            event=OutboxEvent(
                id=EventId(event_id),
                intent_id=IntentId(intent_id),
                action=action,
                payload_json=payload,
                retry_count=retry_count,
            ),
            intent=_intent(intent_id, intent),
            psp=PspRecord(
                psp=psp[0],
                receiver_display_name=psp[1],
                psp_fee_satang=psp[2],
                settlement_date=psp[3],
                last_error=psp[4],
            ),
            retry=None,
        )

    def _accounts(self) -> dict[AccountCode, MappedAccount]:
        rows = self.connection.execute(_READ_ACCOUNTS).fetchall()
        return {
            code: MappedAccount(account_id=AccountId(account_id.int), ledger=ledger)
            for code, account_id, ledger in rows
        }

    def _has_moved(self, order: Order) -> bool:
        """Send the chain, and the fee beside it, in one request of its own."""
        answers = self.ledger.create_chains(_chains(order))
        return all(_is_fine(answer) for answer in answers)

    def _write(self, settle: Settle) -> None:
        lines = [
            (
                settle.intent_id, line.line_no, str(line.kind), line.fee_kind, line.account,
                line.amount_satang, settle.currency,
            )
            for line in settle.history
        ]  # fmt: skip
        insert_lines = _INSERT_LINES + ", ".join([_A_LINE] * len(lines))
        with self.connection.transaction():
            self.connection.execute(
                _UPDATE_INTENT,
                [
                    str(settle.status), settle.to_name, settle.settlement_date,
                    settle.failure_reason, settle.intent_id,
                ],
            )  # fmt: skip
            self.connection.execute(
                insert_lines.encode(), [value for line in lines for value in line]
            )
            self.connection.execute(_FINISH, [settle.event_id])

    def _announce(self, settle: Settle) -> None:
        """Audit, publish and push, each by a call of its own after the commit."""
        audit = settle.audit
        self.connection.execute(
            _INSERT_AUDIT,
            [
                settle.intent_id, audit.status_from, str(audit.status_to), audit.reason,
                audit.payload_json,
            ],
        )  # fmt: skip
        self.redis.publish(f"intent.{settle.intent_id}", f'{{"status":"{settle.status}"}}')
        for job in settle.jobs:
            self.redis.xadd(NOTIFICATIONS_STREAM, {self.field: job.job_json})

    def _count_failure(self, claimed: ClaimedEvent) -> None:
        self.connection.execute(_COUNT_FAILURE, [claimed.event.id])


def _intent(intent_id: UUID, row: Sequence[Any]) -> Intent:
    status, operation_type, amount_satang, currency, user, issuer, metadata, transfers = row
    return Intent(
        id=IntentId(intent_id),
        status=status,
        operation_type=operation_type,
        amount_satang=amount_satang,
        currency=currency,
        user_id=UserId(user),
        issued_by_user_id=UserId(issuer),
        metadata_json=metadata,
        tb_transfer_ids=tuple(transfers),
    )


def _chains(order: Order) -> list[tuple[Transfer, ...]]:
    posts = [
        build_resolving_transfer(order.intent_id, order.action, TransferId(id_), generation=0)
        for id_ in order.pending_ids
    ]
    chains = [close_chain(posts)]
    if order.fee is not None:
        chains.append(
            (build_fee_transfer(order.intent_id, order.fee, order.pending_ids[0], generation=0),)
        )
    return chains


def _is_fine(answer: ChainAnswer) -> bool:
    return not isinstance(answer, ChainRefused) and all(status in FINE for status in answer)
