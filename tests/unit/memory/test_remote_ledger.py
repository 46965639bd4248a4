"""A ledger in another process fulfils the port's contracts, and its server's faults are named."""

from collections.abc import Iterator

import pytest

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.remote_ledger import LedgerServer, RemoteLedger
from application.errors import LedgerMisconfiguredError, LedgerUnavailableError
from domain.transfers import TransferId
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


def test_a_server_that_is_away_is_unavailable() -> None:
    with pytest.raises(LedgerUnavailableError):
        RemoteLedger(f"memory://127.0.0.1:{free_port()}", deadline_s=DEADLINE_S).lookup([])


def test_an_address_without_a_port_is_a_misconfiguration() -> None:
    with pytest.raises(LedgerMisconfiguredError, match="TIGERBEETLE_ADDRESSES"):
        RemoteLedger("memory://nowhere", deadline_s=DEADLINE_S)
