"""The PSP fee: charged once, only after its chain, and never a reason to fail a post."""

from dataclasses import replace

import pytest

from domain.fees import Fee
from domain.intents import Action
from domain.ledger_requests import ChainRefused, CreateChain, FindResolutions, SearchAnswer
from domain.resolution import Resolution
from domain.retry import RetryPolicy
from domain.transfer_builders import build_fee_transfer, build_resolving_transfer
from domain.transfer_status import TransferStatus, UnknownStatus
from domain.transfers import Transfer, TransferFlags
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason
from tests.unit.domain.frozen_money import (
    BANK,
    DUE_FEE,
    FEE_CODE,
    INTENT_ID,
    LEDGER,
    NOSTRO,
    OTHER_INTENT_ID,
    POST,
    REVENUE,
    VOID,
    FrozenMoney,
    amounts,
    answer_to,
    answer_until,
    drive,
    linked,
    pending_id_of,
)

members = pytest.mark.parametrize("members", [1, 2, 3])


def our_fee(*, amount: int = 150) -> Transfer:
    return build_fee_transfer(
        INTENT_ID, replace(DUE_FEE, amount_satang=amount), pending_id_of(0), generation=0
    )


def old_workers_chain(money: FrozenMoney) -> tuple[Transfer, ...]:
    return linked(*(money.resolution_by_hand(member, POST) for member in range(money.members)))


def fee_refused(verdict: object) -> RetryLater:
    assert isinstance(verdict, RetryLater)
    assert verdict.reason is RetryReason.FEE_REFUSED
    return verdict


# Ours.


@members
def test_the_fee_goes_out_alone_and_only_after_the_chain_is_known_to_be_posted(
    members: int,
) -> None:
    money = FrozenMoney.with_all_frozen(members)
    resolution = Resolution(money.order(Action.POST_PENDING))
    requests: list[CreateChain] = []

    while resolution.ask is not None:
        assert isinstance(resolution.ask, CreateChain)
        if resolution.ask.transfers[0].code == FEE_CODE:
            assert money.moved() == amounts(members)
        requests.append(resolution.ask)
        resolution.answer(answer_to(resolution.ask, money.ledger))

    assert [len(request.transfers) for request in requests] == [members, 1]


@pytest.mark.parametrize("verdict_of", ["retry", "review"])
def test_no_fee_is_charged_for_a_chain_that_is_not_posted(verdict_of: str) -> None:
    money = FrozenMoney.with_all_frozen(2)
    if verdict_of == "retry":
        money.close_payer(1)
    else:
        money.resolve_by_hand(1, VOID)

    money.post()

    assert money.fees() == []


def test_a_fee_that_cannot_be_paid_is_asked_for_again_for_ever_and_the_post_stands() -> None:
    money = FrozenMoney.with_all_frozen(3, revenue_satang=149)
    hint: tuple[int, ...] = ()

    for _ in range(20):
        verdict = fee_refused(money.post(generations=hint))
        hint = verdict.generations
        assert "exceeds_credits" in verdict.detail
        assert money.moved() == amounts(3)
        assert money.fees() == []
    money.fund_revenue(1)

    assert money.post(generations=hint) == Done(fee_satang=150)
    assert money.fees() == [150]


@pytest.mark.parametrize(
    "status",
    [
        status
        for status in (*TransferStatus, UnknownStatus(4711))
        if status is not TransferStatus.CREATED
        and status is not TransferStatus.ID_ALREADY_FAILED
        and not status.name.startswith("EXISTS")
    ],
    ids=lambda status: status.name,
)
def test_whatever_is_said_of_the_fee_the_post_is_not_given_up(
    status: TransferStatus | UnknownStatus,
) -> None:
    resolution = Resolution(FrozenMoney(1).order(Action.POST_PENDING))
    resolution.answer((TransferStatus.CREATED,))

    resolution.answer((status,))

    assert status.name.lower() in fee_refused(resolution.verdict).detail


def test_a_fee_that_cannot_be_sent_is_asked_for_again() -> None:
    resolution = Resolution(FrozenMoney(1).order(Action.POST_PENDING))
    resolution.answer((TransferStatus.CREATED,))

    resolution.answer(ChainRefused("amount is out of range"))

    assert fee_refused(resolution.verdict).detail == "psp fee: amount is out of range"


def test_a_fee_that_exists_and_is_not_shown_is_not_taken_for_charged() -> None:
    resolution = Resolution(FrozenMoney(1).order(Action.POST_PENDING))
    resolution.answer((TransferStatus.CREATED,))

    resolution.answer((TransferStatus.EXISTS,))
    resolution.answer({})

    assert fee_refused(resolution.verdict).detail == "psp fee: exists"


@pytest.mark.parametrize("before_chain", [True, False])
@pytest.mark.parametrize("amount", [1, 149, 151])
def test_a_fee_of_ours_with_another_amount_is_settled_as_the_ledger_has_it(
    amount: int, before_chain: bool
) -> None:
    money = FrozenMoney.with_all_frozen(2)
    if not before_chain:
        money.must_send(
            *linked(
                *(
                    build_resolving_transfer(
                        INTENT_ID, Action.POST_PENDING, pending_id_of(member), generation=0
                    )
                    for member in range(2)
                )
            )
        )
    money.must_send(our_fee(amount=amount))

    assert money.post() == Done(fee_satang=amount)
    assert money.fees() == [amount]
    assert money.moved() == amounts(2)


def test_a_fee_that_we_charged_is_settled_even_if_none_is_due_any_more() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.post()

    assert money.post(fee=None) == Done(fee_satang=150)
    assert money.fees() == [150]


def test_an_intent_that_is_final_already_is_charged_no_fee() -> None:
    money = FrozenMoney.with_all_frozen(2)

    assert money.post(fee_wanted=False) == Done()
    assert money.moved() == amounts(2)
    assert money.fees() == []


def test_a_void_is_charged_no_fee_even_if_one_is_due() -> None:
    money = FrozenMoney.with_all_frozen(2)
    order = replace(money.order(Action.VOID_PENDING), fee=DUE_FEE, fee_wanted=True)

    assert drive(Resolution(order), money.ledger) == Done()
    assert money.fees() == []


# The old worker's.


@members
@pytest.mark.parametrize("marked", [True, False], ids=["with the intent's id", "unmarked"])
def test_a_fee_that_the_old_worker_charged_with_its_chain_is_not_charged_again(
    members: int, marked: bool
) -> None:
    money = FrozenMoney.with_all_frozen(members)
    fee = money.foreign_fee(user_data_128=INTENT_ID.int if marked else 0, amount=140)
    money.must_send(*old_workers_chain(money), fee)
    before = money.everything()

    assert money.post() == Done(fee_satang=140, resolved_elsewhere=True)
    assert money.everything() == before
    assert money.post() == Done(fee_satang=140, resolved_elsewhere=True)


@members
def test_a_chain_of_the_old_worker_without_a_fee_is_settled_without_one(members: int) -> None:
    money = FrozenMoney.with_all_frozen(members)
    money.must_send(*old_workers_chain(money))

    assert money.post() == Done(resolved_elsewhere=True)
    assert money.fees() == []


def test_a_fee_marked_with_the_intents_id_counts_wherever_it_is() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(*old_workers_chain(money))
    money.fund_revenue(1)
    money.must_send(money.foreign_fee(user_data_128=INTENT_ID.int))

    assert money.post() == Done(fee_satang=150, resolved_elsewhere=True)
    assert money.fees() == [150]


def test_the_fee_of_another_intent_one_request_later_is_not_mistaken_for_ours() -> None:
    for user_data_128 in (0, OTHER_INTENT_ID.int):
        money = FrozenMoney.with_all_frozen(1)
        money.must_send(*old_workers_chain(money))
        money.must_send(money.foreign_fee(user_data_128=user_data_128))

        assert money.post() == Done(resolved_elsewhere=True)


def test_the_fee_of_another_intent_in_the_same_request_is_not_mistaken_for_ours() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(*old_workers_chain(money), money.foreign_fee(user_data_128=OTHER_INTENT_ID.int))

    assert money.post() == Done(resolved_elsewhere=True)


@pytest.mark.parametrize(
    "other",
    [
        {"code": FEE_CODE + 1},
        {"credit_account_id": BANK},
        {"flags": TransferFlags.PENDING},
    ],
    ids=["of another code", "to another account", "only pending"],
)
def test_another_transfer_just_after_the_post_is_not_mistaken_for_the_fee(
    other: dict[str, int],
) -> None:
    money = FrozenMoney.with_all_frozen(1)
    fee = money.foreign_fee(user_data_128=0)
    money.must_send(*old_workers_chain(money), replace(fee, **other))  # type: ignore[arg-type]

    assert money.post() == Done(resolved_elsewhere=True)


def test_a_two_phase_transfer_with_the_intents_id_and_the_fees_code_is_no_fee() -> None:
    # A PM that gives pending transfers the fee's code: their posts inherit code and intent.
    money = FrozenMoney.with_all_frozen(1)
    pending = Transfer(
        id=money.fresh_id(),
        debit_account_id=REVENUE,
        credit_account_id=NOSTRO,
        amount=150,
        user_data_128=INTENT_ID.int,
        ledger=LEDGER,
        code=FEE_CODE,
        flags=TransferFlags.PENDING,
    )
    voided = replace(pending, id=money.fresh_id())
    money.must_send(pending, voided)
    money.must_send(
        Transfer(id=money.fresh_id(), pending_id=pending.id, amount=2**128 - 1, flags=POST),
        Transfer(id=money.fresh_id(), pending_id=voided.id, flags=VOID),
    )
    money.must_send(*old_workers_chain(money))

    assert money.post() == Done(resolved_elsewhere=True)


def test_a_fee_that_the_old_worker_charged_after_our_chain_is_not_charged_again() -> None:
    # Ours posted and could not pay the fee; the old worker took over, got ALREADY_POSTED and,
    # in the same request, its fee; it died before its commit, and we are back.
    money = FrozenMoney.with_all_frozen(1, revenue_satang=0)
    hint = fee_refused(money.post()).generations
    money.fund_revenue(1_000)
    posted, charged = money.send(
        *old_workers_chain(money), money.foreign_fee(user_data_128=INTENT_ID.int)
    )
    assert posted is TransferStatus.PENDING_TRANSFER_ALREADY_POSTED
    assert charged is TransferStatus.CREATED

    verdict = money.post(generations=hint)

    assert isinstance(verdict, Done)
    assert verdict.fee_satang == 150
    assert money.fees() == [150]


def test_our_own_fee_counts_although_somebody_else_posted_a_member() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.must_send(our_fee())
    money.resolve_by_hand(0, POST)

    assert money.post() == Done(fee_satang=150, resolved_elsewhere=True)
    assert money.fees() == [150]


def test_our_own_fee_counts_even_if_only_the_look_up_shows_it() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(our_fee())
    money.resolve_by_hand(0, POST)
    resolution = Resolution(money.order(Action.POST_PENDING))
    search = answer_until(resolution, money.ledger, FindResolutions).search
    found = money.ledger.find_resolutions(search).transfers

    resolution.answer(
        SearchAnswer(tuple(transfer for transfer in found if transfer.code != FEE_CODE))
    )

    assert resolution.verdict == Done(fee_satang=150, resolved_elsewhere=True)


def test_our_own_fee_of_a_later_generation_counts_although_somebody_else_posted() -> None:
    money = FrozenMoney.with_all_frozen(1)
    later = build_fee_transfer(INTENT_ID, DUE_FEE, pending_id_of(0), generation=3)
    money.must_send(later)
    money.resolve_by_hand(0, POST)

    assert money.post() == Done(fee_satang=150, resolved_elsewhere=True)
    assert money.fees() == [150]


def test_no_fee_is_looked_for_without_its_account() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(*old_workers_chain(money), money.foreign_fee(user_data_128=0))

    assert money.post(fee=None) == Done(resolved_elsewhere=True)


def test_a_search_says_whose_fee_is_looked_for() -> None:
    money = FrozenMoney.with_all_frozen(3)
    money.must_send(*old_workers_chain(money))
    resolution = Resolution(money.order(Action.POST_PENDING))

    search = answer_until(resolution, money.ledger, FindResolutions).search

    assert search.intent_id == INTENT_ID
    assert [pending.id for pending in search.pendings] == list(money.pending_ids)
    assert search.fee_code == FEE_CODE
    assert search.fee_credit_account_id == NOSTRO


@pytest.mark.parametrize("fee", [DUE_FEE, None], ids=["of another account", "account unknown"])
def test_what_a_search_holds_beyond_the_question_is_not_taken_for_the_fee(fee: Fee | None) -> None:
    # The port allows more than was asked for: the caller judges.
    money = FrozenMoney.with_all_frozen(1)
    other = replace(money.foreign_fee(user_data_128=0), credit_account_id=BANK)
    money.must_send(*old_workers_chain(money), other)
    resolution = Resolution(money.order(Action.POST_PENDING, fee=fee))
    answer_until(resolution, money.ledger, FindResolutions)

    resolution.answer(SearchAnswer(tuple(money.ledger.all_transfers())))

    assert resolution.verdict == Done(resolved_elsewhere=True)


@pytest.mark.parametrize("user_data_128", [0, INTENT_ID.int], ids=["unmarked", "marked"])
def test_a_transfer_of_another_code_is_not_taken_for_the_fee_although_a_search_holds_it(
    user_data_128: int,
) -> None:
    money = FrozenMoney.with_all_frozen(1)
    other = replace(money.foreign_fee(user_data_128=user_data_128), code=FEE_CODE + 1)
    money.must_send(*old_workers_chain(money), other)
    resolution = Resolution(money.order(Action.POST_PENDING))
    answer_until(resolution, money.ledger, FindResolutions)

    resolution.answer(SearchAnswer(tuple(money.ledger.all_transfers())))

    assert resolution.verdict == Done(resolved_elsewhere=True)


def test_an_unmarked_fee_of_a_later_request_is_not_taken_for_ours_although_a_search_holds_it() -> (
    None
):
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(*old_workers_chain(money))
    money.must_send(money.foreign_fee(user_data_128=0))
    resolution = Resolution(money.order(Action.POST_PENDING))
    answer_until(resolution, money.ledger, FindResolutions)

    resolution.answer(SearchAnswer(tuple(money.ledger.all_transfers())))

    assert resolution.verdict == Done(resolved_elsewhere=True)


def test_a_chain_that_others_posted_in_part_is_for_a_person_even_with_its_fee() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.must_send(
        money.resolution_by_hand(0, POST, amount=1), money.foreign_fee(user_data_128=INTENT_ID.int)
    )

    assert isinstance(money.post(), ManualReview)
    assert money.moved() == (1, 0)
    assert money.frozen() == (0, amounts(2)[1])


def test_a_fee_that_the_old_worker_charged_beside_a_refused_chain_is_not_charged_again() -> None:
    # LEDGER_OUTCOMES §3: the chain is refused for now, the fee beside it is charged all the same.
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(money.foreign_fee(user_data_128=INTENT_ID.int))

    verdict = money.post(fee_may_exist=True)

    assert isinstance(verdict, Done)
    assert verdict.fee_satang == 150
    assert money.fees() == [150]


# A search that ended early.

NOTHING_FOUND = SearchAnswer((), has_all_fees=False)


def not_known(verdict: object) -> RetryLater:
    """Return *verdict*: a retry that no number of attempts ends."""
    assert isinstance(verdict, RetryLater)
    assert verdict.reason is RetryReason.OUT_OF_TIME
    assert RetryPolicy().attempts_limit(verdict.reason) is None
    assert verdict.detail == (
        "psp fee: the search ended early, so whether one was charged is not known"
    )
    return verdict


def test_no_fee_is_charged_while_it_is_not_known_whether_one_was() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.must_send(money.foreign_fee(user_data_128=INTENT_ID.int))
    resolution = Resolution(money.order(Action.POST_PENDING, fee_may_exist=True))
    answer_until(resolution, money.ledger, FindResolutions)

    resolution.answer(NOTHING_FOUND)

    not_known(resolution.verdict)
    assert money.moved() == amounts(2)
    assert money.fees() == [150]
    assert money.post(fee_may_exist=True) == Done(fee_satang=150)
    assert money.fees() == [150]


def test_a_fee_that_was_found_counts_although_the_search_ended_early() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(money.foreign_fee(user_data_128=INTENT_ID.int))
    resolution = Resolution(money.order(Action.POST_PENDING, fee_may_exist=True))
    search = answer_until(resolution, money.ledger, FindResolutions).search

    found = money.ledger.find_resolutions(search)
    resolution.answer(replace(found, has_all_resolvers=False, has_all_fees=False))

    assert resolution.verdict == Done(fee_satang=150)


@pytest.mark.parametrize("fee", [DUE_FEE, None], ids=["due", "not due"])
def test_what_another_posted_is_not_done_while_its_fee_may_be_there(fee: Fee | None) -> None:
    money = FrozenMoney.with_all_frozen(3)
    money.resolve_by_hand(0, POST)
    resolution = Resolution(money.order(Action.POST_PENDING, fee=fee))
    search = answer_until(resolution, money.ledger, FindResolutions).search
    found = money.ledger.find_resolutions(search)

    resolution.answer(replace(found, has_all_fees=False))

    # The rest of the money does not wait for that.
    not_known(drive(resolution, money.ledger))
    assert money.moved() == amounts(3)
    assert money.fees() == []
    assert money.post(fee=fee) == Done(resolved_elsewhere=True)


def test_a_final_intent_does_not_wait_for_a_fee_that_nobody_asks_for() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.resolve_by_hand(0, POST)
    resolution = Resolution(money.order(Action.POST_PENDING, fee_wanted=False))
    search = answer_until(resolution, money.ledger, FindResolutions).search

    resolution.answer(replace(money.ledger.find_resolutions(search), has_all_fees=False))

    assert resolution.verdict == Done(resolved_elsewhere=True)


def test_an_open_transfer_of_a_busy_account_does_not_keep_the_fee_from_being_known() -> None:
    # Who resolves it is looked for among all that the account did since: in vain, it is open.
    money = FrozenMoney.with_all_frozen(2)
    money.resolve_by_hand(0, POST)
    resolution = Resolution(money.order(Action.POST_PENDING))
    search = answer_until(resolution, money.ledger, FindResolutions).search

    resolution.answer(replace(money.ledger.find_resolutions(search), has_all_resolvers=False))

    assert drive(resolution, money.ledger) == Done(resolved_elsewhere=True)
    assert money.moved() == amounts(2)
