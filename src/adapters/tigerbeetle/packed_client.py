"""``PackedClient``: requests of many transfers as bytes of our own making.

The official client's ``_submit``, no public method, takes the types of its events and
results; here they are a whole request's bytes, and as little as must be read of a result.
Whether that holds for the client at hand is what ``rehearsal`` finds out.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

from tigerbeetle import AccountFilter, Operation, QueryFilter, bindings

from adapters.tigerbeetle.plain_client import PlainClient
from adapters.tigerbeetle.wire import TRANSFER_BYTES, pack_ids, pack_transfers, unpack_transfer
from domain.transfer_status import AnyStatus, status_of
from domain.transfers import Transfer


class PackedClient(PlainClient):
    """Fulfils ``Client``. Accounts, which are few, go the plain way."""

    def create_transfers(self, transfers: Sequence[Transfer], /) -> list[AnyStatus]:
        """See ``Client.create_transfers``."""
        codes = self._submit(Operation.CREATE_TRANSFERS, pack_transfers(transfers), _Result)
        return list(map(status_of, codes))

    def lookup_transfers(self, ids: Sequence[int], /) -> list[Transfer]:
        """See ``Client.lookup_transfers``."""
        found = self._submit(Operation.LOOKUP_TRANSFERS, pack_ids(ids), _Transfer)
        return list(map(unpack_transfer, found))

    def query_transfers(self, query_filter: QueryFilter, /) -> list[Transfer]:
        """See ``Client.query_transfers``."""
        found = self._official._submit(
            Operation.QUERY_TRANSFERS, [query_filter], bindings.CQueryFilter, _Transfer
        )
        return list(map(unpack_transfer, found))

    def get_account_transfers(self, account_filter: AccountFilter, /) -> list[Transfer]:
        """See ``Client.get_account_transfers``."""
        found = self._official._submit(
            Operation.GET_ACCOUNT_TRANSFERS, [account_filter], bindings.CAccountFilter, _Transfer
        )
        return list(map(unpack_transfer, found))

    def _submit(self, operation: Operation, packed: bytes, result_type: Any) -> Any:
        request_type = ctypes.c_char * len(packed)
        request = request_type.from_buffer_copy(packed)
        return self._official._submit(operation, [request], request_type, result_type)


# The client calls ``to_python`` in a callback, in which nothing may raise (the call would never
# end), and whose memory is not ours afterwards.


class _Result(ctypes.Structure):
    _fields_ = (
        ("timestamp", ctypes.c_uint64),
        ("status", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )

    def to_python(self) -> int:
        status: int = self.status
        return status


class _Transfer(ctypes.Structure):
    _fields_ = (("packed", ctypes.c_uint8 * TRANSFER_BYTES),)

    def to_python(self) -> bytes:
        return bytes(self)
