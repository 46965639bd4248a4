"""When a transfer is created, in TigerBeetle's order of checks (LEDGER_OUTCOMES §8).

The order is the thing: a refusal that burns the id hides behind one that does not.
"""

from dataclasses import replace
from typing import Final

from adapters.memory.ledger_checks import first_failure
from adapters.memory.ledger_exists import compare
from adapters.memory.ledger_imports import regresses
from adapters.memory.ledger_request import TIMESTAMP_NS_MAX, EventRules
from adapters.memory.ledger_resolving import resolve_pending
from adapters.memory.ledger_state import LedgerState
from domain.transfer_status import TransferStatus
from domain.transfers import (
    NS_PER_S,
    U128_MAX,
    Account,
    AccountFlags,
    Transfer,
    TransferFlags,
)

_KNOWN_FLAGS: Final = 2**9 - 1
_RESOLVING: Final = TransferFlags.POST_PENDING_TRANSFER | TransferFlags.VOID_PENDING_TRANSFER
_CLOSING: Final = TransferFlags.CLOSING_DEBIT | TransferFlags.CLOSING_CREDIT
_TRANSIENT: Final = frozenset(
    {
        TransferStatus.DEBIT_ACCOUNT_NOT_FOUND,
        TransferStatus.CREDIT_ACCOUNT_NOT_FOUND,
        TransferStatus.PENDING_TRANSFER_NOT_FOUND,
        TransferStatus.EXCEEDS_CREDITS,
        TransferStatus.EXCEEDS_DEBITS,
        TransferStatus.DEBIT_ACCOUNT_ALREADY_CLOSED,
        TransferStatus.CREDIT_ACCOUNT_ALREADY_CLOSED,
    }
)
"""Refusals that depend on the state of the ledger: each burns the id of its transfer."""


def _create_transfer(state: LedgerState, transfer: Transfer, event_ns: int) -> TransferStatus:
    failure = first_failure(
        (transfer.flags & ~_KNOWN_FLAGS != 0, TransferStatus.RESERVED_FLAG),
        (transfer.id == 0, TransferStatus.ID_MUST_NOT_BE_ZERO),
        (transfer.id == U128_MAX, TransferStatus.ID_MUST_NOT_BE_INT_MAX),
    )
    if failure is not None:
        return failure
    if (existing := state.transfers.get(transfer.id)) is not None:
        return compare(state, transfer, existing)
    if transfer.id in state.burned_ids:
        return TransferStatus.ID_ALREADY_FAILED
    if transfer.flags & _RESOLVING:
        return resolve_pending(state, transfer, event_ns)
    return _move(state, transfer, event_ns)


def _move(state: LedgerState, transfer: Transfer, event_ns: int) -> TransferStatus:
    """Create a transfer that moves money, at once or as a reservation."""
    failure = _check_alone(transfer)
    if failure is not None:
        return failure
    debit = state.accounts.get(transfer.debit_account_id)
    if debit is None:
        return TransferStatus.DEBIT_ACCOUNT_NOT_FOUND
    credit = state.accounts.get(transfer.credit_account_id)
    if credit is None:
        return TransferStatus.CREDIT_ACCOUNT_NOT_FOUND
    imported = bool(transfer.flags & TransferFlags.IMPORTED)
    record = replace(
        transfer,
        amount=_balanced_amount(transfer, debit, credit),
        timestamp_ns=transfer.timestamp_ns if imported else event_ns,
    )
    failure = (
        _check_accounts(transfer, debit, credit)
        or (_check_import(state, transfer, debit, credit) if imported else None)
        or _check_open(debit, credit)
        or _check_overflows(record, debit, credit)
        or _check_limits(record, debit, credit)
    )
    if failure is not None:
        return failure
    state.insert_transfer(record)
    return TransferStatus.CREATED


def _check_alone(transfer: Transfer) -> TransferStatus | None:
    debit_id, credit_id = transfer.debit_account_id, transfer.credit_account_id
    pending = bool(transfer.flags & TransferFlags.PENDING)
    return first_failure(
        (debit_id == 0, TransferStatus.DEBIT_ACCOUNT_ID_MUST_NOT_BE_ZERO),
        (debit_id == U128_MAX, TransferStatus.DEBIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX),
        (credit_id == 0, TransferStatus.CREDIT_ACCOUNT_ID_MUST_NOT_BE_ZERO),
        (credit_id == U128_MAX, TransferStatus.CREDIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX),
        (debit_id == credit_id, TransferStatus.ACCOUNTS_MUST_BE_DIFFERENT),
        (transfer.pending_id != 0, TransferStatus.PENDING_ID_MUST_BE_ZERO),
        (
            not pending and transfer.timeout_s != 0,
            TransferStatus.TIMEOUT_RESERVED_FOR_PENDING_TRANSFER,
        ),
        (
            not pending and bool(transfer.flags & _CLOSING),
            TransferStatus.CLOSING_TRANSFER_MUST_BE_PENDING,
        ),
        (transfer.ledger == 0, TransferStatus.LEDGER_MUST_NOT_BE_ZERO),
        (transfer.code == 0, TransferStatus.CODE_MUST_NOT_BE_ZERO),
    )


def _check_accounts(transfer: Transfer, debit: Account, credit: Account) -> TransferStatus | None:
    return first_failure(
        (debit.ledger != credit.ledger, TransferStatus.ACCOUNTS_MUST_HAVE_THE_SAME_LEDGER),
        (
            transfer.ledger != debit.ledger,
            TransferStatus.TRANSFER_MUST_HAVE_THE_SAME_LEDGER_AS_ACCOUNTS,
        ),
    )


def _check_import(
    state: LedgerState, transfer: Transfer, debit: Account, credit: Account
) -> TransferStatus | None:
    return first_failure(
        (
            regresses(state, transfer),
            TransferStatus.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS,
        ),
        (
            transfer.timestamp_ns <= debit.timestamp_ns,
            TransferStatus.IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_DEBIT_ACCOUNT,
        ),
        (
            transfer.timestamp_ns <= credit.timestamp_ns,
            TransferStatus.IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_CREDIT_ACCOUNT,
        ),
        (transfer.timeout_s != 0, TransferStatus.IMPORTED_EVENT_TIMEOUT_MUST_BE_ZERO),
    )


def _check_open(debit: Account, credit: Account) -> TransferStatus | None:
    return first_failure(
        (bool(debit.flags & AccountFlags.CLOSED), TransferStatus.DEBIT_ACCOUNT_ALREADY_CLOSED),
        (bool(credit.flags & AccountFlags.CLOSED), TransferStatus.CREDIT_ACCOUNT_ALREADY_CLOSED),
    )


def _balanced_amount(transfer: Transfer, debit: Account, credit: Account) -> int:
    """Return the amount to move: a balancing transfer's amount is only its upper limit."""
    amount = transfer.amount
    if transfer.flags & TransferFlags.BALANCING_DEBIT:
        missing = debit.credits_posted - debit.debits_posted - debit.debits_pending
        amount = min(amount, max(missing, 0))
    if transfer.flags & TransferFlags.BALANCING_CREDIT:
        missing = credit.debits_posted - credit.credits_posted - credit.credits_pending
        amount = min(amount, max(missing, 0))
    return amount


def _check_overflows(record: Transfer, debit: Account, credit: Account) -> TransferStatus | None:
    pending = bool(record.flags & TransferFlags.PENDING)
    room = U128_MAX - record.amount
    debits = debit.debits_pending + debit.debits_posted
    credits_ = credit.credits_pending + credit.credits_posted
    return first_failure(
        (pending and debit.debits_pending > room, TransferStatus.OVERFLOWS_DEBITS_PENDING),
        (pending and credit.credits_pending > room, TransferStatus.OVERFLOWS_CREDITS_PENDING),
        (debit.debits_posted > room, TransferStatus.OVERFLOWS_DEBITS_POSTED),
        (credit.credits_posted > room, TransferStatus.OVERFLOWS_CREDITS_POSTED),
        (debits > room, TransferStatus.OVERFLOWS_DEBITS),
        (credits_ > room, TransferStatus.OVERFLOWS_CREDITS),
        (
            record.timestamp_ns + record.timeout_s * NS_PER_S > TIMESTAMP_NS_MAX,
            TransferStatus.OVERFLOWS_TIMEOUT,
        ),
    )


def _check_limits(record: Transfer, debit: Account, credit: Account) -> TransferStatus | None:
    """Check the limits that accounts set themselves; reserved money counts as spent."""
    debits = debit.debits_pending + debit.debits_posted + record.amount
    credits_ = credit.credits_pending + credit.credits_posted + record.amount
    return first_failure(
        (
            bool(debit.flags & AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS)
            and debits > debit.credits_posted,
            TransferStatus.EXCEEDS_CREDITS,
        ),
        (
            bool(credit.flags & AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS)
            and credits_ > credit.debits_posted,
            TransferStatus.EXCEEDS_DEBITS,
        ),
    )


def _burn(state: LedgerState, transfer: Transfer, status: TransferStatus) -> None:
    if status in _TRANSIENT:
        state.burned_ids.add(transfer.id)


TRANSFER_RULES: Final = EventRules(
    statuses=TransferStatus,
    imported_flag=TransferFlags.IMPORTED,
    create=_create_transfer,
    burn=_burn,
)
