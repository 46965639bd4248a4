"""What becomes of a chain, judged by the ledger's balances, whoever was there before us."""

from dataclasses import replace

import pytest

from domain.intents import Action
from domain.ledger_requests import ChainRefused, CreateChain, FindResolutions, LookUp, SearchAnswer
from domain.resolution import Resolution
from domain.transfer_builders import build_resolving_transfer
from domain.transfer_status import TransferStatus, UnknownStatus
from domain.transfers import Transfer, TransferFlags, TransferId
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict
from tests.unit.domain.frozen_money import (
    AMOUNTS,
    INTENT_ID,
    LEDGER,
    MERCHANT,
    POST,
    VOID,
    FrozenMoney,
    amounts,
    answer_to,
    answer_until,
    drive,
    nothing,
    open_ask,
    payer_of,
    pending_id_of,
)

members = pytest.mark.parametrize("members", [1, 2, 3])
actions = pytest.mark.parametrize("action", Action)


def reviewed(verdict: Verdict) -> ReviewReason:
    assert isinstance(verdict, ManualReview)
    return verdict.reason


def retried(verdict: Verdict) -> RetryReason:
    assert isinstance(verdict, RetryLater)
    return verdict.reason


# Nobody was there before us.


@members
def test_a_post_moves_every_member_in_full_and_charges_the_fee_once(members: int) -> None:
    money = FrozenMoney.with_all_frozen(members)

    assert money.post() == Done(fee_satang=150)

    assert money.moved() == amounts(members)
    assert money.frozen() == nothing(members)
    assert money.merchant_got() == sum(amounts(members))
    assert money.fees() == [150]


@members
def test_a_post_without_a_fee_charges_none(members: int) -> None:
    money = FrozenMoney.with_all_frozen(members)

    assert money.post(fee=None) == Done()

    assert money.moved() == amounts(members)
    assert money.fees() == []


@members
def test_a_void_releases_every_member_and_moves_nothing(members: int) -> None:
    money = FrozenMoney.with_all_frozen(members)

    assert money.void() == Done()

    assert money.moved() == nothing(members)
    assert money.frozen() == nothing(members)
    assert money.fees() == []


@members
@actions
def test_a_chain_goes_out_whole_and_closed_in_the_order_of_the_intent(
    members: int, action: Action
) -> None:
    ask = Resolution(FrozenMoney(members).order(action)).ask

    assert isinstance(ask, CreateChain)
    assert [t.pending_id for t in ask.transfers] == list(FrozenMoney(members).pending_ids)
    linked = [TransferFlags.LINKED in t.flags for t in ask.transfers]
    assert linked == [*[True] * (members - 1), False]


def test_a_pending_transfer_of_amount_0_is_posted_too() -> None:
    money = FrozenMoney(1)
    money.must_send(
        Transfer(
            id=pending_id_of(0),
            debit_account_id=payer_of(0),
            credit_account_id=MERCHANT,
            ledger=LEDGER,
            code=1,
            flags=TransferFlags.PENDING,
        )
    )

    assert money.post() == Done(fee_satang=150)
    assert money.post() == Done(fee_satang=150)


# We were there before.


@members
def test_a_replay_of_a_post_is_done_and_moves_nothing(members: int) -> None:
    money = FrozenMoney.with_all_frozen(members)
    money.post()
    before = money.everything()

    assert money.post() == Done(fee_satang=150)
    assert money.everything() == before


@members
def test_a_replay_of_a_void_is_done_and_moves_nothing(members: int) -> None:
    money = FrozenMoney.with_all_frozen(members)
    money.void()
    before = money.everything()

    assert money.void() == Done()
    assert money.everything() == before


@pytest.mark.parametrize("done_before", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
@actions
def test_members_that_we_resolved_earlier_are_left_out_of_the_next_chain(
    done_before: tuple[int, ...], action: Action
) -> None:
    # The flags of a member change with its place in the chain: EXISTS_WITH_DIFFERENT_FLAGS.
    money = FrozenMoney.with_all_frozen(3)
    for member in done_before:
        money.must_send(
            build_resolving_transfer(INTENT_ID, action, pending_id_of(member), generation=0)
        )

    verdict = drive(Resolution(money.order(action)), money.ledger)

    assert isinstance(verdict, Done)
    assert not verdict.resolved_elsewhere
    assert money.moved() == (amounts(3) if action is Action.POST_PENDING else nothing(3))
    assert money.frozen() == nothing(3)


@members
def test_the_other_direction_after_ours_is_for_a_person(members: int) -> None:
    posted, voided = FrozenMoney.with_all_frozen(members), FrozenMoney.with_all_frozen(members)
    posted.post()
    voided.void()

    assert reviewed(posted.void()) is ReviewReason.MONEY_ALREADY_POSTED
    assert reviewed(voided.post()) is ReviewReason.MONEY_ALREADY_RELEASED

    assert posted.moved() == amounts(members)
    assert voided.moved() == nothing(members)
    assert voided.fees() == []


def test_a_transfer_of_our_id_that_does_something_else_is_for_a_person() -> None:
    # Partly posted under our id, voided under our id, and an id of ours on a wrong pending one.
    ours = build_resolving_transfer(
        INTENT_ID, Action.POST_PENDING, pending_id_of(0), generation=0
    ).id
    for flags, amount, pending in [(POST, 40, 0), (VOID, 0, 0), (POST, AMOUNTS[1], 1)]:
        money = FrozenMoney.with_all_frozen(2)
        money.must_send(
            Transfer(id=ours, pending_id=pending_id_of(pending), amount=amount, flags=flags)
        )
        before = money.everything()

        assert reviewed(money.post()) is ReviewReason.DIFFERENT_TRANSFER_EXISTS
        assert money.everything() == before


def test_an_id_of_ours_that_is_no_resolution_at_all_is_for_a_person() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(
        Transfer(
            id=build_resolving_transfer(
                INTENT_ID, Action.POST_PENDING, pending_id_of(0), generation=0
            ).id,
            debit_account_id=payer_of(0),
            credit_account_id=MERCHANT,
            amount=AMOUNTS[0],
            ledger=LEDGER,
            code=1,
        )
    )

    assert reviewed(money.post()) is ReviewReason.DIFFERENT_TRANSFER_EXISTS
    assert money.frozen() == amounts(1)


def test_an_id_of_ours_that_posted_another_pending_transfer_is_for_a_person() -> None:
    # Of the same amount, so that only the pending id tells.
    money = FrozenMoney.with_all_frozen(1)
    other = Transfer(
        id=money.fresh_id(),
        debit_account_id=payer_of(1),
        credit_account_id=MERCHANT,
        amount=AMOUNTS[0],
        ledger=LEDGER,
        code=1,
        flags=TransferFlags.PENDING,
    )
    ours = build_resolving_transfer(INTENT_ID, Action.POST_PENDING, pending_id_of(0), generation=0)
    money.must_send(other)
    money.must_send(replace(ours, pending_id=other.id))

    assert reviewed(money.post()) is ReviewReason.DIFFERENT_TRANSFER_EXISTS
    assert money.frozen() == amounts(1)


# Somebody else was there before us.

some_of_three = pytest.mark.parametrize(
    "by_hand", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
)


@some_of_three
def test_members_posted_in_full_by_other_ids_count_and_the_rest_is_posted(
    by_hand: tuple[int, ...],
) -> None:
    money = FrozenMoney.with_all_frozen(3)
    for member in by_hand:
        money.resolve_by_hand(member, POST)

    # Whoever posted may have charged the fee elsewhere: a second one is worse than none.
    assert money.post() == Done(resolved_elsewhere=True)

    assert money.moved() == amounts(3)
    assert money.frozen() == nothing(3)
    assert money.fees() == []


@some_of_three
def test_members_voided_by_other_ids_count_and_the_rest_is_voided(
    by_hand: tuple[int, ...],
) -> None:
    money = FrozenMoney.with_all_frozen(3)
    for member in by_hand:
        money.resolve_by_hand(member, VOID)

    assert money.void() == Done()

    assert money.moved() == nothing(3)
    assert money.frozen() == nothing(3)


@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_post_of_a_voided_member_is_for_a_person_and_posts_no_other(member: int) -> None:
    money = FrozenMoney.with_all_frozen(3)
    money.resolve_by_hand(member, VOID)
    before = money.everything()

    assert reviewed(money.post()) is ReviewReason.MONEY_ALREADY_RELEASED
    assert money.everything() == before


@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_void_of_a_posted_member_is_for_a_person_and_releases_no_other(member: int) -> None:
    money = FrozenMoney.with_all_frozen(3)
    money.resolve_by_hand(member, POST)
    before = money.everything()

    assert reviewed(money.void()) is ReviewReason.MONEY_ALREADY_POSTED
    assert money.everything() == before


@pytest.mark.parametrize("member", [0, 1, 2])
@pytest.mark.parametrize("amount", [0, 1, 36])
def test_a_member_posted_in_part_by_another_id_is_for_a_person(member: int, amount: int) -> None:
    money = FrozenMoney.with_all_frozen(3)
    money.resolve_by_hand(member, POST, amount=amount)
    before = money.everything()

    assert reviewed(money.post()) is ReviewReason.POSTED_IN_PART
    assert money.everything() == before


def test_one_posted_and_one_voided_by_others_is_for_a_person_in_both_directions() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.resolve_by_hand(0, POST)
    money.resolve_by_hand(1, VOID)

    assert reviewed(money.post()) is ReviewReason.MONEY_ALREADY_RELEASED
    assert reviewed(money.void()) is ReviewReason.MONEY_ALREADY_POSTED
    assert money.fees() == []


def test_one_posted_by_us_and_one_by_another_are_done() -> None:
    for ours, theirs in ((0, 1), (1, 0)):
        money = FrozenMoney.with_all_frozen(2)
        money.must_send(
            build_resolving_transfer(
                INTENT_ID, Action.POST_PENDING, pending_id_of(ours), generation=0
            )
        )
        money.resolve_by_hand(theirs, POST)

        assert money.post() == Done(resolved_elsewhere=True)
        assert money.moved() == amounts(2)


# Time was there before us.


@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_post_of_an_expired_member_is_for_a_person_and_posts_no_other(member: int) -> None:
    money = FrozenMoney(3)
    money.let_expire(member)
    for other in {0, 1, 2} - {member}:
        money.freeze(other)
    before = money.everything()

    assert reviewed(money.post()) is ReviewReason.MONEY_ALREADY_RELEASED
    assert money.everything() == before


@pytest.mark.parametrize("expired", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_void_takes_an_expired_member_as_released(expired: tuple[int, ...]) -> None:
    money = FrozenMoney(3)
    for member in range(3):
        if member in expired:
            money.let_expire(member)
        else:
            money.freeze(member)

    assert money.void() == Done()

    assert money.moved() == nothing(3)
    assert money.frozen() == nothing(3)


# Not now, but perhaps later.


@pytest.mark.parametrize("late", [(0,), (1,), (0, 1)])
@actions
def test_a_pending_transfer_that_is_not_there_yet_is_waited_for(
    late: tuple[int, ...], action: Action
) -> None:
    money = FrozenMoney(2)
    for member in {0, 1} - set(late):
        money.freeze(member)
    frozen = money.frozen()

    for _ in range(3):
        verdict = drive(Resolution(money.order(action)), money.ledger)
        assert retried(verdict) is RetryReason.PENDING_TRANSFER_NOT_FOUND
        assert money.frozen() == frozen
    for member in late:
        money.freeze(member)
    verdict = drive(Resolution(money.order(action)), money.ledger)

    assert isinstance(verdict, Done)
    assert money.frozen() == nothing(2)
    assert money.moved() == (amounts(2) if action is Action.POST_PENDING else nothing(2))


@pytest.mark.parametrize("member", [0, 1])
def test_a_post_waits_for_a_closed_account_to_be_reopened(member: int) -> None:
    money = FrozenMoney.with_all_frozen(2)
    closing_id = money.close_payer(member)

    assert retried(money.post()) is RetryReason.LEDGER_REFUSED
    assert money.moved() == nothing(2)
    assert money.frozen() == amounts(2)
    assert money.fees() == []

    money.reopen(closing_id)
    assert money.post() == Done(fee_satang=150)
    assert money.moved() == amounts(2)


def test_a_void_does_not_care_whether_an_account_is_closed() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.close_payer(0)

    assert money.void() == Done()
    assert money.frozen() == nothing(2)


# Never.


@actions
def test_a_transfer_that_is_not_pending_is_for_a_person(action: Action) -> None:
    money = FrozenMoney(1)
    money.must_send(
        Transfer(
            id=pending_id_of(0),
            debit_account_id=payer_of(0),
            credit_account_id=MERCHANT,
            amount=1,
            ledger=LEDGER,
            code=1,
        )
    )

    verdict = drive(Resolution(money.order(action)), money.ledger)

    assert reviewed(verdict) is ReviewReason.LEDGER_REFUSED


@actions
@pytest.mark.parametrize(
    "status",
    [UnknownStatus(4711), TransferStatus.LINKED_EVENT_FAILED, TransferStatus.OVERFLOWS_DEBITS],
    ids=lambda status: status.name,
)
def test_an_answer_that_means_no_success_is_for_a_person_and_asks_no_more(
    action: Action, status: TransferStatus | UnknownStatus
) -> None:
    resolution = Resolution(FrozenMoney(2).order(action))

    resolution.answer((TransferStatus.LINKED_EVENT_FAILED, status))

    assert resolution.ask is None
    assert resolution.verdict is not None
    assert reviewed(resolution.verdict) is ReviewReason.LEDGER_REFUSED


@actions
def test_a_chain_that_cannot_be_sent_is_for_a_person(action: Action) -> None:
    resolution = Resolution(FrozenMoney(2).order(action))

    resolution.answer(ChainRefused("longer than a request"))

    assert resolution.verdict == ManualReview(ReviewReason.LEDGER_REFUSED, "longer than a request")


def test_a_verdict_on_a_transfer_that_is_not_as_meant_names_the_pending_transfer() -> None:
    ours = build_resolving_transfer(INTENT_ID, Action.POST_PENDING, pending_id_of(0), generation=0)
    different, in_part = FrozenMoney.with_all_frozen(1), FrozenMoney.with_all_frozen(1)
    different.must_send(replace(ours, amount=40))
    in_part.resolve_by_hand(0, POST, amount=40)
    named = f"pending transfer {pending_id_of(0):032x}"

    assert different.post() == ManualReview(
        ReviewReason.DIFFERENT_TRANSFER_EXISTS, f"{named}: exists_with_different_amount"
    )
    assert in_part.post() == ManualReview(
        ReviewReason.POSTED_IN_PART, f"{named}: pending_transfer_already_posted"
    )


# The ledger contradicts itself: nothing may be concluded from it.


def test_exists_without_a_transfer_to_show_for_it_is_no_success() -> None:
    resolution = Resolution(FrozenMoney(1).order(Action.POST_PENDING))

    resolution.answer((TransferStatus.EXISTS,))
    open_ask(resolution, LookUp)
    resolution.answer({})

    assert resolution.verdict is not None
    assert retried(resolution.verdict) is RetryReason.RESOLUTION_NOT_FOUND


def test_exists_of_a_member_whose_chain_was_rolled_back_does_not_count_for_the_others() -> None:
    # The look-up of all our ids shows the one member that is there, and it is not the culprit.
    money = FrozenMoney.with_all_frozen(2)
    money.must_send(
        build_resolving_transfer(INTENT_ID, Action.POST_PENDING, pending_id_of(1), generation=0)
    )
    resolution = Resolution(money.order(Action.POST_PENDING))

    resolution.answer((TransferStatus.EXISTS, TransferStatus.LINKED_EVENT_FAILED))
    resolution.answer(answer_to(open_ask(resolution, LookUp), money.ledger))

    assert resolution.verdict is not None
    assert retried(resolution.verdict) is RetryReason.RESOLUTION_NOT_FOUND


def test_already_posted_without_a_post_to_show_for_it_is_no_success() -> None:
    resolution = Resolution(FrozenMoney(1).order(Action.POST_PENDING))

    resolution.answer((TransferStatus.PENDING_TRANSFER_ALREADY_POSTED,))
    open_ask(resolution, LookUp)
    resolution.answer({})
    open_ask(resolution, FindResolutions)
    resolution.answer(SearchAnswer(()))

    assert resolution.verdict is not None
    assert retried(resolution.verdict) is RetryReason.RESOLUTION_NOT_FOUND


@pytest.mark.parametrize("has_all", [True, False])
def test_a_post_that_is_not_found_is_retried_and_it_says_where_the_search_ended_early(
    has_all: bool,
) -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.resolve_by_hand(0, POST)
    resolution = Resolution(money.order(Action.POST_PENDING))
    answer_until(resolution, money.ledger, FindResolutions)

    resolution.answer(SearchAnswer((), has_all_resolvers=has_all))

    assert isinstance(resolution.verdict, RetryLater)
    assert resolution.verdict.reason is RetryReason.RESOLUTION_NOT_FOUND
    ending = "" if has_all else ": the search ended early"
    assert resolution.verdict.detail.endswith(f", by whom is not found{ending}")


def test_a_post_under_our_own_id_is_ours_whatever_the_ledger_calls_it() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.must_send(
        build_resolving_transfer(INTENT_ID, Action.POST_PENDING, pending_id_of(0), generation=0)
    )
    resolution = Resolution(money.order(Action.POST_PENDING))

    resolution.answer((TransferStatus.PENDING_TRANSFER_ALREADY_POSTED,))

    # So the fee is ours to charge.
    assert drive(resolution, money.ledger) == Done(fee_satang=150)
    assert money.fees() == [150]


def test_a_post_whose_pending_transfer_is_not_shown_is_not_taken_for_full() -> None:
    money = FrozenMoney.with_all_frozen(1)
    money.resolve_by_hand(0, POST)
    resolution = Resolution(money.order(Action.POST_PENDING))

    resolution.answer((TransferStatus.PENDING_TRANSFER_ALREADY_POSTED,))
    resolution.answer({})
    open_ask(resolution, FindResolutions)
    post = [t for t in money.ledger.all_transfers() if t.pending_id == pending_id_of(0)]
    resolution.answer(SearchAnswer(tuple(post)))

    assert isinstance(resolution.verdict, ManualReview)


@actions
@pytest.mark.parametrize("answered", [0, 1, 3])
def test_an_answer_of_the_wrong_length_is_not_read(action: Action, answered: int) -> None:
    resolution = Resolution(FrozenMoney(2).order(action))

    with pytest.raises(ValueError, match="2 transfers sent"):
        resolution.answer((TransferStatus.CREATED,) * answered)


def test_a_look_up_asks_for_our_ids_for_what_they_resolve_and_for_the_fee() -> None:
    money = FrozenMoney.with_all_frozen(2)
    money.post()
    ours = {t.id for t in money.ledger.all_transfers()} - set(money.pending_ids) - {TransferId(2)}
    resolution = Resolution(money.order(Action.POST_PENDING))

    resolution.answer(answer_to(open_ask(resolution, CreateChain), money.ledger))

    assert set(open_ask(resolution, LookUp).ids) == ours | set(money.pending_ids)
