"""Find out, without a cluster, whether the official client works as ``PackedClient`` needs it.

The same requests are made both ways, on a client whose packets go no further than the
library's door: what they would send, and what they make of an answer, must be equal.
"""

import ctypes
from collections.abc import Callable
from typing import Any, Final

from tigerbeetle import ClientSync, Operation, bindings
from tigerbeetle.client import Client as BaseClient

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.conversion import to_client
from adapters.tigerbeetle.official_client import takes_own_types
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import PlainClient
from adapters.tigerbeetle.wire import TRANSFER_BYTES, pack_ids, unpack_transfer
from domain.transfer_status import TransferStatus

# In the first no byte occurs twice, so a field at another place, or of another width, shows.
_PACKED: Final = (bytes(range(TRANSFER_BYTES)), bytes(TRANSFER_BYTES), b"\xff" * TRANSFER_BYTES)
_STATUSES: Final = (
    TransferStatus.CREATED,
    TransferStatus.EXISTS,
    TransferStatus.ID_ALREADY_FAILED,
)


def packing_fault() -> str | None:
    """Return why ``PackedClient`` must not be used with this release of the client, or None."""
    if not takes_own_types():
        return "it submits requests in another way"
    try:
        if not _creates_alike():
            return "it creates transfers in another form"
        if not _looks_up_alike():
            return "it looks transfers up in another form"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _creates_alike() -> bool:
    transfers = list(map(unpack_transfer, _PACKED))
    answer = b"".join(
        bytes(bindings.CCreateTransferResult(timestamp=2**64 - 1, status=status))
        for status in _STATUSES
    )
    expected = Operation.CREATE_TRANSFERS, b"".join(_PACKED), list(_STATUSES)
    return _both_ways(lambda client: client.create_transfers(transfers), answer) == [expected] * 2


def _looks_up_alike() -> bool:
    transfers = list(map(unpack_transfer, _PACKED))
    ids = [transfer.id for transfer in transfers]
    answer = b"".join(
        bytes(bindings.CTransfer.from_param(to_client(transfer))) for transfer in transfers
    )
    expected = Operation.LOOKUP_TRANSFERS, pack_ids(ids), transfers
    return _both_ways(lambda client: client.lookup_transfers(ids), answer) == [expected] * 2


def _both_ways(
    request: Callable[[Client], object], answer: bytes
) -> list[tuple[int, bytes, object]]:
    """Return, for each way, the operation, what is sent, and how *answer* is understood."""
    outcomes = []
    for way in (PlainClient, PackedClient):
        stage = _Stage(answer)
        understood = request(way(stage))
        outcomes.append((stage.operation, stage.sent, understood))
    return outcomes


class _Stage(ClientSync):
    """The official client, but the library is never reached: *answer* comes back at once."""

    def __init__(self, answer: bytes) -> None:
        # Not the parent's, which makes a client of the library.
        self._client_key = BaseClient._counter.increment()
        self._inflight_packets = {}
        self._answer = answer
        self.operation = 0
        self.sent = b""

    def _submit(
        self,
        operation: Operation,
        operations: list[Any],
        c_event_type: Any,
        c_result_type: Any,
    ) -> Any:
        inflight = self._acquire_packet(operation, operations, c_event_type, c_result_type)
        packet = inflight.packet
        self.operation, self.sent = (
            packet.operation,
            ctypes.string_at(packet.data, packet.data_size),
        )
        inflight.on_completion = lambda _: None
        self._inflight_packets[packet.user_data] = inflight
        BaseClient._clients[self._client_key] = self
        try:
            self._c_on_completion(
                self._client_key, ctypes.byref(packet), 0, self._answer, len(self._answer)
            )
        finally:
            del BaseClient._clients[self._client_key]
        return inflight.response
