"""What the official client is asked, and what its answers mean, is the same every way."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tigerbeetle as tb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tigerbeetle import ClientSync, bindings

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.conversion import to_client
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import MendedClient, PlainClient
from domain.transfer_status import TransferStatus, UnknownStatus
from domain.transfers import Transfer, TransferId
from tests.helpers.native_tigerbeetle import NativeTigerBeetle, Refuses
from tests.helpers.transfer_strategies import transfers
from tests.unit.tigerbeetle.ledgers import a_transfer

WAYS = [PlainClient, MendedClient, PackedClient]
QUERY = tb.QueryFilter(
    user_data_128=5,
    user_data_64=0,
    user_data_32=0,
    ledger=1,
    code=7,
    timestamp_min=8,
    timestamp_max=9,
    limit=10,
    flags=tb.QueryFilterFlags.REVERSED,
)
ACCOUNT_QUERY = tb.AccountFilter(
    account_id=1,
    user_data_128=5,
    user_data_64=0,
    user_data_32=0,
    code=7,
    timestamp_min=8,
    timestamp_max=9,
    limit=10,
    flags=tb.AccountFilterFlags.DEBITS,
)
CALLS: dict[str, Callable[[Client], object]] = {
    "create": lambda client: client.create_transfers([a_transfer(1), a_transfer(2)]),
    "look up": lambda client: client.lookup_transfers([1, 2]),
    "query": lambda client: client.query_transfers(QUERY),
    "query an account": lambda client: client.get_account_transfers(ACCOUNT_QUERY),
}


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> NativeTigerBeetle:
    native = NativeTigerBeetle()
    native.install(monkeypatch)
    return native


@pytest.fixture
def official(native: NativeTigerBeetle) -> Iterator[ClientSync]:
    """The official client; no call may leave a packet behind in it."""
    client = ClientSync(0, "3000")
    yield client
    assert client._inflight_packets == {}
    client.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some=st.lists(transfers, min_size=1, max_size=5))
def test_the_same_bytes_go_out(
    official: ClientSync, native: NativeTigerBeetle, some: list[Transfer]
) -> None:
    sent = []
    for way in WAYS:
        client = way(official)
        native.requests.clear()
        client.create_transfers(some)
        client.lookup_transfers([transfer.id for transfer in some])
        client.query_transfers(QUERY)
        client.get_account_transfers(ACCOUNT_QUERY)
        sent.append(list(native.requests))

    assert len(sent[0]) == 4
    assert sent == [sent[0]] * 3
    assert native.looked_up[-len(some) :] == [transfer.id for transfer in some]


@pytest.mark.parametrize("way", [MendedClient, PackedClient])
def test_every_status_is_read_and_one_of_a_newer_server_ends_the_call_all_the_same(
    official: ClientSync, native: NativeTigerBeetle, way: type[PlainClient]
) -> None:
    codes = [*(status.value for status in TransferStatus), 4711, 0]
    native.statuses.extend(codes)

    answer = way(official).create_transfers([a_transfer(id_) for id_ in range(1, len(codes) + 1)])

    assert list(answer) == [*TransferStatus, UnknownStatus(4711), UnknownStatus(0)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some=st.lists(transfers, max_size=5))
@pytest.mark.parametrize("way", WAYS)
def test_transfers_come_back_as_the_ledger_keeps_them(
    official: ClientSync,
    native: NativeTigerBeetle,
    way: type[PlainClient],
    some: list[Transfer],
) -> None:
    native.transfers = list(map(to_client, some))
    client = way(official)

    assert client.lookup_transfers([transfer.id for transfer in some] or [1]) == some
    assert client.query_transfers(QUERY) == some
    assert client.get_account_transfers(ACCOUNT_QUERY) == some


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (bindings.PacketStatus.TOO_MUCH_DATA, tb.TooMuchDataError),
        (bindings.PacketStatus.CLIENT_EVICTED, tb.ClientEvictedError),
        (bindings.PacketStatus.CLIENT_RELEASE_TOO_LOW, tb.ClientReleaseTooLowError),
        (bindings.PacketStatus.CLIENT_RELEASE_TOO_HIGH, tb.ClientReleaseTooHighError),
        (bindings.PacketStatus.CLIENT_SHUTDOWN, tb.ClientClosedError),
    ],
)
def test_a_request_that_is_not_answered_raises_the_clients_own_error(
    official: ClientSync,
    native: NativeTigerBeetle,
    way: type[PlainClient],
    call: Callable[[Client], object],
    status: bindings.PacketStatus,
    error: type[Exception],
) -> None:
    native.refusals.append(Refuses(status))

    with pytest.raises(error):
        call(way(official))

    assert official._inflight_packets == {}
    call(way(official))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_client_that_is_closed_says_so(
    native: NativeTigerBeetle, way: type[PlainClient], call: Callable[[Client], object]
) -> None:
    official = ClientSync(0, "3000")
    client = way(official)
    client.close()

    with pytest.raises(tb.ClientClosedError):
        call(client)

    assert native.clients == 0
    assert official._inflight_packets == {}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_cannot_be_sent_sends_nothing_and_leaves_nothing_behind(
    official: ClientSync, native: NativeTigerBeetle, way: type[PlainClient]
) -> None:
    unsendable: Any = Transfer(id=TransferId(2**128))

    with pytest.raises((OverflowError, tb.IntegerOverflowError)):
        way(official).create_transfers([a_transfer(1), unsendable])

    assert native.requests == []
