"""Transfers sent again with an id that is taken (LEDGER_OUTCOMES §1, §3, §8)."""

from dataclasses import replace
from typing import Any

import pytest

from domain.transfer_status import AnyStatus, TransferStatus
from domain.transfers import AMOUNT_MAX, TransferFlags
from tests.unit.memory.ledger_scene import Scene, linked

S = TransferStatus
F = TransferFlags


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_chain_sent_again_exists(scene: Scene, length: int) -> None:
    members = [scene.pending(10 + number) for number in range(length)]
    chain = [*(linked(member) for member in members[:-1]), members[-1]]
    scene.send(*chain)

    assert scene.send(*chain) == [S.EXISTS, *[S.LINKED_EVENT_FAILED] * (length - 1)]


def test_a_chain_sent_again_in_another_order_differs_in_flags(scene: Scene) -> None:
    scene.send(linked(scene.payment(1)), scene.payment(2))

    assert scene.send(linked(scene.payment(2)), scene.payment(1)) == [
        S.EXISTS_WITH_DIFFERENT_FLAGS,
        S.LINKED_EVENT_FAILED,
    ]


@pytest.mark.parametrize(
    ("posted", "again", "status"),
    [
        (AMOUNT_MAX, AMOUNT_MAX, S.EXISTS),
        (AMOUNT_MAX, 100, S.EXISTS),
        (100, AMOUNT_MAX, S.EXISTS),
        (AMOUNT_MAX, 99, S.EXISTS_WITH_DIFFERENT_AMOUNT),
        (AMOUNT_MAX, 0, S.EXISTS_WITH_DIFFERENT_AMOUNT),
        (40, 40, S.EXISTS),
        (40, AMOUNT_MAX, S.EXISTS_WITH_DIFFERENT_AMOUNT),
        (0, 0, S.EXISTS),
        (0, AMOUNT_MAX, S.EXISTS_WITH_DIFFERENT_AMOUNT),
    ],
)
def test_a_post_sent_again_compares_the_amount_it_moved(
    scene: Scene, posted: int, again: int, status: TransferStatus
) -> None:
    scene.send(scene.post(1, posted))

    assert scene.send(scene.post(1, again)) == [status]


@pytest.mark.parametrize(
    ("voided", "again", "status"),
    [
        (0, 0, S.EXISTS),
        (0, 100, S.EXISTS),
        (100, 0, S.EXISTS),
        (0, AMOUNT_MAX, S.EXISTS_WITH_DIFFERENT_AMOUNT),
        (0, 99, S.EXISTS_WITH_DIFFERENT_AMOUNT),
    ],
)
def test_a_void_sent_again_compares_the_amount_it_released(
    scene: Scene, voided: int, again: int, status: TransferStatus
) -> None:
    scene.send(scene.void(1, voided))

    assert scene.send(scene.void(1, again)) == [status]


DIFFERENCES = [
    ("flags", S.EXISTS_WITH_DIFFERENT_FLAGS),
    ("pending_id", S.EXISTS_WITH_DIFFERENT_PENDING_ID),
    ("timeout_s", S.EXISTS_WITH_DIFFERENT_TIMEOUT),
    ("debit_account_id", S.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT_ID),
    ("credit_account_id", S.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT_ID),
    ("amount", S.EXISTS_WITH_DIFFERENT_AMOUNT),
    ("user_data_128", S.EXISTS_WITH_DIFFERENT_USER_DATA_128),
    ("user_data_64", S.EXISTS_WITH_DIFFERENT_USER_DATA_64),
    ("user_data_32", S.EXISTS_WITH_DIFFERENT_USER_DATA_32),
    ("ledger", S.EXISTS_WITH_DIFFERENT_LEDGER),
    ("code", S.EXISTS_WITH_DIFFERENT_CODE),
]


@pytest.mark.parametrize("kind", ["pending", "post", "void"])
def test_a_transfer_sent_again_names_its_first_difference_in_order(scene: Scene, kind: str) -> None:
    build = {"pending": scene.pending, "post": scene.post, "void": scene.void}[kind]
    original = build(1, user_data_64=3, user_data_32=4)
    assert scene.send(original) == [S.CREATED]
    differing: dict[str, Any] = {field: 7 for field, _ in DIFFERENCES}
    wrong = replace(original, **{**differing, "flags": original.flags ^ F.LINKED})

    named: list[AnyStatus] = []
    for field, _ in DIFFERENCES:
        # A second, harmless event closes the chain that a differing LINKED flag opens.
        named.append(scene.send(wrong, scene.payment(2, code=0))[0])
        wrong = replace(wrong, **{field: getattr(original, field)})

    assert named == [status for _, status in DIFFERENCES]
    assert scene.send(wrong) == [S.EXISTS]


def test_a_post_sent_again_may_spell_out_what_it_inherited(scene: Scene) -> None:
    scene.send(scene.post(1))

    assert scene.send(
        scene.post(
            1,
            debit_account_id=scene.payer,
            credit_account_id=scene.payee,
            user_data_128=5,
            ledger=1,
            code=1,
        )
    ) == [S.EXISTS]


def test_a_post_with_its_own_user_data_differs_from_one_that_inherits(scene: Scene) -> None:
    scene.send(scene.post(1, user_data_128=6))

    assert scene.send(scene.post(1)) == [S.EXISTS_WITH_DIFFERENT_USER_DATA_128]
