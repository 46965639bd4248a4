"""A ledger with scripted faults tells a failed call from a lost answer."""

import threading
from dataclasses import replace
from uuid import uuid4

import pytest

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall, unavailable
from application.errors import LedgerUnavailableError
from application.ports.ledger import Ledger
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfer_status import TransferStatus
from domain.transfers import TransferId
from tests.unit.memory.ledger_scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()


def a_search(scene: Scene) -> ResolutionSearch:
    return ResolutionSearch(
        intent_id=IntentId(uuid4()),
        pendings=tuple(scene.ledger.lookup_transfers([scene.pending_id])),
        fee_code=1,
        fee_credit_account_id=None,
    )


def test_a_call_that_fails_before_changes_nothing_and_the_next_is_carried_out(
    scene: Scene,
) -> None:
    ledger: Ledger = FaultyLedger(scene.ledger, before=unavailable(times=1))

    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains([(scene.post(1),)])

    assert scene.debits(scene.payer) == (100, 0)
    assert ledger.create_chains([(scene.post(1),)]) == [(TransferStatus.CREATED,)]


def test_a_lost_answer_was_carried_out_and_the_repeat_says_so(scene: Scene) -> None:
    ledger = FaultyLedger(scene.ledger, after=unavailable(times=1))

    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains([(scene.post(1),)])

    assert scene.debits(scene.payer) == (0, 100)
    assert ledger.create_chains([(scene.post(1),)]) == [(TransferStatus.EXISTS,)]


def test_a_call_hangs_while_its_hook_blocks(scene: Scene) -> None:
    entered, released = threading.Event(), threading.Event()

    def hang(_call: LedgerCall) -> None:
        entered.set()
        assert released.wait(timeout=30)

    ledger = FaultyLedger(scene.ledger, before=hang)
    caller = threading.Thread(target=ledger.create_chains, args=([(scene.post(1),)],))
    caller.start()
    assert entered.wait(timeout=30)
    while_hanging = scene.debits(scene.payer)
    released.set()
    caller.join(timeout=30)

    assert while_hanging == (100, 0)
    assert scene.debits(scene.payer) == (0, 100)


def test_every_call_is_recorded_even_one_that_fails(scene: Scene) -> None:
    ledger = FaultyLedger(scene.ledger, before=unavailable(times=1))
    search = a_search(scene)

    with pytest.raises(LedgerUnavailableError):
        ledger.lookup([TransferId(1)])
    ledger.lookup([TransferId(2)])
    ledger.find_resolutions(search)

    assert ledger.calls == [
        LedgerCall("lookup", [TransferId(1)]),
        LedgerCall("lookup", [TransferId(2)]),
        LedgerCall("find_resolutions", search),
    ]


def test_a_search_that_ends_early_says_so_and_holds_nothing(scene: Scene) -> None:
    scene.ledger.create_chains([(scene.post(1),)])
    search = a_search(scene)
    ledger = FaultyLedger(scene.ledger, searches_end_early=True)

    assert len(scene.ledger.find_resolutions(search).transfers) == 1
    assert ledger.find_resolutions(search) == SearchAnswer(
        (), has_all_resolvers=False, has_all_fees=False
    )
    # Of no transfer is it unknown who resolved it.
    assert ledger.find_resolutions(replace(search, pendings=())).has_all_resolvers
    ledger.searches_end_early = False
    assert ledger.find_resolutions(search) == scene.ledger.find_resolutions(search)
