"""Values for the database contracts: intents, and conclusions about claimed events."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from domain.conclusions import (
    Acknowledge,
    AuditEvent,
    HistoryLine,
    LineKind,
    PushJob,
    Retry,
    Review,
    Settle,
)
from domain.intents import ClaimedEvent, Intent, IntentId, IntentStatus, UserId
from domain.verdicts import RetryReason, ReviewReason


def an_intent(**changes: Any) -> Intent:
    """An authorised intent with a new id; *changes* replace fields."""
    intent = Intent(
        id=IntentId(uuid4()),
        status="AUTHORIZED",
        operation_type="QR_PAYMENT",
        amount_satang=10_000,
        currency="THB",
        user_id=UserId(UUID(int=1)),
        issued_by_user_id=None,
        metadata_json='{"note": "ผัดไทย"}',
        tb_transfer_ids=(UUID(int=7), UUID(int=8)),
    )
    return replace(intent, **changes)


def a_settle(claimed: ClaimedEvent, **changes: Any) -> Settle:
    """Settle *claimed* with two lines, an audit row and one job; *changes* replace fields."""
    settle = Settle(
        event_id=claimed.event.id,
        intent_id=claimed.event.intent_id,
        status=IntentStatus.SETTLED,
        to_name=None,
        settlement_date=None,
        failure_reason=None,
        currency="THB",
        history=(
            HistoryLine(line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=9_850),
            HistoryLine(
                line_no=1,
                kind=LineKind.FEE,
                account="revenue.THB",
                amount_satang=150,
                fee_kind="PLATFORM_FEE",
            ),
        ),
        audit=an_audit(status_to=IntentStatus.SETTLED),
        jobs=(a_job(claimed.event.intent_id),),
    )
    return replace(settle, **changes)


def a_void(claimed: ClaimedEvent, **changes: Any) -> Settle:
    """Fail *claimed* after its transfers were voided."""
    return a_settle(
        claimed,
        **{
            "status": IntentStatus.FAILED,
            "failure_reason": "PSP payment voided",
            "history": (),
            "audit": an_audit(status_to=IntentStatus.FAILED),
            "jobs": (),
        }
        | changes,
    )


def an_acknowledge(claimed: ClaimedEvent) -> Acknowledge:
    """Finish *claimed* alone."""
    return Acknowledge(event_id=claimed.event.id, intent_id=claimed.event.intent_id)


def a_retry(claimed: ClaimedEvent, **changes: Any) -> Retry:
    """Let *claimed* wait for a second; *changes* replace fields."""
    retry = Retry(
        event_id=claimed.event.id,
        intent_id=claimed.event.intent_id,
        reason=RetryReason.LEDGER_REFUSED,
        last_error="the ledger refused",
        delay_ms=1_000,
        attempts=1,
        generations=(),
    )
    return replace(retry, **changes)


def a_review(claimed: ClaimedEvent, **changes: Any) -> Review:
    """Give up on *claimed*; *changes* replace fields."""
    status_from = claimed.intent.status if claimed.intent is not None else ""
    review = Review(
        event_id=claimed.event.id,
        intent_id=claimed.event.intent_id,
        reason=ReviewReason.INVALID_PAYLOAD,
        last_error="the payload is no object",
        audit=an_audit(status_from=status_from, status_to=IntentStatus.MANUAL_REVIEW),
    )
    return replace(review, **changes)


def an_audit(*, status_to: IntentStatus, status_from: str = "AUTHORIZED") -> AuditEvent:
    """An audit row."""
    return AuditEvent(
        status_from=status_from, status_to=status_to, reason="outbox", payload_json='{"eventId": 1}'
    )


def a_job(intent_id: IntentId | None = None, *, job_json: str = '{"title":"Paid"}') -> PushJob:
    """A push job with a new id."""
    return PushJob(
        notification_id=uuid4(),
        intent_id=intent_id or IntentId(uuid4()),
        user_id=UserId(UUID(int=1)),
        job_json=job_json,
    )
