"""What fits into TigerBeetle's wire format at all.

The real client raises on some of these values and silently wraps others (flags from
2^16 on); here each is found before anything is sent.
"""

from collections.abc import Iterable
from typing import Final

from domain.transfers import Account, Transfer

_BITS_OF_TRANSFER: Final = {
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
_BITS_OF_ACCOUNT: Final = {
    "id": 128,
    "debits_pending": 128,
    "debits_posted": 128,
    "credits_pending": 128,
    "credits_posted": 128,
    "user_data_128": 128,
    "user_data_64": 64,
    "user_data_32": 32,
    "ledger": 32,
    "code": 16,
    "flags": 16,
    "timestamp_ns": 64,
}


def is_unsigned(value: object, bits: int) -> bool:
    """Say whether *value* is an integer (no bool) of at most *bits* bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**bits


def misfits(record: Transfer | Account) -> Iterable[str]:
    """Name the fields of *record* that hold no unsigned integer of their width."""
    widths = _BITS_OF_TRANSFER if isinstance(record, Transfer) else _BITS_OF_ACCOUNT
    return [name for name, bits in widths.items() if not is_unsigned(getattr(record, name), bits)]
