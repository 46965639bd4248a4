"""Payment intents, what the PSP said of them, and the orders that the outbox holds.

Text and JSON columns are kept as the database printed them, and judged one event at a
time: a value that Python cannot hold (a date of the year 20000, a number of 5,000
digits) must cost its own event only, never the batch that read it.
"""

from enum import StrEnum
from typing import Final, NewType
from uuid import UUID

from domain.values import value

IntentId = NewType("IntentId", UUID)
EventId = NewType("EventId", int)
UserId = NewType("UserId", UUID)


class IntentStatus(StrEnum):
    """``pm.intent.status``."""

    CREATED = "CREATED"
    AUTHORIZED = "AUTHORIZED"
    SETTLING = "SETTLING"
    SETTLED = "SETTLED"
    FAILED = "FAILED"
    MANUAL_REVIEW = "MANUAL_REVIEW"


UNFINISHED: Final[frozenset[str]] = frozenset({IntentStatus.AUTHORIZED, IntentStatus.SETTLING})
"""Statuses of an intent whose money is frozen, and that can be settled (DESIGN §3)."""

UNSETTLED: Final[frozenset[str]] = UNFINISHED | {IntentStatus.MANUAL_REVIEW}
"""Statuses of an intent that somebody still has to settle, be it a person."""


class Action(StrEnum):
    """``pm.outbox_event.action``: what to do with the intent's pending transfers."""

    POST_PENDING = "post_pending"
    VOID_PENDING = "void_pending"

    @property
    def final_status(self) -> IntentStatus:
        """The status of an intent once this action is carried out."""
        return IntentStatus.SETTLED if self is Action.POST_PENDING else IntentStatus.FAILED


@value
class Intent:
    """A row of ``pm.intent``, as far as settling needs it."""

    id: IntentId
    status: str
    operation_type: str | None
    amount_satang: int
    currency: str
    user_id: UserId | None
    issued_by_user_id: UserId | None
    metadata_json: str | None
    tb_transfer_ids: tuple[UUID | None, ...]


@value
class PspRecord:
    """A row of ``pm.psp_tx_map``: what the payment service provider told about an intent."""

    psp: str | None
    receiver_display_name: str | None
    psp_fee_satang: int | None
    settlement_date: str | None
    last_error: str | None


@value
class OutboxEvent:
    """A pending row of ``pm.outbox_event``."""

    id: EventId
    intent_id: IntentId
    action: str
    payload_json: str | None
    retry_count: int


@value
class RetryState:
    """A row of ``pm.outbox_retry``: what earlier attempts at an event left behind.

    ``attempts`` counts the latest failures in a row for the same ``reason``, of those that
    may end in giving up (``retry_count`` counts all of them). ``generations`` holds how
    many ids of each chain member, and last of the fee, the ledger has burned: a hint that
    saves walking through them again.
    """

    reason: str
    attempts: int
    generations: tuple[int, ...]


@value
class ClaimedEvent:
    """An event with all that was read beside it. ``intent`` is None for an orphan."""

    event: OutboxEvent
    intent: Intent | None
    psp: PspRecord | None = None
    retry: RetryState | None = None
