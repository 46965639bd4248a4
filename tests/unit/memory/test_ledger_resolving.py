"""Posting and voiding pending transfers (LEDGER_OUTCOMES §3, §8)."""

from dataclasses import replace
from typing import Any

import pytest

from domain.transfer_status import TransferStatus
from domain.transfers import AMOUNT_MAX, U128_MAX, TransferFlags, TransferId
from tests.unit.memory.ledger_scene import Scene

S = TransferStatus
F = TransferFlags
MISSING = TransferId(99)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize(
    ("amount", "posted"), [(AMOUNT_MAX, 100), (100, 100), (40, 40), (1, 1), (0, 0)]
)
def test_a_post_moves_its_amount_and_releases_the_rest(
    scene: Scene, amount: int, posted: int
) -> None:
    assert scene.send(scene.post(1, amount)) == [S.CREATED]
    assert scene.debits(scene.payer) == (0, posted)
    assert scene.ledger.lookup_transfers([TransferId(1)])[0].amount == posted


@pytest.mark.parametrize("amount", [0, 100])
def test_a_void_takes_0_or_the_exact_amount(scene: Scene, amount: int) -> None:
    assert scene.send(scene.void(1, amount)) == [S.CREATED]
    assert scene.debits(scene.payer) == (0, 0)


@pytest.mark.parametrize(
    ("amount", "status"),
    [
        (99, S.PENDING_TRANSFER_HAS_DIFFERENT_AMOUNT),
        (101, S.EXCEEDS_PENDING_TRANSFER_AMOUNT),
        (AMOUNT_MAX, S.EXCEEDS_PENDING_TRANSFER_AMOUNT),
    ],
)
def test_a_void_of_another_amount_is_refused(
    scene: Scene, amount: int, status: TransferStatus
) -> None:
    assert scene.send(scene.void(1, amount)) == [status]


def test_a_post_above_the_frozen_amount_is_refused(scene: Scene) -> None:
    assert scene.send(scene.post(1, 101)) == [S.EXCEEDS_PENDING_TRANSFER_AMOUNT]


@pytest.mark.parametrize("amount", [AMOUNT_MAX, 40, 0])
def test_after_any_post_the_transfer_counts_as_posted(scene: Scene, amount: int) -> None:
    scene.send(scene.post(1, amount))

    assert scene.send(scene.post(2), scene.void(3)) == [S.PENDING_TRANSFER_ALREADY_POSTED] * 2


def test_after_a_void_the_transfer_counts_as_voided(scene: Scene) -> None:
    scene.send(scene.void(1))

    assert scene.send(scene.post(2), scene.void(3)) == [S.PENDING_TRANSFER_ALREADY_VOIDED] * 2


def test_a_post_inherits_what_it_leaves_0_and_keeps_its_own_user_data(scene: Scene) -> None:
    (pending,) = scene.ledger.lookup_transfers([scene.pending_id])
    scene.send(scene.post(1, 30, user_data_64=6, user_data_32=7))

    (post,) = scene.ledger.lookup_transfers([TransferId(1)])
    assert post == replace(
        pending,
        id=TransferId(1),
        pending_id=scene.pending_id,
        amount=30,
        user_data_128=5,
        user_data_64=6,
        user_data_32=7,
        flags=F.POST_PENDING_TRANSFER,
        timestamp_ns=post.timestamp_ns,
    )


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"pending_id": 0}, S.PENDING_ID_MUST_NOT_BE_ZERO),
        ({"pending_id": U128_MAX}, S.PENDING_ID_MUST_NOT_BE_INT_MAX),
        ({"pending_id": 1}, S.PENDING_ID_MUST_BE_DIFFERENT),
        ({"pending_id": MISSING}, S.PENDING_TRANSFER_NOT_FOUND),
        ({"timeout_s": 1}, S.TIMEOUT_RESERVED_FOR_PENDING_TRANSFER),
        ({"debit_account_id": 1}, S.PENDING_TRANSFER_HAS_DIFFERENT_DEBIT_ACCOUNT_ID),
        ({"credit_account_id": 1}, S.PENDING_TRANSFER_HAS_DIFFERENT_CREDIT_ACCOUNT_ID),
        ({"ledger": 2}, S.PENDING_TRANSFER_HAS_DIFFERENT_LEDGER),
        ({"code": 2}, S.PENDING_TRANSFER_HAS_DIFFERENT_CODE),
        ({"flags": F.POST_PENDING_TRANSFER | 1 << 9}, S.RESERVED_FLAG),
        ({"timestamp_ns": 1}, S.TIMESTAMP_MUST_BE_ZERO),
        (
            {"flags": F.POST_PENDING_TRANSFER | F.VOID_PENDING_TRANSFER},
            S.FLAGS_ARE_MUTUALLY_EXCLUSIVE,
        ),
        *(
            ({"flags": F.POST_PENDING_TRANSFER | other}, S.FLAGS_ARE_MUTUALLY_EXCLUSIVE)
            for other in (
                F.PENDING,
                F.BALANCING_DEBIT,
                F.BALANCING_CREDIT,
                F.CLOSING_DEBIT,
                F.CLOSING_CREDIT,
            )
        ),
    ],
)
def test_a_post_that_does_not_fit_is_refused(
    scene: Scene, changes: dict[str, Any], status: TransferStatus
) -> None:
    assert scene.send(scene.post(1, **changes)) == [status]


def test_a_transfer_that_moved_at_once_cannot_be_posted(scene: Scene) -> None:
    scene.send(scene.payment(1))

    assert scene.send(scene.post(2, pending_id=1)) == [S.PENDING_TRANSFER_NOT_PENDING]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"amount": 101}, S.EXCEEDS_PENDING_TRANSFER_AMOUNT),
        ({"code": 2}, S.PENDING_TRANSFER_HAS_DIFFERENT_CODE),
        ({}, S.PENDING_TRANSFER_ALREADY_POSTED),
    ],
)
def test_a_wrong_field_hides_that_the_transfer_is_posted(
    scene: Scene, changes: dict[str, Any], status: TransferStatus
) -> None:
    scene.send(scene.post(1))

    assert scene.send(scene.post(2, **changes)) == [status]
