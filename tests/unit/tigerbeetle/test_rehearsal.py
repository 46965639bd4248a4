"""A release of the client that works in another way is driven by its public methods."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs
from tigerbeetle import ClientSync, Operation, bindings
from tigerbeetle.client import Client as BaseClient

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.conversion import to_client
from adapters.tigerbeetle.ledger_client import best_way, driven
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import MendedClient, PlainClient
from adapters.tigerbeetle.rehearsal import fault_of
from domain.transfer_status import TransferStatus
from domain.transfers import TransferId
from tests.helpers.native_tigerbeetle import NativeTigerBeetle
from tests.unit.tigerbeetle.ledgers import a_chain, a_transfer

Change = Callable[[pytest.MonkeyPatch], None]
FIELDS: list[Any] = list(bindings.CTransfer._fields_)
RESULT_FIELDS: list[Any] = list(bindings.CCreateTransferResult._fields_)


@pytest.fixture(autouse=True)
def undecided() -> Iterator[None]:
    """Let every test decide anew, and none decide for others."""
    best_way.cache_clear()
    yield
    best_way.cache_clear()


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> NativeTigerBeetle:
    native = NativeTigerBeetle()
    native.install(monkeypatch)
    return native


def relaid(name: str, fields: list[Any]) -> Change:
    """Return the change that gives the structure *name* these *fields*."""

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        before = getattr(bindings, name)
        methods = {"from_param": before.__dict__["from_param"], "to_python": before.to_python}
        after = type(name, (ctypes.Structure,), {**methods, "_fields_": fields})
        monkeypatch.setattr(bindings, name, after)

    return change


def swapped(fields: list[Any], one: str, other: str) -> list[Any]:
    names = [name for name, _ in fields]
    mapping = {one: fields[names.index(other)], other: fields[names.index(one)]}
    return [mapping.get(name, (name, form)) for name, form in fields]


def other_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ClientSync._submit

    def submit(self: Any, operation: Any, events: Any, event_type: Any, result_type: Any) -> Any:
        return before(self, operation, events, event_type, result_type)

    monkeypatch.setattr(ClientSync, "_submit", submit)


def converts_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a packet's events by a method that only the client's structures have."""
    before = BaseClient._acquire_packet

    def acquire(self: Any, operation: Any, operations: Any, event_type: Any, result: Any) -> Any:
        assert event_type.__module__.startswith("tigerbeetle.")
        return before(self, operation, operations, event_type, result)

    monkeypatch.setattr(BaseClient, "_acquire_packet", acquire)


def counts_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reckon a request's size from its operation and how many events it has."""
    before = BaseClient._acquire_packet
    sizes = {Operation.CREATE_TRANSFERS: 128, Operation.LOOKUP_TRANSFERS: 16}

    def acquire(self: Any, operation: Any, operations: Any, event_type: Any, result: Any) -> Any:
        inflight = before(self, operation, operations, event_type, result)
        if operation in sizes:
            inflight.packet.data_size = sizes[operation] * len(operations)
        return inflight

    monkeypatch.setattr(BaseClient, "_acquire_packet", acquire)


def reads_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read results without asking their type to."""
    theirs: Any = {
        bindings.CCreateTransferResult: bindings.CCreateTransferResult.to_python,
        bindings.CTransfer: bindings.CTransfer.to_python,
    }

    @bindings.OnCompletion  # type: ignore[untyped-decorator]
    def complete(key: int, packet: Any, timestamp: int, data: Any, length: int) -> None:
        client = BaseClient._clients[key]
        inflight = client._inflight_packets[packet[0].user_data]
        read = theirs.get(inflight.c_result_type, bytes)
        size = ctypes.sizeof(inflight.c_result_type)
        results = ctypes.cast(data, ctypes.POINTER(inflight.c_result_type))[0 : length // size]
        inflight.response = [read(result) for result in results]
        inflight.on_completion(inflight)

    monkeypatch.setattr(BaseClient, "_c_on_completion", staticmethod(complete))


# What changes, and the way that is still right.
CHANGES: dict[str, tuple[Change, type[PlainClient]]] = {
    "two fields of one width change places": (
        relaid("CTransfer", swapped(FIELDS, "code", "flags")),
        MendedClient,
    ),
    "two ids change places": (
        relaid("CTransfer", swapped(FIELDS, "debit_account_id", "credit_account_id")),
        MendedClient,
    ),
    "transfers become longer": (
        relaid("CTransfer", [*FIELDS, ("more", ctypes.c_uint64)]),
        MendedClient,
    ),
    "results become longer": (
        relaid("CCreateTransferResult", [*RESULT_FIELDS, ("more", ctypes.c_uint64)]),
        PlainClient,
    ),
    "the status moves": (
        relaid("CCreateTransferResult", swapped(RESULT_FIELDS, "status", "reserved")),
        PlainClient,
    ),
    "requests are submitted by other parameters": (other_submit, PlainClient),
    "events are of the client's own types": (converts_before, MendedClient),
    "a request is as long as its events are many": (counts_events, MendedClient),
    "results are of the client's own types": (reads_otherwise, PlainClient),
}


def test_the_installed_client_is_driven_packed(native: NativeTigerBeetle) -> None:
    clients = dict(BaseClient._clients)

    with capture_logs() as logs:
        way = best_way()

    assert way is PackedClient
    assert logs == []
    assert native.requests == [], "a rehearsal reached the library"
    assert BaseClient._clients == clients, "a rehearsal left a client behind"


@pytest.mark.parametrize(("change", "way"), CHANGES.values(), ids=CHANGES)
def test_another_release_is_driven_otherwise_with_the_same_answers_and_one_warning(
    native: NativeTigerBeetle,
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    way: type[PlainClient],
) -> None:
    def answers(client: Client) -> object:
        native.statuses.extend([TransferStatus.CREATED, TransferStatus.EXISTS, 54])
        created = client.create_transfers(a_chain(1, 3))
        found = client.lookup_transfers([TransferId(7), TransferId(8)])
        client.close()
        return created, found

    native.transfers = [to_client(a_transfer(7))]
    as_known = answers(PackedClient(ClientSync(0, "3000")))
    change(monkeypatch)

    with capture_logs() as logs:
        clients = [driven(ClientSync(0, "3000")) for _ in range(2)]

    assert [type(client) for client in clients] == [way, way]
    assert [line["event"] for line in logs] == ["ledger_packing_off"]
    assert logs[0]["fault"]
    assert [answers(client) for client in clients] == [as_known] * 2
    assert native.created == [to_client(transfer) for transfer in a_chain(1, 3)] * 3


def test_what_goes_wrong_in_the_clients_callback_is_the_fault_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @bindings.OnCompletion  # type: ignore[untyped-decorator]
    def complete(*_: object) -> None:
        raise RuntimeError("not so")

    monkeypatch.setattr(BaseClient, "_c_on_completion", staticmethod(complete))

    assert fault_of(PackedClient) == "RuntimeError: not so"
