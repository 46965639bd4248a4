"""How transfers and their ids lie in a request and an answer: little-endian, without gaps.

The client makes a dataclass, then a ctypes structure, of every transfer; going between the
domain's transfers and bytes directly is some thirty times as fast. ``rehearsal`` finds out
whether the client at hand has this very layout.

What does not fit raises. ``True`` fits, as 1: ``domain.chains.chain_fault`` comes before.
"""

import struct
from collections.abc import Iterable
from typing import Final

from domain.transfers import AccountId, Transfer, TransferId, transfer_flags

TRANSFER_BYTES: Final = 128

_TRANSFER: Final = struct.Struct("<16s16s16s16s16s16sQIIIHHQ")


def pack_transfers(transfers: Iterable[Transfer]) -> bytes:
    """Return *transfers*, one behind the other.

    Raises:
        OverflowError, struct.error: a number that its field cannot hold.
        TypeError, struct.error: a value that is no integer.
    """
    u128, pack = int.to_bytes, _TRANSFER.pack
    return b"".join(
        [
            pack(
                u128(transfer.id, 16, "little"),
                u128(transfer.debit_account_id, 16, "little"),
                u128(transfer.credit_account_id, 16, "little"),
                u128(transfer.amount, 16, "little"),
                u128(transfer.pending_id, 16, "little"),
                u128(transfer.user_data_128, 16, "little"),
                transfer.user_data_64,
                transfer.user_data_32,
                transfer.timeout_s,
                transfer.ledger,
                transfer.code,
                transfer.flags,
                transfer.timestamp_ns,
            )
            for transfer in transfers
        ]
    )


def unpack_transfer(packed: bytes) -> Transfer:
    """Return the one transfer that *packed* is; flags of newer servers are kept."""
    (
        id_,
        debit_account_id,
        credit_account_id,
        amount,
        pending_id,
        user_data_128,
        user_data_64,
        user_data_32,
        timeout_s,
        ledger,
        code,
        flags,
        timestamp_ns,
    ) = _TRANSFER.unpack(packed)
    u128 = int.from_bytes
    return Transfer(
        id=TransferId(u128(id_, "little")),
        debit_account_id=AccountId(u128(debit_account_id, "little")),
        credit_account_id=AccountId(u128(credit_account_id, "little")),
        amount=u128(amount, "little"),
        pending_id=TransferId(u128(pending_id, "little")),
        user_data_128=u128(user_data_128, "little"),
        user_data_64=user_data_64,
        user_data_32=user_data_32,
        timeout_s=timeout_s,
        ledger=ledger,
        code=code,
        flags=transfer_flags(flags),
        timestamp_ns=timestamp_ns,
    )


def pack_ids(ids: Iterable[int]) -> bytes:
    """Return *ids*, one behind the other; raises like ``pack_transfers``."""
    u128 = int.to_bytes
    return b"".join([u128(id_, 16, "little") for id_ in ids])
