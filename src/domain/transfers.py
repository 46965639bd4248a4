"""TigerBeetle's accounts and transfers as plain values, with TigerBeetle's own field names.

A pending transfer is immutable: its record never tells whether it was posted,
voided or has expired. Only a resolving transfer, or the answer to one, tells.
"""

from enum import IntFlag
from functools import cache
from typing import Final, NewType

from domain.values import value

TransferId = NewType("TransferId", int)
AccountId = NewType("AccountId", int)

U128_MAX: Final = 2**128 - 1
AMOUNT_MAX: Final = U128_MAX
"""As the amount of a post: the whole pending amount (0 would post nothing and release it)."""

NS_PER_S: Final = 1_000_000_000


class TransferFlags(IntFlag):
    """Bits of ``Transfer.flags``; the values are TigerBeetle's wire values."""

    NONE = 0
    LINKED = 1 << 0
    PENDING = 1 << 1
    POST_PENDING_TRANSFER = 1 << 2
    VOID_PENDING_TRANSFER = 1 << 3
    BALANCING_DEBIT = 1 << 4
    BALANCING_CREDIT = 1 << 5
    CLOSING_DEBIT = 1 << 6
    CLOSING_CREDIT = 1 << 7
    IMPORTED = 1 << 8


@cache  # to make one anew takes ten times as long, and the same few come again and again
def transfer_flags(value: int) -> TransferFlags:
    """Return the flags whose wire value is *value*; bits of newer servers are kept."""
    return TransferFlags(value)


class AccountFlags(IntFlag):
    """Bits of ``Account.flags``; the values are TigerBeetle's wire values."""

    NONE = 0
    LINKED = 1 << 0
    DEBITS_MUST_NOT_EXCEED_CREDITS = 1 << 1
    CREDITS_MUST_NOT_EXCEED_DEBITS = 1 << 2
    HISTORY = 1 << 3
    IMPORTED = 1 << 4
    CLOSED = 1 << 5


_LINKED: Final = TransferFlags.LINKED.value


@value
class Transfer:
    """One transfer, as sent (``timestamp_ns`` 0) or as the ledger keeps it.

    Amounts are integers of the ledger's unit (satang). Fields left 0 on a post or
    void are inherited from its pending transfer.
    """

    id: TransferId
    debit_account_id: AccountId = AccountId(0)
    credit_account_id: AccountId = AccountId(0)
    amount: int = 0
    pending_id: TransferId = TransferId(0)
    user_data_128: int = 0
    user_data_64: int = 0
    user_data_32: int = 0
    timeout_s: int = 0
    ledger: int = 0
    code: int = 0
    flags: TransferFlags = TransferFlags.NONE
    timestamp_ns: int = 0

    def linked(self) -> "Transfer":
        """Return the same transfer, but linked to the next one of its chain."""
        # In half the time of ``dataclasses.replace``: most chains of a batch need it.
        return Transfer(
            id=self.id,
            debit_account_id=self.debit_account_id,
            credit_account_id=self.credit_account_id,
            amount=self.amount,
            pending_id=self.pending_id,
            user_data_128=self.user_data_128,
            user_data_64=self.user_data_64,
            user_data_32=self.user_data_32,
            timeout_s=self.timeout_s,
            ledger=self.ledger,
            code=self.code,
            flags=transfer_flags(int(self.flags) | _LINKED),
            timestamp_ns=self.timestamp_ns,
        )


def expires_at_ns(pending: Transfer) -> int | None:
    """Return the first moment at which *pending* is expired; None when it never expires."""
    if pending.timeout_s == 0:
        return None
    return pending.timestamp_ns + pending.timeout_s * NS_PER_S


@value
class Account:
    """A ledger account and its balances, in the ledger's unit (satang)."""

    id: AccountId
    ledger: int
    code: int
    flags: AccountFlags = AccountFlags.NONE
    user_data_128: int = 0
    user_data_64: int = 0
    user_data_32: int = 0
    debits_pending: int = 0
    debits_posted: int = 0
    credits_pending: int = 0
    credits_posted: int = 0
    timestamp_ns: int = 0
