"""When a pending transfer is posted or voided, in TigerBeetle's order of checks."""

from typing import Final

from adapters.memory.ledger_checks import first_failure
from adapters.memory.ledger_imports import regresses
from adapters.memory.ledger_state import LedgerState, PendingState
from domain.transfer_status import TransferStatus
from domain.transfers import (
    AMOUNT_MAX,
    U128_MAX,
    AccountFlags,
    Transfer,
    TransferFlags,
    expires_at_ns,
)

_EXCLUDED: Final = (
    TransferFlags.PENDING
    | TransferFlags.BALANCING_DEBIT
    | TransferFlags.BALANCING_CREDIT
    | TransferFlags.CLOSING_DEBIT
    | TransferFlags.CLOSING_CREDIT
)
_REFUSAL_OF_STATE: Final = {
    PendingState.POSTED: TransferStatus.PENDING_TRANSFER_ALREADY_POSTED,
    PendingState.VOIDED: TransferStatus.PENDING_TRANSFER_ALREADY_VOIDED,
    PendingState.EXPIRED: TransferStatus.PENDING_TRANSFER_EXPIRED,
}


def resolve_pending(state: LedgerState, transfer: Transfer, event_ns: int) -> TransferStatus:
    """Post or void the pending transfer that *transfer* names, or say why not."""
    failure = _check_alone(transfer)
    if failure is not None:
        return failure
    pending = state.transfers.get(transfer.pending_id)
    if pending is None:
        return TransferStatus.PENDING_TRANSFER_NOT_FOUND
    amount = _amount(transfer, pending)
    failure = _check_fields(transfer, pending, amount) or _check_state(
        state, transfer, pending, event_ns
    )
    if failure is not None:
        return failure
    record = _record(transfer, pending, amount, event_ns)
    if _voids(transfer):
        state.void(pending, record)
    else:
        state.post(pending, record)
    return TransferStatus.CREATED


def _voids(transfer: Transfer) -> bool:
    return bool(transfer.flags & TransferFlags.VOID_PENDING_TRANSFER)


def _check_alone(transfer: Transfer) -> TransferStatus | None:
    posts = bool(transfer.flags & TransferFlags.POST_PENDING_TRANSFER)
    exclusive = (posts and _voids(transfer)) or bool(transfer.flags & _EXCLUDED)
    return first_failure(
        (exclusive, TransferStatus.FLAGS_ARE_MUTUALLY_EXCLUSIVE),
        (transfer.pending_id == 0, TransferStatus.PENDING_ID_MUST_NOT_BE_ZERO),
        (transfer.pending_id == U128_MAX, TransferStatus.PENDING_ID_MUST_NOT_BE_INT_MAX),
        (transfer.pending_id == transfer.id, TransferStatus.PENDING_ID_MUST_BE_DIFFERENT),
        (transfer.timeout_s != 0, TransferStatus.TIMEOUT_RESERVED_FOR_PENDING_TRANSFER),
    )


def _amount(transfer: Transfer, pending: Transfer) -> int:
    means_all = transfer.amount == (0 if _voids(transfer) else AMOUNT_MAX)
    return pending.amount if means_all else transfer.amount


def _check_fields(transfer: Transfer, pending: Transfer, amount: int) -> TransferStatus | None:
    """Check what is sent against the pending transfer; 0 means "as the pending transfer"."""
    return first_failure(
        (
            not pending.flags & TransferFlags.PENDING,
            TransferStatus.PENDING_TRANSFER_NOT_PENDING,
        ),
        (
            transfer.debit_account_id not in (0, pending.debit_account_id),
            TransferStatus.PENDING_TRANSFER_HAS_DIFFERENT_DEBIT_ACCOUNT_ID,
        ),
        (
            transfer.credit_account_id not in (0, pending.credit_account_id),
            TransferStatus.PENDING_TRANSFER_HAS_DIFFERENT_CREDIT_ACCOUNT_ID,
        ),
        (
            transfer.ledger not in (0, pending.ledger),
            TransferStatus.PENDING_TRANSFER_HAS_DIFFERENT_LEDGER,
        ),
        (
            transfer.code not in (0, pending.code),
            TransferStatus.PENDING_TRANSFER_HAS_DIFFERENT_CODE,
        ),
        (amount > pending.amount, TransferStatus.EXCEEDS_PENDING_TRANSFER_AMOUNT),
        (
            _voids(transfer) and amount < pending.amount,
            TransferStatus.PENDING_TRANSFER_HAS_DIFFERENT_AMOUNT,
        ),
    )


def _check_state(
    state: LedgerState, transfer: Transfer, pending: Transfer, event_ns: int
) -> TransferStatus | None:
    pending_state = state.pending_states[pending.id]
    if pending_state is not PendingState.OPEN:
        return _REFUSAL_OF_STATE[pending_state]
    # A transfer may be past its time while its money is not released yet.
    expires_at = expires_at_ns(pending)
    debit = state.accounts[pending.debit_account_id]
    credit = state.accounts[pending.credit_account_id]
    debit_closed = bool(debit.flags & AccountFlags.CLOSED)
    credit_closed = bool(credit.flags & AccountFlags.CLOSED)
    return first_failure(
        (
            expires_at is not None and expires_at <= event_ns,
            TransferStatus.PENDING_TRANSFER_EXPIRED,
        ),
        (
            regresses(state, transfer),
            TransferStatus.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS,
        ),
        (
            debit_closed and not _voids(transfer),
            TransferStatus.DEBIT_ACCOUNT_ALREADY_CLOSED,
        ),
        (
            credit_closed and not _voids(transfer),
            TransferStatus.CREDIT_ACCOUNT_ALREADY_CLOSED,
        ),
    )


def _record(transfer: Transfer, pending: Transfer, amount: int, event_ns: int) -> Transfer:
    imported = transfer.flags & TransferFlags.IMPORTED
    return Transfer(
        id=transfer.id,
        debit_account_id=pending.debit_account_id,
        credit_account_id=pending.credit_account_id,
        amount=amount,
        pending_id=pending.id,
        user_data_128=transfer.user_data_128 or pending.user_data_128,
        user_data_64=transfer.user_data_64 or pending.user_data_64,
        user_data_32=transfer.user_data_32 or pending.user_data_32,
        ledger=pending.ledger,
        code=pending.code,
        flags=transfer.flags,
        timestamp_ns=transfer.timestamp_ns if imported else event_ns,
    )
