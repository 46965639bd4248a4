"""Claimed events to judge and conclude: an ordinary one, changed by keyword."""

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from domain.concluding import Rules
from domain.fees import FeeRule, MappedAccount
from domain.intents import (
    ClaimedEvent,
    EventId,
    Intent,
    IntentId,
    OutboxEvent,
    PspRecord,
    RetryState,
    UserId,
)
from domain.retry import RetryPolicy
from domain.transfers import AccountId

INTENT_ID: Final = IntentId(UUID("550e8400-e29b-41d4-a716-446655440000"))
EVENT_ID: Final = EventId(7)
PENDING_UUIDS: Final = (
    UUID("0190a0b0-c0d0-7000-8000-000000000001"),
    UUID("0190a0b0-c0d0-7000-8000-000000000002"),
)
INTENT: Final = Intent(
    id=INTENT_ID,
    status="AUTHORIZED",
    operation_type="INVOICE_PAYMENT",
    amount_satang=10_000,
    currency="THB",
    user_id=UserId(UUID("aaaaaaaa-0000-4000-8000-000000000001")),
    issued_by_user_id=UserId(UUID("bbbbbbbb-0000-4000-8000-000000000002")),
    metadata_json=None,
    tb_transfer_ids=PENDING_UUIDS,
)
PSP: Final = PspRecord(
    psp="IPPS",
    receiver_display_name="Shop",
    psp_fee_satang=150,
    settlement_date="2026-05-29",
    last_error=None,
)
EVENT: Final = OutboxEvent(
    id=EVENT_ID,
    intent_id=INTENT_ID,
    action="post_pending",
    payload_json=None,
    retry_count=0,
)
FEE_RULE: Final = FeeRule(
    debit_account="revenue.{currency}", credit_account="nostro.{psp}.{currency}", transfer_code=50
)
MAPPED: Final = {
    "revenue.THB": MappedAccount(account_id=AccountId(300), ledger=764),
    "nostro.ipps.THB": MappedAccount(account_id=AccountId(400), ledger=764),
}


def no_jitter(bound_ms: int) -> int:
    """Wait as long as is allowed."""
    return bound_ms


def rules(policy: RetryPolicy | None = None) -> Rules:
    """Return the rules; every delay is the longest."""
    return Rules(fee=FEE_RULE, retry=policy or RetryPolicy(), jitter=no_jitter)


def a_claim(
    *,
    intent: Intent | None = INTENT,
    psp: PspRecord | None = PSP,
    retry: RetryState | None = None,
    **event: Any,
) -> ClaimedEvent:
    """Return an event with all beside it; *event* changes its own fields."""
    return ClaimedEvent(event=replace(EVENT, **event), intent=intent, psp=psp, retry=retry)
