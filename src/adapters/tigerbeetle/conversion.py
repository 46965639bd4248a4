"""The domain's transfers and statuses, and the client's: one to one.

The client checks most ranges itself, but for a whole request at once; flags it wraps
silently, and it takes ``True`` for 1. So a chain is judged here before it is packed.
"""

import tigerbeetle as tb

from domain.ledger_requests import ChainRefused
from domain.transfer_status import AnyStatus, status_of
from domain.transfers import U128_MAX, AccountId, Transfer, TransferFlags, TransferId

_BITS = {
    "id": 128,
    "debit_account_id": 128,
    "credit_account_id": 128,
    "amount": 128,
    "pending_id": 128,
    "user_data_128": 128,
    "user_data_64": 64,
    "user_data_32": 32,
    "timeout_s": 32,
    "ledger": 32,
    "code": 16,
    "flags": 16,
    "timestamp_ns": 64,
}


def refusal_of(chain: tuple[Transfer, ...]) -> ChainRefused | None:
    """Return why *chain* cannot be sent as one chain; None if it can."""
    if not chain:
        return ChainRefused("empty chain")
    for position, member in enumerate(chain):
        if (fault := _fault_of(member)) is not None:
            return ChainRefused(f"member {position}: {fault}")
    *linked, last = (bool(member.flags & TransferFlags.LINKED) for member in chain)
    if last:
        return ChainRefused("open chain: the last member is linked")
    if not all(linked):
        return ChainRefused(f"not one chain: member {linked.index(False)} is not linked")
    return None


def is_u128(value: object) -> bool:
    """Whether *value* is an integer that 128 bits hold, and nothing that merely acts as one."""
    return type(value) is int and 0 <= value <= U128_MAX


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


def status_from_client(result: tb.CreateTransferResult) -> AnyStatus:
    """Return the status of *result*, known or not."""
    return status_of(int(result.status))


def _fault_of(member: Transfer) -> str | None:
    for name, bits in _BITS.items():
        value = getattr(member, name)
        is_integer = type(value) is int or (name == "flags" and type(value) is TransferFlags)
        if not is_integer:
            return f"{name} is of type {type(value).__name__}, not an integer"
        if not 0 <= value < 1 << bits:
            return f"{name} does not fit in {bits} bits"
    return None
