"""Requests to the in-memory ledger: their time, their size, and threads that share it."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from adapters.memory.ledger import InMemoryLedger
from domain.chains import close_chain
from domain.ledger_requests import ChainRefused
from domain.transfer_status import TransferStatus
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId
from tests.unit.memory.ledger_scene import Scene
from tests.unit.memory.memory_bank import MemoryBank


@pytest.fixture
def scene() -> Scene:
    return Scene()


def timestamps(scene: Scene, *ids: int) -> list[int]:
    found = scene.ledger.lookup_transfers([TransferId(id_) for id_ in ids])
    return [transfer.timestamp_ns for transfer in found]


def test_events_of_one_request_are_consecutive_and_failed_ones_count(scene: Scene) -> None:
    scene.send(scene.payment(1), scene.payment(2, code=0), scene.payment(3), scene.payment(4))

    first, third, fourth = timestamps(scene, 1, 3, 4)
    assert (third - first, fourth - first) == (2, 3)


def test_two_requests_are_never_adjacent_even_when_the_clock_stands_still() -> None:
    ledger = InMemoryLedger(now_ns=lambda: 1_000)
    bank = MemoryBank(ledger)
    debit, credit = bank.open_account(), bank.open_account()
    for _ in range(3):
        bank.freeze(debit, credit, 1)

    stamps = [transfer.timestamp_ns for transfer in ledger.all_transfers()]

    assert stamps[1] - stamps[0] > 1
    assert stamps[2] - stamps[1] > 1


def test_time_never_goes_back_with_the_clock() -> None:
    readings = iter([5_000, 4_000, 3_000, 2_000, 1_000, 500, 400])
    ledger = InMemoryLedger(now_ns=lambda: next(readings))
    bank = MemoryBank(ledger)

    accounts = [bank.open_account() for _ in range(3)]

    stamps = [account.timestamp_ns for account in ledger.lookup_accounts(accounts).values()]
    assert stamps == sorted(set(stamps))


def test_chains_are_packed_whole_into_requests_in_their_order() -> None:
    ledger = InMemoryLedger(now_ns=lambda: 1_000, request_events_max=3)
    bank = MemoryBank(ledger)
    debit, credit = bank.open_account(), bank.open_account()
    ids = iter(range(1, 100))

    def chain(length: int) -> tuple[Transfer, ...]:
        return close_chain(
            tuple(
                Transfer(
                    id=TransferId(next(ids)),
                    debit_account_id=debit,
                    credit_account_id=credit,
                    amount=1,
                    ledger=1,
                    code=1,
                )
                for _ in range(length)
            )
        )

    answers = ledger.create_chains([chain(length) for length in (1, 1, 2, 3, 1)])

    assert answers == [(TransferStatus.CREATED,) * length for length in (1, 1, 2, 3, 1)]
    stamps = [transfer.timestamp_ns for transfer in ledger.all_transfers()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert gaps == [1, 2, 1, 2, 1, 1, 2]


def test_a_chain_that_no_request_could_take_is_refused() -> None:
    ledger = InMemoryLedger(request_events_max=3)
    fits = close_chain(tuple(Transfer(id=TransferId(id_)) for id_ in range(1, 4)))
    exceeds = close_chain(tuple(Transfer(id=TransferId(id_)) for id_ in range(1, 5)))

    answers = ledger.create_chains([fits, exceeds])

    assert not isinstance(answers[0], ChainRefused)
    assert answers[1] == ChainRefused("a chain of 4 transfers, a request takes 3 at most")


def test_a_chain_with_a_gap_in_its_links_is_refused(scene: Scene) -> None:
    torn = (
        replace(scene.payment(1), flags=TransferFlags.LINKED),
        scene.payment(2),
        scene.payment(3),
    )

    (answer,) = scene.ledger.create_chains([torn])

    assert isinstance(answer, ChainRefused)
    assert scene.ledger.lookup([TransferId(1), TransferId(2), TransferId(3)]) == {}


def test_a_request_that_is_too_large_or_cannot_be_sent_changes_nothing() -> None:
    ledger = InMemoryLedger(request_events_max=1)

    with pytest.raises(ValueError, match="2 events, a request takes 1 at most"):
        ledger.create_transfers([Transfer(id=TransferId(1))] * 2)
    with pytest.raises(ValueError, match="out of range: id, code"):
        ledger.create_transfers([Transfer(id=TransferId(-1), code=2**16)])
    assert ledger.all_transfers() == []


def test_empty_requests_are_answered_with_nothing(scene: Scene) -> None:
    assert scene.ledger.create_transfers([]) == []
    assert scene.ledger.create_accounts([]) == []


def test_a_boolean_is_no_id(scene: Scene) -> None:
    scene.send(scene.payment(1))

    assert scene.ledger.lookup([TransferId(True)]) == {}
    assert scene.ledger.lookup_accounts([AccountId(True)]) == {}


def test_threads_that_share_a_ledger_lose_no_money(scene: Scene) -> None:
    threads, requests = 4, 50
    start = threading.Barrier(threads)

    def pay(thread: int) -> None:
        start.wait()
        for number in range(requests):
            id_ = 1_000_000 * (thread + 1) + 10 * number
            scene.ledger.create_chains(
                [close_chain((scene.pending(id_), scene.post(id_ + 1, pending_id=id_)))]
            )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(pay, range(threads)))

    assert scene.debits(scene.payer) == (100, threads * requests * 10)
    stamps = [transfer.timestamp_ns for transfer in scene.ledger.all_transfers()]
    assert stamps == sorted(set(stamps))
