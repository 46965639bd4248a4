"""A stand-in for the official client's native library, below all of its Python.

It reads requests and writes answers with the client's own structures, whatever they look
like at the time; so a test may change them as a newer release would.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import tigerbeetle as tb
from tigerbeetle import bindings
from tigerbeetle.lib import c_uint128


@dataclass(frozen=True)
class Refuses:
    """The answer to one request: a status of the packet, and nothing else."""

    status: bindings.PacketStatus


class NativeTigerBeetle:
    """Answers every packet before the call that submits it returns.

    Creates are answered with ``statuses`` in turn, then with ``CREATED``; look-ups and queries
    find ``transfers``.
    """

    def __init__(self) -> None:
        self.transfers: list[tb.Transfer] = []
        self.statuses: deque[int] = deque()
        self.refusals: deque[Refuses] = deque()
        self.created: list[tb.Transfer] = []
        self.looked_up: list[int] = []
        self.requests: list[bytes] = []
        self._completions: dict[int, Callable[..., None]] = {}

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the library's place until the test ends."""
        monkeypatch.setattr(bindings, "tb_client_init", self._init)
        monkeypatch.setattr(bindings, "tb_client_submit", self._submit)
        monkeypatch.setattr(bindings, "tb_client_deinit", self._deinit)

    def _init(
        self, client: Any, cluster_id: Any, addresses: bytes, length: int, key: int, completion: Any
    ) -> bindings.InitStatus:
        self._completions[ctypes.addressof(client._obj)] = partial(completion, key)
        return bindings.InitStatus.SUCCESS

    def _deinit(self, client: Any) -> bindings.ClientStatus:
        del self._completions[ctypes.addressof(client._obj)]
        return bindings.ClientStatus.OK

    def _submit(self, client: Any, packet_ref: Any) -> bindings.ClientStatus:
        complete = self._completions.get(ctypes.addressof(client._obj))
        if complete is None:
            return bindings.ClientStatus.INVALID
        packet = packet_ref._obj
        request = ctypes.string_at(packet.data, packet.data_size)
        self.requests.append(request)
        answer = b""
        if self.refusals:
            packet.status = self.refusals.popleft().status
        else:
            answer = self._answers[packet.operation](request)
        complete(packet_ref, 0, answer, len(answer))
        return bindings.ClientStatus.OK

    @property
    def clients(self) -> int:
        """How many clients are open."""
        return len(self._completions)

    @property
    def _answers(self) -> dict[int, Callable[[bytes], bytes]]:
        return {
            tb.Operation.CREATE_TRANSFERS: self._create,
            tb.Operation.LOOKUP_TRANSFERS: self._look_up,
            tb.Operation.QUERY_TRANSFERS: lambda _: _packed(self.transfers),
            tb.Operation.GET_ACCOUNT_TRANSFERS: lambda _: _packed(self.transfers),
        }

    def _create(self, request: bytes) -> bytes:
        events = [event.to_python() for event in _unpacked(bindings.CTransfer, request)]
        self.created += events
        return b"".join(
            bytes(
                bindings.CCreateTransferResult(
                    timestamp=number,
                    status=self.statuses.popleft()
                    if self.statuses
                    else tb.CreateTransferStatus.CREATED,
                )
            )
            for number, _ in enumerate(events, start=1)
        )

    def _look_up(self, request: bytes) -> bytes:
        ids = [id_.to_python() for id_ in _unpacked(c_uint128, request)]
        self.looked_up += ids
        return _packed([transfer for transfer in self.transfers if transfer.id in ids])


def _packed(transfers: Sequence[tb.Transfer]) -> bytes:
    return b"".join(bytes(bindings.CTransfer.from_param(transfer)) for transfer in transfers)


def _unpacked(structure: Any, request: bytes) -> Any:
    size = ctypes.sizeof(structure)
    assert len(request) % size == 0, "half an event"
    return (structure * (len(request) // size)).from_buffer_copy(request)
