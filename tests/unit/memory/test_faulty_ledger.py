"""A ledger with scripted faults tells a failed call from a lost answer."""

import threading

import pytest

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall, unavailable
from application.errors import LedgerUnavailableError
from application.ports.ledger import Ledger
from domain.transfer_status import TransferStatus
from domain.transfers import TransferId
from tests.unit.memory.ledger_scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()


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

    with pytest.raises(LedgerUnavailableError):
        ledger.lookup([TransferId(1)])
    ledger.lookup([TransferId(2)])
    ledger.find_resolutions([])

    assert ledger.calls == [
        LedgerCall("lookup", [TransferId(1)]),
        LedgerCall("lookup", [TransferId(2)]),
        LedgerCall("find_resolutions", []),
    ]
