"""What fits into TigerBeetle's wire format at all.

The real client raises on some of these values and silently wraps others (flags from
2^16 on); here each is found before anything is sent.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from domain.chains import FIELD_BITS, is_unsigned
from domain.transfers import Account, Transfer

_BITS_OF_ACCOUNT: Final[Mapping[str, int]] = {
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


def misfits(record: Transfer | Account) -> Iterable[str]:
    """Name the fields of *record* that hold no unsigned integer of their width."""
    widths = FIELD_BITS if isinstance(record, Transfer) else _BITS_OF_ACCOUNT
    return [name for name, bits in widths.items() if not is_unsigned(getattr(record, name), bits)]
