"""A real TigerBeetle is killed, paused, away: the same ids settle it in the end, once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from application.errors import LedgerUnavailableError
from domain.transfers import TransferId
from entrypoints.sandbox.tigerbeetle_server import TigerBeetleServer
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.tigerbeetle.payment import CREATED, EXISTS, Payment, clean_ledger_at, settle
from tests.unit.tigerbeetle.ledgers import adapter_threads

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]


@pytest.fixture
def ledger(private_tigerbeetle: TigerBeetleServer) -> Iterator[TigerBeetleLedger]:
    with clean_ledger_at(private_tigerbeetle.address) as ledger:
        yield ledger


def test_a_chain_whose_answer_was_lost_exists_when_it_is_sent_again(
    tigerbeetle_address: str, proxy_to: Callable[[str], TcpProxy]
) -> None:
    payment, proxy = Payment(tigerbeetle_address), proxy_to(tigerbeetle_address)
    with clean_ledger_at(proxy.address) as ledger:
        assert ledger.lookup([TransferId(1)]) == {}

        proxy.drop_answers()
        with pytest.raises(LedgerUnavailableError, match="outcome unknown"):
            ledger.create_chains([payment.chain])
        proxy.pass_through()

        assert payment.posted() == 20
        assert settle(ledger, payment) == EXISTS
    assert payment.posted() == 20


def test_a_chain_that_never_arrived_is_created_when_it_is_sent_again(
    tigerbeetle_address: str, proxy_to: Callable[[str], TcpProxy]
) -> None:
    payment, proxy = Payment(tigerbeetle_address), proxy_to(tigerbeetle_address)
    with clean_ledger_at(proxy.address) as ledger:
        assert ledger.lookup([TransferId(1)]) == {}

        proxy.refuse()
        with pytest.raises(LedgerUnavailableError, match="outcome unknown"):
            ledger.create_chains([payment.chain])
        # Until it is closed, the client that was given up would still get through.
        wait_until(lambda: not adapter_threads(), what="the client is closed")
        proxy.pass_through()

        assert payment.posted() == 0
        assert settle(ledger, payment) == CREATED
    assert payment.posted() == 20


def test_a_server_killed_with_a_request_in_flight_settles_it_once_when_it_is_back(
    private_tigerbeetle: TigerBeetleServer, ledger: TigerBeetleLedger
) -> None:
    payment = Payment(private_tigerbeetle.address)
    assert ledger.lookup([TransferId(1)]) == {}

    private_tigerbeetle.pause()
    with ThreadPoolExecutor() as lanes:
        in_flight = lanes.submit(ledger.create_chains, [payment.chain])
        # Frozen, it cannot answer: the request is on its way, or waits to be read.
        private_tigerbeetle.kill()
        with pytest.raises(LedgerUnavailableError):
            in_flight.result()
    private_tigerbeetle.start()

    assert settle(ledger, payment) in (CREATED, EXISTS)
    assert payment.posted() == 20


def test_a_server_paused_beyond_the_deadline_settles_once_when_it_goes_on(
    private_tigerbeetle: TigerBeetleServer, ledger: TigerBeetleLedger
) -> None:
    payment = Payment(private_tigerbeetle.address)
    assert ledger.lookup([TransferId(1)]) == {}

    private_tigerbeetle.pause()
    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains([payment.chain])
    with pytest.raises(LedgerUnavailableError):
        ledger.lookup([payment.chain[0].id])
    private_tigerbeetle.resume()

    assert settle(ledger, payment) in (CREATED, EXISTS)
    assert settle(ledger, payment) == EXISTS
    assert payment.posted() == 20


def test_a_server_that_is_away_at_the_start_is_found_when_it_comes(
    private_tigerbeetle: TigerBeetleServer, ledger: TigerBeetleLedger
) -> None:
    payment = Payment(private_tigerbeetle.address)
    private_tigerbeetle.stop()

    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains([payment.chain])
    private_tigerbeetle.start()

    assert settle(ledger, payment) == CREATED
    assert payment.posted() == 20


def test_a_restart_between_two_calls_costs_no_more_than_time(
    private_tigerbeetle: TigerBeetleServer, ledger: TigerBeetleLedger
) -> None:
    payment = Payment(private_tigerbeetle.address)
    assert settle(ledger, payment) == CREATED

    private_tigerbeetle.stop()
    private_tigerbeetle.start()

    assert settle(ledger, payment) == EXISTS
    assert payment.posted() == 20
