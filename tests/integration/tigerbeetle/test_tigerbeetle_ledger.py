"""The ledger contract on a real TigerBeetle, and what only a real one shows."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.resolution_search import PAGE_EVENTS
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from tests.contracts.ledger import LEDGER, LedgerContract, payment, post_of
from tests.integration.tigerbeetle.bank import FREEZE_CODE, TigerBeetleBank, bank_at

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]


@pytest.fixture(scope="module")
def shared_ledger(tigerbeetle_server: TigerBeetleServer) -> Iterator[TigerBeetleLedger]:
    """One client for all of these tests: a development server takes few."""
    ledger = TigerBeetleLedger(addresses=tigerbeetle_server.address, cluster_id=CLUSTER_ID)
    yield ledger
    ledger.close()


@pytest.fixture(scope="module")
def shared_bank(tigerbeetle_server: TigerBeetleServer) -> Iterator[TigerBeetleBank]:
    with bank_at(tigerbeetle_server.address) as bank:
        yield bank


class TestTigerBeetleLedger(LedgerContract):
    @pytest.fixture
    def ledger(self, shared_ledger: TigerBeetleLedger) -> TigerBeetleLedger:
        return shared_ledger

    @pytest.fixture
    def bank(self, shared_bank: TigerBeetleBank) -> TigerBeetleBank:
        return shared_bank


def test_a_search_reads_pages_no_larger_than_the_server_answers(
    shared_ledger: TigerBeetleLedger, shared_bank: TigerBeetleBank
) -> None:
    payer, payee = shared_bank.open_account(ledger=LEDGER), shared_bank.open_account(ledger=LEDGER)
    first, *others = [shared_bank.freeze(payer, payee, 1) for _ in range(2)]
    crowd = [replace(payment(payer, payee, 1), code=FREEZE_CODE) for _ in range(PAGE_EVENTS + 1)]
    shared_ledger.create_chains([(transfer,) for transfer in crowd])
    post = post_of(first)
    shared_ledger.create_chains([(post,)])
    search = ResolutionSearch(
        intent_id=IntentId(uuid4()),
        pendings=tuple(shared_ledger.lookup([first, *others]).values()),
        fee_code=1,
        fee_credit_account_id=payee,
    )

    (found,) = shared_ledger.find_resolutions([search])

    assert [transfer.id for transfer in found] == [post.id]
