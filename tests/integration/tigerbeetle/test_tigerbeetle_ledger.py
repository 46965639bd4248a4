"""The ledger contract on a real TigerBeetle, and what only a real one shows."""

from dataclasses import replace
from uuid import uuid4

import pytest

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.resolution_search import PAGE_EVENTS
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch
from tests.contracts.ledger import LEDGER, LedgerContract, payment, post_of
from tests.integration.tigerbeetle.bank import FREEZE_CODE, TigerBeetleBank

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]


class TestTigerBeetleLedger(LedgerContract):
    @pytest.fixture
    def ledger(self, tigerbeetle_ledger: TigerBeetleLedger) -> TigerBeetleLedger:
        return tigerbeetle_ledger

    @pytest.fixture
    def bank(self, tigerbeetle_bank: TigerBeetleBank) -> TigerBeetleBank:
        return tigerbeetle_bank


def test_a_search_reads_pages_no_larger_than_the_server_answers(
    tigerbeetle_ledger: TigerBeetleLedger, tigerbeetle_bank: TigerBeetleBank
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

    (found,) = tigerbeetle_ledger.find_resolutions([search])

    assert [transfer.id for transfer in found] == [post.id]
