"""A real TigerBeetle does not let us in, throws us out, or is not the one that it was."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tigerbeetle import ClientEvictedError

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.ledger_client import ledger_client
from adapters.tigerbeetle.official_client import official_client
from application.errors import LedgerUnavailableError
from domain.transfers import TransferId
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from tests.helpers.holdings import nothing_left, resident_bytes
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.tigerbeetle import fork_case
from tests.integration.tigerbeetle.payment import (
    CREATED,
    EXISTS,
    NOT_FOUND,
    Payment,
    clean_ledger_at,
    ledger_at,
    settle,
)
from tests.integration.tigerbeetle.processes import run_module

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]

CLIENTS_MAX = 8
"""Simultaneous clients of a server that runs with ``--development``."""

SESSIONS_MAX = 64
"""Sessions that any cluster remembers."""

OUTAGES = 8

CLIENT_BYTES = 20_000_000
"""About what one client needs."""

FAR_BEYOND_S = 60.0
"""Without a deadline, calls would never end."""


@pytest.fixture(scope="module")
def server() -> Iterator[TigerBeetleServer]:
    """A server that nobody else has a session on."""
    with TigerBeetleServer() as server:
        yield server


def look_up_once(address: str) -> None:
    """Take a session, commit something in it, and go."""
    client = official_client(CLUSTER_ID, address)
    try:
        client.lookup_transfers([1])
    finally:
        client.close()


def come_in_a_crowd(address: str, *, beside: int) -> None:
    """Take more sessions than a cluster keeps, on all the slots that *beside* others leave."""
    with ThreadPoolExecutor(CLIENTS_MAX - beside) as crowd:
        list(crowd.map(look_up_once, [address] * (SESSIONS_MAX + 2)))


def test_without_a_free_slot_a_call_ends_at_its_deadline_and_one_that_is_freed_is_used(
    server: TigerBeetleServer,
) -> None:
    payment = Payment(server.address)
    with clean_ledger_at(server.address) as ledger, ExitStack() as others:
        for _ in range(CLIENTS_MAX - 1):
            others.enter_context(official_client(CLUSTER_ID, server.address)).lookup_transfers([1])
        with official_client(CLUSTER_ID, server.address) as last:
            last.lookup_transfers([1])

            for _ in range(2):
                with pytest.raises(LedgerUnavailableError, match="no answer within the deadline"):
                    ledger.create_chains([payment.chain])

        assert settle(ledger, payment) == CREATED
    assert payment.posted() == 20


def test_a_crowd_evicts_who_is_idle_and_who_is_stuck_but_not_who_is_kept_alive(
    server: TigerBeetleServer, proxy_to: Callable[[str], TcpProxy]
) -> None:
    proxy = proxy_to(server.address)
    clients_of_kept: list[Client] = []

    def factory(cluster_id: int, addresses: str) -> Client:
        clients_of_kept.append(ledger_client(cluster_id, addresses))
        return clients_of_kept[-1]

    with (
        nothing_left(),
        ledger_at(server.address, deadline_s=FAR_BEYOND_S) as idle,
        ledger_at(proxy.address, deadline_s=FAR_BEYOND_S) as stuck,
        ledger_at(
            server.address, deadline_s=FAR_BEYOND_S, keep_alive_s=0.2, client_factory=factory
        ) as kept,
        ThreadPoolExecutor(1) as lane,
    ):
        for ledger in (idle, stuck, kept):
            assert ledger.lookup([TransferId(1)]) == {}
        proxy.blackhole()
        in_flight = lane.submit(stuck.lookup, [TransferId(1)])

        come_in_a_crowd(server.address, beside=3)
        proxy.pass_through()

        with pytest.raises(LedgerUnavailableError, match="evicted") as caught:
            in_flight.result(FAR_BEYOND_S)
        assert isinstance(caught.value.__cause__, ClientEvictedError)
        # It may have noticed by itself, and then says that the client was closed.
        with pytest.raises(LedgerUnavailableError, match="evicted"):
            idle.lookup([TransferId(1)])
        assert kept.lookup([TransferId(1)]) == {}
        assert len(clients_of_kept) == 1, "it was never thrown out"
        for ledger in (idle, stuck, kept):
            assert ledger.lookup([TransferId(1)]) == {}


def test_a_wrong_cluster_id_is_met_with_silence_and_the_message_names_the_setting(
    server: TigerBeetleServer,
) -> None:
    with clean_ledger_at(server.address, cluster_id=CLUSTER_ID + 1, deadline_s=1.0) as ledger:
        for _ in range(3):
            with pytest.raises(LedgerUnavailableError, match="TIGERBEETLE_CLUSTER_ID"):
                ledger.lookup([TransferId(1)])

    with clean_ledger_at(server.address) as right:
        assert settle(right, Payment(server.address)) == CREATED


def test_an_empty_cluster_in_the_place_of_ours_has_nothing_and_ours_settles_once_it_is_back(
    server: TigerBeetleServer,
    private_tigerbeetle: TigerBeetleServer,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    payment, proxy = Payment(server.address), proxy_to(server.address)
    with clean_ledger_at(proxy.address) as ledger:
        assert list(ledger.lookup_accounts([payment.payer])) == [payment.payer]

        proxy.redirect(private_tigerbeetle.address)
        with pytest.raises(LedgerUnavailableError, match="evicted"):
            ledger.create_chains([payment.chain])
        assert settle(ledger, payment) == NOT_FOUND
        assert ledger.lookup_accounts([payment.payer]) == {}
        proxy.redirect(server.address)
        with pytest.raises(LedgerUnavailableError, match="evicted"):
            ledger.create_chains([payment.chain])

        assert settle(ledger, payment) == CREATED
        assert settle(ledger, payment) == EXISTS
    assert payment.posted() == 20


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_host_name_leads_to_the_server(server: TigerBeetleServer, host: str) -> None:
    with clean_ledger_at(f"{host}:{server.port}") as ledger:
        assert settle(ledger, Payment(server.address)) == CREATED


def test_a_host_name_that_does_not_resolve_is_an_outage_that_names_the_setting() -> None:
    with clean_ledger_at("no-such-host.invalid:3000", deadline_s=FAR_BEYOND_S) as ledger:
        for _ in range(3):
            with pytest.raises(
                LedgerUnavailableError, match="TIGERBEETLE_ADDRESSES: 'no-such-host"
            ):
                ledger.lookup([TransferId(1)])


def test_many_outages_leave_nothing_behind(
    server: TigerBeetleServer, proxy_to: Callable[[str], TcpProxy]
) -> None:
    payment, proxy = Payment(server.address), proxy_to(server.address)
    with clean_ledger_at(proxy.address, deadline_s=1.0) as ledger:
        assert settle(ledger, payment) in (CREATED, EXISTS)
        before_bytes = resident_bytes()

        with nothing_left():
            for _ in range(OUTAGES):
                proxy.blackhole()
                with pytest.raises(LedgerUnavailableError):
                    ledger.lookup([TransferId(1)])
                proxy.cut()
                proxy.pass_through()
                assert settle(ledger, payment) == EXISTS

        assert resident_bytes() - before_bytes < CLIENT_BYTES
    assert payment.posted() == 20


def test_after_a_fork_parent_and_child_each_have_a_client_that_works(
    server: TigerBeetleServer,
) -> None:
    done = run_module(fork_case, server.address)

    assert (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, ["held"], "")
