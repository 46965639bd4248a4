"""Giving up and coming back (DESIGN §8): what a worker gives up, a person orders again."""

import pytest

from adapters.memory.ledger import InMemoryLedger
from application.errors import LedgerMisconfiguredError
from application.ledger_identity import ACCOUNTS_MAX
from application.use_cases.fail_event import FailEvent
from application.use_cases.requeue_event import RequeueEvent
from domain.conclusions import Review
from domain.intents import Action, IntentId
from domain.named_events import NothingToDo, Operator, Refused
from domain.requeueing import Requeue
from domain.retry import RetryPolicy
from domain.waiting import Wait, wait_of
from tests.contracts.ledger import new_id
from tests.contracts.settling import assert_nothing_told
from tests.contracts.wallet import (
    FEE_CODE,
    POST,
    VOID,
    Case,
    Wallet,
    a_pending,
    post_by_other,
    void_by_other,
)

SOMCHAI = Operator(name="somchai", reason="ticket 4711")
FEW = RetryPolicy(attempts_max=3, attempts_max_not_found=2)


def requeue(wallet: Wallet, case: Case) -> Requeue | NothingToDo | Refused:
    """Order the event of *case* again."""
    return RequeueEvent(store=wallet.bench.operators)(case.event_id, SOMCHAI)


def fail(wallet: Wallet, case: Case) -> Review | NothingToDo | Refused:
    """Give the event of *case* up."""
    return fail_event(wallet)(case.event_id, SOMCHAI)


def fail_event(wallet: Wallet) -> FailEvent:
    """Return the use case on *wallet*."""
    return FailEvent(
        store=wallet.bench.operators,
        ledger=wallet.ledger,
        fee_code=FEE_CODE,
        mapped=wallet.bench.outbox.some_mapped_accounts(limit=ACCOUNTS_MAX),
    )


def settle_for_long(wallet: Wallet, attempts: int) -> None:
    """Let a worker try so many times, each backoff over."""
    for _ in range(attempts):
        wallet.settle()
        wallet.let_backoff_pass()


def waits(wallet: Wallet, intent_id: IntentId) -> list[Wait]:
    """What each pending event of an intent waits for, as ``queue`` tells."""
    events = wallet.bench.reader.queue(limit=1_000).events
    return [wait_of(event) for event in events if event.intent_id == intent_id]


class ReviewContract:
    """Inherit; provide the fixture ``wallet`` beside the class."""

    @pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLING"])
    def test_what_was_given_up_is_settled_once_it_is_mended_and_ordered_again(
        self, wallet: Wallet, status: str
    ) -> None:
        wallet.policy, late = FEW, new_id()
        case = wallet.add_case(POST, missing=[late], fee_satang=7, status=status)
        settle_for_long(wallet, 2)
        assert wallet.intent_status(case) == "MANUAL_REVIEW"
        assert_nothing_told(wallet, case)
        wallet.create(a_pending(case.payer, case.payee, 5, id_=late))

        assert isinstance(requeue(wallet, case), Requeue)
        restored = wallet.intent_status(case)
        wallet.settle()

        assert restored == status
        assert wallet.event_status(case) == "processed"
        assert wallet.posted_satang(case) == 105
        assert wallet.fees_satang() == 7
        assert wallet.told(case) == ["SETTLED"]
        assert wallet.audit_trail(case) == [
            (status, "MANUAL_REVIEW"),
            ("MANUAL_REVIEW", status),
            (status, "SETTLED"),
        ]

    def test_ordered_again_unmended_it_is_given_up_again_after_as_many_attempts(
        self, wallet: Wallet
    ) -> None:
        wallet.policy = FEW
        case = wallet.add_case(POST, frozen=(), missing=[new_id()])
        settle_for_long(wallet, 2)

        requeue(wallet, case)
        settle_for_long(wallet, 1)
        assert wallet.event_status(case) == "pending"
        settle_for_long(wallet, 1)

        assert wallet.event_status(case) == "failed"
        assert wallet.intent_status(case) == "MANUAL_REVIEW"

    def test_ordered_again_twice_changes_nothing_more(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, payload_json="[]")
        wallet.settle()

        assert isinstance(requeue(wallet, case), Requeue)
        assert isinstance(requeue(wallet, case), NothingToDo)
        assert len(wallet.audit_trail(case)) == 2

    def test_what_is_processed_is_never_ordered_again(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST)
        wallet.settle()

        assert isinstance(requeue(wallet, case), Refused)
        assert isinstance(fail(wallet, case), Refused)
        assert wallet.event_status(case) == "processed"
        assert wallet.settle().claimed == 0

    def test_where_nothing_is_given_up_a_requeue_ends_the_backoff(self, wallet: Wallet) -> None:
        wallet.policy, late = RetryPolicy(gives_up=False), new_id()
        case = wallet.add_case(POST, missing=[late])
        settle_for_long(wallet, 20)
        wallet.settle()
        assert (wallet.event_status(case), wallet.intent_status(case)) == ("pending", "AUTHORIZED")
        assert waits(wallet, case.intent_id) == [Wait.BACKOFF]
        wallet.create(a_pending(case.payer, case.payee, 5, id_=late))

        requeue(wallet, case)
        wallet.settle()

        assert wallet.intent_status(case) == "SETTLED"
        assert wallet.audit_trail(case) == [
            ("AUTHORIZED", "AUTHORIZED"),
            ("AUTHORIZED", "SETTLED"),
        ]

    def test_the_sources_own_statement_has_an_event_tried_at_once(self, wallet: Wallet) -> None:
        wallet.policy, late = FEW, new_id()
        case = wallet.add_case(POST, missing=[late])
        wallet.settle()
        assert wallet.settle().claimed == 0
        wallet.create(a_pending(case.payer, case.payee, 5, id_=late))

        wallet.bench.set_retry_count(case.event_id, 0)
        wallet.settle()

        assert wallet.intent_status(case) == "SETTLED"

    def test_later_events_of_an_intent_in_review_wait_and_are_seen(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, payload_json="[]")
        later = wallet.bench.add_event(case.intent_id, VOID, created_after_s=9)
        assert waits(wallet, case.intent_id) == [Wait.DUE, Wait.BEHIND]
        wallet.settle()

        assert wallet.settle().claimed == 0
        assert waits(wallet, case.intent_id) == [Wait.IN_REVIEW]
        assert wallet.bench.event(later).status == "pending"

    def test_a_later_event_takes_its_turn_once_the_intent_is_back(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, payload_json="[]")
        later = wallet.bench.add_event(case.intent_id, VOID, created_after_s=9)
        wallet.settle()

        RequeueEvent(store=wallet.bench.operators)(later, SOMCHAI)
        wallet.settle()

        assert wallet.event_status(case) == "failed"
        assert wallet.intent_status(case) == "FAILED"
        assert wallet.frozen_satang(case) == 0

    def test_an_intents_events_are_planned_oldest_first_as_one_follows_the_other(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, payload_json="[]")
        wallet.settle()
        later = wallet.bench.add_event(case.intent_id, VOID, created_after_s=9)
        use_case = RequeueEvent(store=wallet.bench.operators)

        plans = use_case.plan([later, case.event_id], SOMCHAI)

        assert list(plans) == [case.event_id, later]
        done = {event_id: use_case(event_id, SOMCHAI) for event_id in plans}
        assert done == plans
        assert isinstance(done[case.event_id], Requeue)
        # The intent is out of review by then.
        assert isinstance(done[later], NothingToDo)

    # Giving up by hand.

    @pytest.mark.parametrize("action", Action)
    def test_an_order_that_its_intent_has_followed_already_is_not_given_up(
        self, wallet: Wallet, action: Action
    ) -> None:
        case = wallet.add_case(action, frozen=(), status=action.final_status)

        refused = fail(wallet, case)

        assert isinstance(refused, Refused)
        assert f"its intent is {action.final_status} already" in refused.detail
        assert wallet.ledger.calls == []
        assert wallet.intent_status(case) == action.final_status

    def test_an_order_that_contradicts_its_final_intent_may_be_given_up(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(VOID, frozen=(), status="SETTLED")

        assert isinstance(fail(wallet, case), Review)
        assert wallet.audit_trail(case) == [("SETTLED", "MANUAL_REVIEW")]

    def test_an_open_order_is_given_up_and_moves_nothing(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, frozen=(100, 20), fee_satang=7)

        assert isinstance(fail(wallet, case), Review)

        assert wallet.event_status(case) == "failed"
        assert wallet.intent_status(case) == "MANUAL_REVIEW"
        assert wallet.frozen_satang(case) == 120
        assert wallet.audit_trail(case) == [("AUTHORIZED", "MANUAL_REVIEW")]
        assert "ticket 4711" in wallet.last_error(case)
        assert_nothing_told(wallet, case)
        assert wallet.settle().claimed == 0
        assert isinstance(fail(wallet, case), NothingToDo)

    def test_what_was_given_up_by_hand_comes_back_like_any_other(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST)
        fail(wallet, case)

        requeue(wallet, case)
        wallet.settle()

        assert wallet.intent_status(case) == "SETTLED"
        assert wallet.posted_satang(case) == 100

    @pytest.mark.parametrize("member", [0, 1])
    @pytest.mark.parametrize("tagged", [True, False])
    @pytest.mark.parametrize("moved", Action)
    @pytest.mark.parametrize("ordered", Action)
    def test_an_order_whose_money_others_moved_is_not_given_up(
        self, wallet: Wallet, ordered: Action, moved: Action, member: int, tagged: bool
    ) -> None:
        case = wallet.add_case(ordered, frozen=(100, 20), tagged=tagged)
        pending_id = case.pending_ids[member]
        by_other = (
            post_by_other(pending_id, (100, 20)[member])
            if moved is POST
            else void_by_other(pending_id)
        )
        wallet.create(by_other)

        refused = fail(wallet, case)

        assert isinstance(refused, Refused)
        assert f"{pending_id:032x}" in refused.detail
        assert f"{by_other.id:032x}" in refused.detail
        assert f"requeue {case.event_id}" in refused.detail
        assert wallet.event_status(case) == "pending"
        assert wallet.intent_status(case) == "AUTHORIZED"
        assert wallet.audit_trail(case) == []

    @pytest.mark.parametrize("action", Action)
    def test_an_order_that_a_dead_worker_carried_out_is_not_given_up(
        self, wallet: Wallet, action: Action
    ) -> None:
        case = wallet.add_case(action, frozen=(100, 20))
        wallet.settle_and_die_after(1)

        refused = fail(wallet, case)
        wallet.settle()

        assert isinstance(refused, Refused)
        assert "the worker finishes it" in refused.detail
        assert wallet.intent_status(case) == action.final_status

    def test_what_was_posted_by_an_id_beyond_burned_ones_is_found(self, wallet: Wallet) -> None:
        late = new_id()
        case = wallet.add_case(POST, frozen=(), missing=[late], tagged=False)
        settle_for_long(wallet, 2)
        wallet.create(a_pending(case.payer, case.payee, 5, id_=late))
        wallet.settle_and_die_after(2)

        assert isinstance(fail(wallet, case), Refused)

    def test_an_order_whose_reservation_has_expired_may_be_given_up(self, wallet: Wallet) -> None:
        case = wallet.add_case(VOID, timeout_s=1)
        wallet.bank.wait_expired(case.pending_ids[0])

        assert isinstance(fail(wallet, case), Review)

    def test_an_order_on_what_the_ledger_does_not_know_may_be_given_up(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, frozen=(), missing=[new_id()])

        assert isinstance(fail(wallet, case), Review)
        assert wallet.intent_status(case) == "MANUAL_REVIEW"

    def test_what_no_search_could_find_out_is_not_given_up(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST)
        wallet.ledger.searches_end_early = True

        refused = fail(wallet, case)

        assert isinstance(refused, Refused)
        assert "is not known" in refused.detail
        assert (wallet.event_status(case), wallet.intent_status(case)) == ("pending", "AUTHORIZED")

    def test_another_environments_ledger_gives_nothing_up(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST)
        own, wallet.ledger.ledger = wallet.ledger.ledger, InMemoryLedger()

        with pytest.raises(LedgerMisconfiguredError):
            fail(wallet, case)

        wallet.ledger.ledger = own
        assert (wallet.event_status(case), wallet.intent_status(case)) == ("pending", "AUTHORIZED")
