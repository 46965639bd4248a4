"""A ledger in another process fulfils the port's contracts, and its server's faults are named."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.remote_ledger import LedgerServer, RemoteLedger
from application.errors import LedgerMisconfiguredError, LedgerUnavailableError
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch
from domain.transfers import Transfer, TransferId
from entrypoints.sandbox.resources import free_port
from tests.contracts.ledger import LedgerContract
from tests.contracts.ledger_accounts import LedgerAccountsContract
from tests.unit.memory.memory_bank import MemoryBank

DEADLINE_S = 30.0
SHORT_S = 0.25


@pytest.fixture
def memory() -> InMemoryLedger:
    return InMemoryLedger()


@pytest.fixture
def server(memory: InMemoryLedger) -> Iterator[LedgerServer]:
    with LedgerServer(memory) as server:
        yield server


@pytest.fixture
def bank(memory: InMemoryLedger) -> MemoryBank:
    return MemoryBank(memory)


class TestLedger(LedgerContract):
    """The contract, over loopback."""

    @pytest.fixture
    def ledger(self, server: LedgerServer) -> RemoteLedger:
        return RemoteLedger(server.url, deadline_s=DEADLINE_S)

    @pytest.fixture
    def bank(self, memory: InMemoryLedger) -> MemoryBank:
        return MemoryBank(memory)


class TestAccounts(LedgerAccountsContract):
    """The contract, over loopback."""

    @pytest.fixture
    def accounts(self, server: LedgerServer) -> RemoteLedger:
        return RemoteLedger(server.url, deadline_s=DEADLINE_S)


def test_a_paused_server_is_unavailable_at_the_deadline_and_answers_once_it_goes_on(
    server: LedgerServer,
) -> None:
    ledger = RemoteLedger(server.url, deadline_s=SHORT_S)
    server.pause()
    with pytest.raises(LedgerUnavailableError):
        ledger.lookup([TransferId(1)])
    server.resume()

    assert RemoteLedger(server.url, deadline_s=DEADLINE_S).lookup([TransferId(1)]) == {}


def test_what_a_search_says_of_itself_is_passed_on(memory: InMemoryLedger) -> None:
    search = ResolutionSearch(
        intent_id=IntentId(uuid4()),
        pendings=(Transfer(id=TransferId(1)),),
        fee_code=1,
        fee_credit_account_id=None,
    )

    served = FaultyLedger(memory, searches_end_early=True)
    with LedgerServer(served) as server:
        ledger = RemoteLedger(server.url, deadline_s=DEADLINE_S)

        for one in (search, replace(search, pendings=())):
            assert ledger.find_resolutions(one) == served.find_resolutions(one)


def test_a_server_that_is_away_is_unavailable() -> None:
    with pytest.raises(LedgerUnavailableError):
        RemoteLedger(f"memory://127.0.0.1:{free_port()}", deadline_s=DEADLINE_S).lookup([])


def test_an_address_without_a_port_is_a_misconfiguration() -> None:
    with pytest.raises(LedgerMisconfiguredError, match="TIGERBEETLE_ADDRESSES"):
        RemoteLedger("memory://nowhere", deadline_s=DEADLINE_S)
