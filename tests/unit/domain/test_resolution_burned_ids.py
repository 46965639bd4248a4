"""Ids that the ledger has burned: the next generation is taken, and nothing moves twice."""

from dataclasses import replace

import pytest

from domain.intents import Action
from domain.ledger_requests import CreateChain
from domain.resolution import Resolution
from domain.resolution.progress import BURNED_IDS_MAX
from domain.transfer_builders import build_fee_transfer, build_resolving_transfer
from domain.transfer_ids import fee_id, resolution_id
from domain.transfer_status import TransferStatus
from domain.transfers import AccountId, Transfer, TransferId
from domain.verdicts import Done, RetryLater, RetryReason
from tests.unit.domain.frozen_money import (
    AMOUNTS,
    ASKS_MAX,
    DUE_FEE,
    INTENT_ID,
    LEDGER,
    MERCHANT,
    POST,
    FrozenMoney,
    amounts,
    drive,
    nothing,
    payer_of,
    pending_id_of,
)

actions = pytest.mark.parametrize("action", Action)


def burn(money: FrozenMoney, id_: TransferId) -> None:
    """Burn *id_*: it posts a pending transfer that does not exist."""
    no_such = Transfer(id=id_, pending_id=TransferId(987_654_321), flags=POST)
    assert money.send(no_such) == [TransferStatus.PENDING_TRANSFER_NOT_FOUND]


def burn_members(money: FrozenMoney, action: Action, generations: tuple[int, ...]) -> None:
    for member, count in enumerate(generations):
        for generation in range(count):
            id_ = resolution_id(INTENT_ID, action, pending_id_of(member), generation=generation)
            burn(money, id_)


def burn_fees(money: FrozenMoney, count: int) -> None:
    for generation in range(count):
        burn(money, fee_id(INTENT_ID, pending_id_of(0), generation=generation))


def generations_of(verdict: object) -> tuple[int, ...]:
    assert isinstance(verdict, RetryLater)
    return verdict.generations


@pytest.mark.parametrize("burned", [(1,), (3,), (1, 0), (0, 1), (0, 3, 0), (2, 1, 3)])
@actions
def test_burned_ids_are_walked_through_in_one_attempt(
    burned: tuple[int, ...], action: Action
) -> None:
    members = len(burned)
    money = FrozenMoney.with_all_frozen(members)
    burn_members(money, action, burned)

    verdict = drive(Resolution(money.order(action)), money.ledger)

    assert isinstance(verdict, Done)
    assert money.frozen() == nothing(members)
    assert money.moved() == (
        amounts(members) if action is Action.POST_PENDING else nothing(members)
    )
    for member, generation in enumerate(burned):
        used = resolution_id(INTENT_ID, action, pending_id_of(member), generation=generation)
        assert money.ledger.lookup([used])


def test_a_replay_after_burned_ids_finds_what_the_later_generation_did() -> None:
    money = FrozenMoney.with_all_frozen(2)
    burn_members(money, Action.POST_PENDING, (0, 3))
    burn_fees(money, 2)
    assert money.post() == Done(fee_satang=150)
    before = money.everything()

    assert money.post() == Done(fee_satang=150)
    assert money.everything() == before


@actions
def test_an_attempt_walks_a_bounded_way_and_the_next_one_goes_on_there(action: Action) -> None:
    money = FrozenMoney.with_all_frozen(2)
    burn_members(money, action, (0, 70))

    first = drive(Resolution(money.order(action)), money.ledger)
    assert isinstance(first, RetryLater)
    assert first.reason is RetryReason.IDS_BURNED
    assert str(BURNED_IDS_MAX) in first.detail
    assert first.generations[0] == first.generations[2] == 0
    assert first.generations[1] == BURNED_IDS_MAX
    assert money.frozen() == amounts(2)

    order = money.order(action, generations=first.generations)
    assert isinstance(drive(Resolution(order), money.ledger), Done)
    assert money.frozen() == nothing(2)


def test_a_fee_walks_a_bounded_way_and_the_next_attempt_goes_on_there() -> None:
    money = FrozenMoney.with_all_frozen(2)
    burn_fees(money, 70)

    first = money.post()
    assert isinstance(first, RetryLater)
    assert first.reason is RetryReason.FEE_REFUSED
    assert first.detail == "psp fee: id_already_failed"
    assert first.generations == (0, 0, BURNED_IDS_MAX)
    assert money.moved() == amounts(2)
    assert money.fees() == []

    assert money.post(generations=first.generations) == Done(fee_satang=150)
    assert money.fees() == [150]


@actions
def test_an_attempt_asks_no_more_often_than_the_limit(action: Action) -> None:
    resolution = Resolution(FrozenMoney(3).order(action))
    asks = 0

    while isinstance(resolution.ask, CreateChain) and asks < ASKS_MAX:
        asks += 1
        burned = TransferStatus.ID_ALREADY_FAILED
        others = TransferStatus.LINKED_EVENT_FAILED
        resolution.answer((burned, others, others))

    assert isinstance(resolution.verdict, RetryLater)
    # DESIGN §7: the generation moves on at once, at most 64 times an attempt.
    assert asks == BURNED_IDS_MAX == 64
    assert resolution.verdict.generations == (asks, 0, 0, 0)


def test_waiting_for_a_pending_transfer_remembers_which_ids_are_burned() -> None:
    # Each attempt burns an id: the ledger refuses it, for ever.
    money = FrozenMoney(2)
    money.freeze(0)
    hint: tuple[int, ...] = ()

    for attempt in range(4):
        verdict = money.post(generations=hint)
        assert isinstance(verdict, RetryLater)
        assert verdict.reason is RetryReason.PENDING_TRANSFER_NOT_FOUND
        hint = verdict.generations
        assert hint == (0, attempt, 0)
    money.freeze(1)

    assert money.post(generations=hint) == Done(fee_satang=150)
    assert money.moved() == amounts(2)


def test_a_refused_fee_remembers_which_ids_are_burned() -> None:
    money = FrozenMoney.with_all_frozen(2, revenue_satang=0)
    burn_members(money, Action.POST_PENDING, (1, 2))

    assert generations_of(money.post()) == (1, 2, 0)
    assert generations_of(money.post(generations=(1, 2, 0))) == (1, 2, 1)
    assert generations_of(money.post(generations=(1, 2, 1))) == (1, 2, 2)


@pytest.mark.parametrize("hint", [(), (5,), (0, 0), (1, 0, 0, 0), (-1, 0, 0), (0, 0, -3)])
def test_a_hint_that_does_not_fit_is_ignored(hint: tuple[int, ...]) -> None:
    money = FrozenMoney.with_all_frozen(2)

    assert money.post(generations=hint) == Done(fee_satang=150)

    chain = [
        build_resolving_transfer(INTENT_ID, Action.POST_PENDING, pending_id_of(i), generation=0).id
        for i in range(2)
    ]
    fee = build_fee_transfer(INTENT_ID, DUE_FEE, pending_id_of(0), generation=0).id
    assert len(money.ledger.lookup([*chain, fee])) == 3


def test_the_burned_id_of_one_member_costs_the_others_nothing() -> None:
    money = FrozenMoney.with_all_frozen(3)
    burn_members(money, Action.POST_PENDING, (0, 1, 0))
    resolution = Resolution(money.order(Action.POST_PENDING))

    assert drive(resolution, money.ledger) == Done(fee_satang=150)
    used = [
        resolution_id(INTENT_ID, Action.POST_PENDING, pending_id_of(member), generation=generation)
        for member, generation in [(0, 0), (1, 1), (2, 0)]
    ]
    assert len(money.ledger.lookup(used)) == 3


def test_an_id_burned_by_a_closed_account_is_replaced_once_it_is_open() -> None:
    money = FrozenMoney.with_all_frozen(1)
    closing_id = money.close_payer(0)
    first = money.post()
    money.reopen(closing_id)

    assert generations_of(first) == (0, 0)
    assert money.post(generations=generations_of(first)) == Done(fee_satang=150)
    used = resolution_id(INTENT_ID, Action.POST_PENDING, pending_id_of(0), generation=1)
    assert money.ledger.lookup([used])


def test_a_fee_id_that_burned_is_replaced_without_a_second_fee() -> None:
    money = FrozenMoney.with_all_frozen(1, revenue_satang=0)
    money.post()
    money.fund_revenue(1_000)

    assert money.post() == Done(fee_satang=150)
    assert money.post() == Done(fee_satang=150)
    assert money.fees() == [150]


def test_burning_does_not_confuse_a_plain_transfer_with_a_resolution() -> None:
    # A fee id that is taken by a transfer of somebody else is not our fee.
    money = FrozenMoney.with_all_frozen(1)
    fee = build_fee_transfer(INTENT_ID, DUE_FEE, pending_id_of(0), generation=0)
    money.must_send(
        Transfer(
            id=fee.id,
            debit_account_id=payer_of(1),
            credit_account_id=MERCHANT,
            amount=AMOUNTS[1],
            ledger=LEDGER,
            code=1,
        )
    )

    verdict = money.post()

    assert isinstance(verdict, RetryLater)
    assert verdict.reason is RetryReason.FEE_REFUSED
    assert money.moved() == amounts(1)
    assert money.fees() == []


def test_a_fee_without_an_account_burns_its_id_and_is_asked_for_again() -> None:
    money = FrozenMoney.with_all_frozen(1)
    nowhere = replace(DUE_FEE, credit_account_id=AccountId(999))

    refused = money.post(fee=nowhere)

    assert isinstance(refused, RetryLater)
    assert refused.reason is RetryReason.FEE_REFUSED
    assert "credit_account_not_found" in refused.detail
    assert money.post() == Done(fee_satang=150)
