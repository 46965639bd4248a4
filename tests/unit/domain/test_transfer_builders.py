"""What the three transfers look like that the worker sends."""

from uuid import UUID

import pytest

from domain.fees import Fee
from domain.intents import Action, IntentId
from domain.transfer_builders import (
    build_fee_transfer,
    build_resolving_transfer,
    resolving_flag,
)
from domain.transfer_ids import fee_id, resolution_id
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId

INTENT_ID = IntentId(UUID("550e8400-e29b-41d4-a716-446655440000"))
PENDING_ID = TransferId(0x0190A0B0C0D0_7000_8000_0000DEADBEEF)
FEE = Fee(
    amount_satang=150,
    debit_account_id=AccountId(300),
    credit_account_id=AccountId(400),
    ledger=764,
    transfer_code=50,
)


@pytest.mark.parametrize("generation", [0, 3])
def test_a_post_takes_the_whole_pending_amount_and_inherits_the_rest(generation: int) -> None:
    transfer = build_resolving_transfer(
        INTENT_ID, Action.POST_PENDING, PENDING_ID, generation=generation
    )

    # All other fields are 0: a wrong ledger, code or account hides "already posted".
    assert transfer == Transfer(
        id=resolution_id(INTENT_ID, Action.POST_PENDING, PENDING_ID, generation=generation),
        pending_id=PENDING_ID,
        amount=2**128 - 1,
        flags=TransferFlags.POST_PENDING_TRANSFER,
    )


@pytest.mark.parametrize("generation", [0, 3])
def test_a_void_has_amount_0_and_inherits_the_rest(generation: int) -> None:
    transfer = build_resolving_transfer(
        INTENT_ID, Action.VOID_PENDING, PENDING_ID, generation=generation
    )

    assert transfer == Transfer(
        id=resolution_id(INTENT_ID, Action.VOID_PENDING, PENDING_ID, generation=generation),
        pending_id=PENDING_ID,
        amount=0,
        flags=TransferFlags.VOID_PENDING_TRANSFER,
    )


def test_each_action_has_its_own_flag() -> None:
    assert resolving_flag(Action.POST_PENDING) is TransferFlags.POST_PENDING_TRANSFER
    assert resolving_flag(Action.VOID_PENDING) is TransferFlags.VOID_PENDING_TRANSFER


@pytest.mark.parametrize("generation", [0, 3])
def test_a_fee_moves_its_own_amount_and_carries_the_id_of_the_intent(generation: int) -> None:
    transfer = build_fee_transfer(INTENT_ID, FEE, PENDING_ID, generation=generation)

    assert transfer == Transfer(
        id=fee_id(INTENT_ID, PENDING_ID, generation=generation),
        debit_account_id=AccountId(300),
        credit_account_id=AccountId(400),
        amount=150,
        user_data_128=INTENT_ID.int,
        ledger=764,
        code=50,
        flags=TransferFlags.NONE,
    )
