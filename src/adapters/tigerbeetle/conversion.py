"""The domain's transfers and statuses, and the client's: one to one."""

import tigerbeetle as tb

from domain.chains import is_unsigned
from domain.transfer_status import AnyStatus, status_of
from domain.transfers import (
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)


def is_u128(value: object) -> bool:
    """Whether *value* can be an id; the client would cut a longer one, and find another."""
    return is_unsigned(value, 128)


def to_client(transfer: Transfer) -> tb.Transfer:
    """Return *transfer* as the client takes it."""
    return tb.Transfer(
        id=transfer.id,
        debit_account_id=transfer.debit_account_id,
        credit_account_id=transfer.credit_account_id,
        amount=transfer.amount,
        pending_id=transfer.pending_id,
        user_data_128=transfer.user_data_128,
        user_data_64=transfer.user_data_64,
        user_data_32=transfer.user_data_32,
        timeout=transfer.timeout_s,
        ledger=transfer.ledger,
        code=transfer.code,
        flags=tb.TransferFlags(transfer.flags),
        timestamp=transfer.timestamp_ns,
    )


def from_client(transfer: tb.Transfer) -> Transfer:
    """Return the client's *transfer* as the domain's; flags of newer servers are kept."""
    return Transfer(
        id=TransferId(transfer.id),
        debit_account_id=AccountId(transfer.debit_account_id),
        credit_account_id=AccountId(transfer.credit_account_id),
        amount=transfer.amount,
        pending_id=TransferId(transfer.pending_id),
        user_data_128=transfer.user_data_128,
        user_data_64=transfer.user_data_64,
        user_data_32=transfer.user_data_32,
        timeout_s=transfer.timeout,
        ledger=transfer.ledger,
        code=transfer.code,
        flags=TransferFlags(transfer.flags),
        timestamp_ns=transfer.timestamp,
    )


def account_from_client(account: tb.Account) -> Account:
    """Return the client's *account* as the domain's; flags of newer servers are kept."""
    return Account(
        id=AccountId(account.id),
        ledger=account.ledger,
        code=account.code,
        flags=AccountFlags(account.flags),
        user_data_128=account.user_data_128,
        user_data_64=account.user_data_64,
        user_data_32=account.user_data_32,
        debits_pending=account.debits_pending,
        debits_posted=account.debits_posted,
        credits_pending=account.credits_pending,
        credits_posted=account.credits_posted,
        timestamp_ns=account.timestamp,
    )


def status_from_client(result: tb.CreateTransferResult) -> AnyStatus:
    """Return the status of *result*, known or not."""
    return status_of(int(result.status))
