"""Linked transfers, and which refusals burn an id (LEDGER_OUTCOMES §2, §8)."""

import pytest

from domain.transfer_status import TransferStatus
from domain.transfers import AccountFlags, Transfer, TransferFlags, TransferId
from tests.unit.memory.ledger_scene import Scene, linked

S = TransferStatus
F = TransferFlags
MISSING = TransferId(99)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_open_chain_at_the_end_of_a_request_fails_as_a_whole(scene: Scene) -> None:
    statuses = scene.send(scene.payment(1), linked(scene.payment(2)), linked(scene.payment(3)))

    assert statuses == [S.CREATED, S.LINKED_EVENT_FAILED, S.LINKED_EVENT_CHAIN_OPEN]
    assert scene.debits(scene.payer) == (100, 10)


def test_an_open_chain_that_breaks_first_tells_both(scene: Scene) -> None:
    statuses = scene.send(
        linked(scene.payment(1)),
        linked(scene.payment(2, code=0)),
        linked(scene.payment(3)),
        linked(scene.payment(4)),
    )

    assert statuses == [
        S.LINKED_EVENT_FAILED,
        S.CODE_MUST_NOT_BE_ZERO,
        S.LINKED_EVENT_FAILED,
        S.LINKED_EVENT_CHAIN_OPEN,
    ]


def test_a_pending_id_listed_twice_breaks_its_own_chain(scene: Scene) -> None:
    statuses = scene.send(linked(scene.post(1)), scene.post(2))

    assert statuses == [S.LINKED_EVENT_FAILED, S.PENDING_TRANSFER_ALREADY_POSTED]
    assert scene.debits(scene.payer) == (100, 0)


def test_members_of_a_chain_see_each_other_and_others_do_not_after_a_rollback(
    scene: Scene,
) -> None:
    statuses = scene.send(
        linked(scene.pending(1)),
        linked(scene.post(2, pending_id=1)),
        scene.payment(3, code=0),
        scene.post(4, pending_id=1),
    )

    assert statuses == [
        S.LINKED_EVENT_FAILED,
        S.LINKED_EVENT_FAILED,
        S.CODE_MUST_NOT_BE_ZERO,
        S.PENDING_TRANSFER_NOT_FOUND,
    ]


def test_a_rollback_restores_closed_accounts_and_voided_transfers(scene: Scene) -> None:
    scene.send(
        linked(scene.void(1)),
        linked(scene.pending(2, amount=0, flags=F.PENDING | F.CLOSING_DEBIT)),
        scene.payment(3, ledger=0),
    )

    assert scene.debits(scene.payer) == (100, 0)
    assert scene.send(scene.post(4)) == [S.CREATED]


def burning(scene: Scene) -> dict[TransferStatus, Transfer]:
    """Return, for each refusal that burns, a transfer that meets it; all of id 1."""
    spender = scene.bank.open_account(flags=AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS)
    taker = scene.bank.open_account(flags=AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS)
    closed = scene.bank.open_account(flags=AccountFlags.CLOSED)
    return {
        S.DEBIT_ACCOUNT_NOT_FOUND: scene.payment(debit_account_id=9),
        S.CREDIT_ACCOUNT_NOT_FOUND: scene.payment(credit_account_id=9),
        S.PENDING_TRANSFER_NOT_FOUND: scene.post(pending_id=MISSING),
        S.EXCEEDS_CREDITS: scene.payment(debit_account_id=spender),
        S.EXCEEDS_DEBITS: scene.payment(credit_account_id=taker),
        S.DEBIT_ACCOUNT_ALREADY_CLOSED: scene.payment(debit_account_id=closed),
        S.CREDIT_ACCOUNT_ALREADY_CLOSED: scene.payment(credit_account_id=closed),
    }


BURNING = tuple(burning(Scene()))


@pytest.mark.parametrize("status", BURNING)
def test_a_transient_refusal_burns_the_id_for_everything(
    scene: Scene, status: TransferStatus
) -> None:
    refused = burning(scene)[status]

    assert scene.send(refused) == [status]
    assert scene.send(refused, scene.payment(1), scene.post(1)) == [S.ID_ALREADY_FAILED] * 3


@pytest.mark.parametrize("status", BURNING)
def test_in_a_chain_only_the_id_of_the_culprit_burns(scene: Scene, status: TransferStatus) -> None:
    refused = burning(scene)[status]
    before, after = scene.payment(2), scene.payment(3)

    first = scene.send(linked(before), linked(refused), after)
    second = scene.send(linked(before), linked(scene.payment(4)), after)

    assert first == [S.LINKED_EVENT_FAILED, status, S.LINKED_EVENT_FAILED]
    assert second == [S.CREATED] * 3
    assert scene.send(scene.payment(1)) == [S.ID_ALREADY_FAILED]


def test_other_refusals_leave_the_id_good(scene: Scene) -> None:
    scene.send(scene.void(2, pending_id=scene.bank.freeze(scene.payer, scene.payee, 1)))
    refused = [
        scene.payment(1, code=0),
        scene.payment(1, ledger=2),
        scene.payment(1, debit_account_id=0),
        scene.payment(1, timestamp_ns=1),
        scene.post(1, 101),
        scene.post(1, code=2),
        scene.post(1, pending_id=2),
        scene.void(1, 99),
    ]

    assert S.CREATED not in scene.send(*refused)
    assert scene.send(scene.post(1)) == [S.CREATED]
    assert scene.send(scene.post(3), scene.post(3)) == [S.PENDING_TRANSFER_ALREADY_POSTED] * 2


def test_a_burned_id_cannot_be_posted_either(scene: Scene) -> None:
    scene.send(scene.pending(1, debit_account_id=9))

    assert scene.send(scene.post(2, pending_id=1)) == [S.PENDING_TRANSFER_NOT_FOUND]
