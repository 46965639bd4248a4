"""Find out, without a cluster, whether a way of driving the official client is right.

Ways that are quicker, or sturdier, than its public methods lean on methods that may change
with any release. So a request is made both ways, on a client whose packets go no further
than the library's door: what they send, and what they make of an answer, must be equal.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any, Final

from tigerbeetle import (
    AccountFilter,
    AccountFilterFlags,
    ClientSync,
    Operation,
    QueryFilter,
    QueryFilterFlags,
    bindings,
)
from tigerbeetle.client import Client as BaseClient

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.conversion import to_client
from adapters.tigerbeetle.plain_client import PlainClient
from adapters.tigerbeetle.wire import TRANSFER_BYTES, unpack_transfer
from domain.transfer_status import TransferStatus

_SUBMIT_PARAMETERS: Final = ("self", "operation", "operations", "c_event_type", "c_result_type")

# In the first no byte occurs twice, so a field at another place, or of another width, shows.
_TRANSFERS: Final = [
    unpack_transfer(packed)
    for packed in (bytes(range(TRANSFER_BYTES)), bytes(TRANSFER_BYTES), b"\xff" * TRANSFER_BYTES)
]
_STATUSES: Final = [
    TransferStatus.CREATED,
    TransferStatus.EXISTS,
    TransferStatus.ID_ALREADY_FAILED,
]

_one_at_a_time: Final = threading.Lock()


def fault_of(way: type[PlainClient]) -> str | None:
    """Return why the installed client must not be driven by *way*, or None."""
    with _one_at_a_time:
        try:
            return _fault_of(way)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _fault_of(way: type[PlainClient]) -> str | None:
    if tuple(signature(ClientSync._submit).parameters) != _SUBMIT_PARAMETERS:
        return "requests are submitted in another way"
    results = [
        bindings.CCreateTransferResult(timestamp=2**64 - 1, status=status) for status in _STATUSES
    ]
    if not _is_right(way, lambda client: client.create_transfers(_TRANSFERS), results, _STATUSES):
        return "transfers are created in another form"
    records = [bindings.CTransfer.from_param(to_client(transfer)) for transfer in _TRANSFERS]
    for read in _reads():
        if not _is_right(way, read, records, _TRANSFERS):
            return "transfers are read in another form"
    return None


def _reads() -> list[Callable[[Client], object]]:
    ids = [transfer.id for transfer in _TRANSFERS]
    query = QueryFilter(1, 2, 3, 4, 5, 6, 7, 8, QueryFilterFlags.REVERSED)
    account_query = AccountFilter(1, 2, 3, 4, 5, 6, 7, 8, AccountFilterFlags.REVERSED)
    return [
        lambda client: client.lookup_transfers(ids),
        lambda client: client.query_transfers(query),
        lambda client: client.get_account_transfers(account_query),
    ]


def _is_right(
    way: type[PlainClient],
    request: Callable[[Client], object],
    answer: Sequence[ctypes.Structure],
    meaning: object,
) -> bool:
    """Does *request* send what the public method sends, and is *answer* taken for *meaning*?"""
    ours, theirs = (_Stage(b"".join(map(bytes, answer))) for _ in range(2))
    understood = [request(way(ours)), request(PlainClient(theirs))]
    return understood == [meaning] * 2 and ours.sent == theirs.sent


class _Stage(ClientSync):
    """The official client, but the library is never reached: *answer* comes back at once."""

    def __init__(self, answer: bytes) -> None:
        # Not the parent's, which makes a client of the library.
        self._client_key = BaseClient._counter.increment()
        self._inflight_packets = {}
        self._answer = answer
        self.sent: tuple[int, bytes] | None = None

    def _submit(
        self, operation: Operation, operations: list[Any], c_event_type: Any, c_result_type: Any
    ) -> Any:
        inflight = self._acquire_packet(operation, operations, c_event_type, c_result_type)
        packet = inflight.packet
        self.sent = packet.operation, ctypes.string_at(packet.data, packet.data_size)
        inflight.on_completion = lambda _: None
        self._inflight_packets[packet.user_data] = inflight
        BaseClient._clients[self._client_key] = self
        try:
            with _callback_errors_raised():
                self._c_on_completion(
                    self._client_key, ctypes.byref(packet), 0, self._answer, len(self._answer)
                )
        finally:
            del BaseClient._clients[self._client_key]
        return inflight.response


@contextmanager
def _callback_errors_raised() -> Iterator[None]:
    """Raise what a callback of this thread raised in the block; ctypes would only print it."""
    errors: list[BaseException] = []
    thread, hook_before = threading.get_ident(), sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if threading.get_ident() == thread:
            errors.append(unraisable.exc_value)
        else:
            hook_before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = hook_before
    if errors:
        raise errors[0]
