"""How one attempt at an event ended on the ledger: done, retry later, or a person must look.

The reasons are closed sets; each retry reason says whether time alone may make the
worker give up (see ``retry.RetryPolicy``).
"""

from enum import StrEnum

from domain.values import value


class RetryReason(StrEnum):
    """Why an event is tried again later."""

    PENDING_TRANSFER_NOT_FOUND = "pending_transfer_not_found"
    LEDGER_REFUSED = "ledger_refused"
    IDS_BURNED = "ids_burned"
    RESOLUTION_NOT_FOUND = "resolution_not_found"
    OUT_OF_TIME = "out_of_time"
    """The ledger was asked as long as one batch or search may, and more had to be asked."""
    FEE_ACCOUNT_UNMAPPED = "fee_account_unmapped"
    FEE_REFUSED = "fee_refused"
    UNFORESEEN = "unforeseen"
    NEEDS_REVIEW = "needs_review"
    """A permanent fault where giving up is switched off (``OUTBOX_GIVE_UP=never``)."""


class ReviewReason(StrEnum):
    """Why only a person can decide: a permanent fault."""

    ORPHAN = "orphan"
    UNKNOWN_ACTION = "unknown_action"
    UNKNOWN_INTENT_STATUS = "unknown_intent_status"
    INTENT_NOT_AUTHORIZED = "intent_not_authorized"
    STATUS_CONTRADICTS = "status_contradicts"
    INVALID_PAYLOAD = "invalid_payload"
    INVALID_AMOUNT = "invalid_amount"
    NO_TRANSFERS = "no_transfers"
    INVALID_TRANSFER_IDS = "invalid_transfer_ids"
    MONEY_ALREADY_POSTED = "money_already_posted"
    MONEY_ALREADY_RELEASED = "money_already_released"
    POSTED_IN_PART = "posted_in_part"
    DIFFERENT_TRANSFER_EXISTS = "different_transfer_exists"
    LEDGER_REFUSED = "ledger_refused"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    GIVEN_UP_BY_HAND = "given_up_by_hand"
    """No fault of the event's that the worker saw: an operator ended it."""


@value(kw_only=False)
class Done:
    """All pending transfers are resolved in the direction of the event.

    ``fee_satang`` is what the ledger holds as PSP fee, None without one.
    ``resolved_elsewhere`` says that an id which is not ours resolved a member; then a
    missing fee is reported, never charged (DESIGN §7).
    """

    fee_satang: int | None = None
    resolved_elsewhere: bool = False


@value(kw_only=False)
class RetryLater:
    """Try again after a backoff, with the ids of *generations* on."""

    reason: RetryReason
    detail: str
    generations: tuple[int, ...] = ()


@value(kw_only=False)
class ManualReview:
    """Permanent: the event fails, the intent waits for a person."""

    reason: ReviewReason
    detail: str


Verdict = Done | RetryLater | ManualReview
