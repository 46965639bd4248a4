"""What one status means for the transfer that got it (LEDGER_OUTCOMES §4).

A chain fails as a whole: one member, the *culprit*, tells why, and every other member says
``LINKED_EVENT_FAILED``. These functions translate the culprit's status; ``resolution``
acts on it. Both are total over TransferStatus (checked by mypy), and a code that this
build does not know is never success.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import assert_never

from domain.intents import Action
from domain.transfer_status import AnyStatus, UnknownStatus
from domain.transfer_status import TransferStatus as S


class ChainOutcome(Enum):
    """What the culprit of a chain of posts or voids obliges us to do."""

    CREATED = auto()
    """No culprit: the chain is applied."""
    LOOK_UP = auto()
    """One of our ids exists: find out which, and whether each is what we meant."""
    RESOLVED_ELSEWHERE = auto()
    """A post by an id that is not ours: find it, compare amounts, send the rest."""
    FREE = auto()
    """Nothing is frozen there any more, as the void wanted: send the rest."""
    ID_BURNED = auto()
    """Take the member's next generation, at once."""
    NOT_FOUND = auto()
    """Wait: the ledger is not in the database's transaction."""
    REFUSED_FOR_NOW = auto()
    """Wait for the accounts to change."""
    MONEY_GONE = auto()
    """A void, and the money was posted: only a person can decide."""
    MONEY_RELEASED = auto()
    """A post, and the reservation is gone: only a person can decide."""
    INVALID = auto()
    """No repetition can help; the id is still good after a fix."""


class FeeOutcome(Enum):
    """What the answer to a PSP fee obliges us to do; no fault of it is ever final."""

    CHARGED = auto()
    LOOK_UP = auto()
    ID_BURNED = auto()
    REFUSED_FOR_NOW = auto()


def culprit_of(statuses: Sequence[AnyStatus]) -> tuple[int, AnyStatus] | None:
    """Return position and status of the member that failed a chain; None if none did.

    A chain of nothing but ``LINKED_EVENT_FAILED`` has no culprit that we could see; its
    first member is returned, since it is not success either.
    """
    failed = [(i, status) for i, status in enumerate(statuses) if status is not S.CREATED]
    for position, status in failed:
        if status is not S.LINKED_EVENT_FAILED:
            return position, status
    return failed[0] if failed else None


def chain_outcome(status: AnyStatus, action: Action) -> ChainOutcome:
    """Return what *status* of a chain's culprit means for *action*."""
    posting = action is Action.POST_PENDING
    if isinstance(status, UnknownStatus):
        return ChainOutcome.INVALID
    match status:
        case S.CREATED:
            return ChainOutcome.CREATED
        case (
            S.EXISTS
            | S.EXISTS_WITH_DIFFERENT_FLAGS
            | S.EXISTS_WITH_DIFFERENT_PENDING_ID
            | S.EXISTS_WITH_DIFFERENT_TIMEOUT
            | S.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT_ID
            | S.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT_ID
            | S.EXISTS_WITH_DIFFERENT_AMOUNT
            | S.EXISTS_WITH_DIFFERENT_USER_DATA_128
            | S.EXISTS_WITH_DIFFERENT_USER_DATA_64
            | S.EXISTS_WITH_DIFFERENT_USER_DATA_32
            | S.EXISTS_WITH_DIFFERENT_LEDGER
            | S.EXISTS_WITH_DIFFERENT_CODE
        ):
            return ChainOutcome.LOOK_UP
        case S.PENDING_TRANSFER_ALREADY_POSTED:
            return ChainOutcome.RESOLVED_ELSEWHERE if posting else ChainOutcome.MONEY_GONE
        case S.PENDING_TRANSFER_ALREADY_VOIDED | S.PENDING_TRANSFER_EXPIRED:
            return ChainOutcome.MONEY_RELEASED if posting else ChainOutcome.FREE
        case S.ID_ALREADY_FAILED:
            return ChainOutcome.ID_BURNED
        case S.PENDING_TRANSFER_NOT_FOUND:
            return ChainOutcome.NOT_FOUND
        case (
            S.DEBIT_ACCOUNT_ALREADY_CLOSED
            | S.CREDIT_ACCOUNT_ALREADY_CLOSED
            | S.EXCEEDS_CREDITS
            | S.EXCEEDS_DEBITS
            | S.DEBIT_ACCOUNT_NOT_FOUND
            | S.CREDIT_ACCOUNT_NOT_FOUND
        ):
            return ChainOutcome.REFUSED_FOR_NOW
        case (
            S.LINKED_EVENT_FAILED
            | S.LINKED_EVENT_CHAIN_OPEN
            | S.IMPORTED_EVENT_EXPECTED
            | S.IMPORTED_EVENT_NOT_EXPECTED
            | S.TIMESTAMP_MUST_BE_ZERO
            | S.IMPORTED_EVENT_TIMESTAMP_OUT_OF_RANGE
            | S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_ADVANCE
            | S.RESERVED_FLAG
            | S.ID_MUST_NOT_BE_ZERO
            | S.ID_MUST_NOT_BE_INT_MAX
            | S.FLAGS_ARE_MUTUALLY_EXCLUSIVE
            | S.DEBIT_ACCOUNT_ID_MUST_NOT_BE_ZERO
            | S.DEBIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX
            | S.CREDIT_ACCOUNT_ID_MUST_NOT_BE_ZERO
            | S.CREDIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX
            | S.ACCOUNTS_MUST_BE_DIFFERENT
            | S.PENDING_ID_MUST_BE_ZERO
            | S.PENDING_ID_MUST_NOT_BE_ZERO
            | S.PENDING_ID_MUST_NOT_BE_INT_MAX
            | S.PENDING_ID_MUST_BE_DIFFERENT
            | S.TIMEOUT_RESERVED_FOR_PENDING_TRANSFER
            | S.CLOSING_TRANSFER_MUST_BE_PENDING
            | S.LEDGER_MUST_NOT_BE_ZERO
            | S.CODE_MUST_NOT_BE_ZERO
            | S.ACCOUNTS_MUST_HAVE_THE_SAME_LEDGER
            | S.TRANSFER_MUST_HAVE_THE_SAME_LEDGER_AS_ACCOUNTS
            | S.PENDING_TRANSFER_NOT_PENDING
            | S.PENDING_TRANSFER_HAS_DIFFERENT_DEBIT_ACCOUNT_ID
            | S.PENDING_TRANSFER_HAS_DIFFERENT_CREDIT_ACCOUNT_ID
            | S.PENDING_TRANSFER_HAS_DIFFERENT_LEDGER
            | S.PENDING_TRANSFER_HAS_DIFFERENT_CODE
            | S.EXCEEDS_PENDING_TRANSFER_AMOUNT
            | S.PENDING_TRANSFER_HAS_DIFFERENT_AMOUNT
            | S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS
            | S.IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_DEBIT_ACCOUNT
            | S.IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_CREDIT_ACCOUNT
            | S.IMPORTED_EVENT_TIMEOUT_MUST_BE_ZERO
            | S.OVERFLOWS_DEBITS_PENDING
            | S.OVERFLOWS_CREDITS_PENDING
            | S.OVERFLOWS_DEBITS_POSTED
            | S.OVERFLOWS_CREDITS_POSTED
            | S.OVERFLOWS_DEBITS
            | S.OVERFLOWS_CREDITS
            | S.OVERFLOWS_TIMEOUT
        ):
            return ChainOutcome.INVALID
        case _:
            assert_never(status)


def fee_outcome(status: AnyStatus) -> FeeOutcome:
    """Return what *status* of a PSP fee means, its chain being posted.

    Whatever it is, the post stands: a fee is retried for ever, never given up.
    """
    outcome = chain_outcome(status, Action.POST_PENDING)
    match outcome:
        case ChainOutcome.CREATED:
            return FeeOutcome.CHARGED
        case ChainOutcome.LOOK_UP:
            return FeeOutcome.LOOK_UP
        case ChainOutcome.ID_BURNED:
            return FeeOutcome.ID_BURNED
        case (
            ChainOutcome.RESOLVED_ELSEWHERE
            | ChainOutcome.FREE
            | ChainOutcome.NOT_FOUND
            | ChainOutcome.REFUSED_FOR_NOW
            | ChainOutcome.MONEY_GONE
            | ChainOutcome.MONEY_RELEASED
            | ChainOutcome.INVALID
        ):
            return FeeOutcome.REFUSED_FOR_NOW
        case _:
            assert_never(outcome)
