"""The ledger contract on a real TigerBeetle, and what only a real one shows."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from adapters.tigerbeetle import resolution_search
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.ledger_client import best_way
from adapters.tigerbeetle.official_client import official_client
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import MendedClient, PlainClient
from adapters.tigerbeetle.resolution_search import PAGE_EVENTS
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from tests.contracts.ledger import LEDGER, LedgerContract, payment, post_of
from tests.integration.tigerbeetle.bank import FREEZE_CODE, TigerBeetleBank

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]


@pytest.fixture(scope="module", params=[MendedClient, PlainClient])
def unpacked_ledger(
    tigerbeetle_server: TigerBeetleServer, request: pytest.FixtureRequest
) -> Iterator[TigerBeetleLedger]:
    """The real adapter as a release of the client has it whose inner workings we do not know."""
    way: type[PlainClient] = request.param
    ledger = TigerBeetleLedger(
        addresses=tigerbeetle_server.address,
        cluster_id=CLUSTER_ID,
        client_factory=lambda *where: way(official_client(*where)),
    )
    yield ledger
    ledger.close()


class TestTigerBeetleLedger(LedgerContract):
    @pytest.fixture
    def ledger(self, tigerbeetle_ledger: TigerBeetleLedger) -> TigerBeetleLedger:
        return tigerbeetle_ledger

    @pytest.fixture
    def bank(self, tigerbeetle_bank: TigerBeetleBank) -> TigerBeetleBank:
        return tigerbeetle_bank


class TestTigerBeetleLedgerWithoutPacking(LedgerContract):
    @pytest.fixture
    def ledger(self, unpacked_ledger: TigerBeetleLedger) -> TigerBeetleLedger:
        return unpacked_ledger

    @pytest.fixture
    def bank(self, tigerbeetle_bank: TigerBeetleBank) -> TigerBeetleBank:
        return tigerbeetle_bank


def test_the_client_of_this_release_is_driven_packed() -> None:
    assert best_way() is PackedClient


def test_a_search_reads_pages_no_larger_than_the_server_answers(
    tigerbeetle_ledger: TigerBeetleLedger,
    tigerbeetle_bank: TigerBeetleBank,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payer, payee = (
        tigerbeetle_bank.open_account(ledger=LEDGER),
        tigerbeetle_bank.open_account(ledger=LEDGER),
    )
    first, *others = [tigerbeetle_bank.freeze(payer, payee, 1) for _ in range(2)]
    crowd = [replace(payment(payer, payee, 1), code=FREEZE_CODE) for _ in range(PAGE_EVENTS + 1)]
    tigerbeetle_ledger.create_chains([(transfer,) for transfer in crowd])
    post = post_of(first)
    tigerbeetle_ledger.create_chains([(post,)])
    search = ResolutionSearch(
        intent_id=IntentId(uuid4()),
        pendings=tuple(tigerbeetle_ledger.lookup([first, *others]).values()),
        fee_code=1,
        fee_credit_account_id=payee,
    )

    found = tigerbeetle_ledger.find_resolutions(search)

    assert [transfer.id for transfer in found.transfers] == [post.id]
    assert found.has_all_resolvers
    # As if the account were busier than a search reads on.
    monkeypatch.setattr(resolution_search, "PAGES_MAX", 1)
    assert tigerbeetle_ledger.find_resolutions(search) == SearchAnswer((), has_all_resolvers=False)
