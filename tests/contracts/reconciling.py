"""Reconciling, from the rows and the ledger to what is told: each fault, and only that one.

The same tests run on the fakes and on real servers. The ledger's clock must be the database's.
"""

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from uuid import uuid4

import pytest

from adapters.memory.ledger import InMemoryLedger
from application.errors import LedgerMisconfiguredError
from application.ports.fee_scan import FeeScan
from application.ports.intent_records import IntentRecords
from application.use_cases.order_again import OrderAgain
from application.use_cases.reconcile import Checked, Reconcile
from domain.conclusions import LineKind, RecordedLine
from domain.fees import MappedAccount
from domain.intents import EventId, Intent, IntentId
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.fixing import NotOrdered, Obstacle
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import ByIds, Period, Selection
from domain.transfers import AMOUNT_MAX, TransferId
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.ledger import LEDGER, new_id
from tests.contracts.wallet import (
    FEE_RULE,
    NOSTRO_CODE,
    POST,
    REVENUE_CODE,
    VOID,
    Case,
    Wallet,
    a_psp_record,
    post_by_other,
    void_by_other,
)

Kind = DifferenceKind
HOUR_MS: Final = 3_600_000
READING: Final = {"lookup", "lookup_accounts", "find_resolutions"}
SPLITS: Final = '{"feeSplits":[{"account":"revenue.THB","amountSatang":15,"kind":"PLATFORM_FEE"}]}'


class ReconciledDatabase(DatabaseBench, Protocol):
    """A database whose intents can be read for reconciling."""

    def records(self, *, page_intents: int = 1_000) -> IntentRecords:
        """Return the reader under test."""
        ...

    def set_age(self, intent_id: IntentId, age_ms: int) -> None:
        """Let the intent's last change have been so long ago."""
        ...

    def add_lines(self, intent_id: IntentId, *lines: RecordedLine) -> None:
        """Store lines of history."""
        ...


@dataclass(slots=True)
class Desk:
    """Where a wallet is reconciled; what happened before it was set up is not looked at."""

    wallet: Wallet
    database: ReconciledDatabase
    fee_scan: FeeScan
    limits: Limits = field(default_factory=lambda: Limits(grace_ms=0))
    page_intents: int = 2
    began: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.database.records().now()

    def add(
        self,
        status: str,
        *,
        frozen: tuple[int, ...] = (100,),
        has_history: bool = False,
        **columns: Any,
    ) -> Intent:
        """Store an intent with frozen money and without an order."""
        intent, _ = self.wallet.freeze(frozen=frozen, status=status, **columns)
        self.database.add_intent(intent)
        self.database.add_psp(intent.id, a_psp_record())
        if has_history:
            self.database.add_lines(intent.id, a_line(0, intent.amount_satang))
        return intent

    def add_settled(self, **columns: Any) -> Case:
        """Store an intent that the worker itself settles."""
        case = self.wallet.add_case(POST, **columns)
        self.wallet.settle_until_idle()
        return case

    def steps(self, selection: Selection | None = None) -> Generator[Checked, None, None]:
        """Reconcile *selection*, or else the period from the desk's beginning on."""
        records = self.database.records(page_intents=self.page_intents)
        reconcile = Reconcile(
            records=records,
            ledger=self.wallet.ledger,
            fee_scan=self.fee_scan,
            fee=FEE_RULE,
            accounts={
                REVENUE_CODE: MappedAccount(account_id=self.wallet.revenue, ledger=LEDGER),
                NOSTRO_CODE: MappedAccount(account_id=self.wallet.nostro, ledger=LEDGER),
            },
            limits=self.limits,
        )
        until = records.now() + timedelta(hours=1)
        yield from reconcile(selection or Period(since=self.began, until=until))

    def reconcile(self, selection: Selection | None = None) -> list[Difference]:
        """Return all differences, having checked that nothing but reading was done."""
        # A ledger that stands still stamps what follows a moment ahead of its clock.
        self.database.pass_time(1)
        calls_before = len(self.wallet.ledger.calls)
        found = [one for step in self.steps(selection) for one in step.differences]
        assert {call.method for call in self.wallet.ledger.calls[calls_before:]} <= READING
        return found

    def told(self, selection: Selection | None = None) -> list[tuple[IntentId, Kind]]:
        """Return what is told of whom."""
        return [(one.intent_id, one.kind) for one in self.reconcile(selection)]

    def order_again(self, difference: Difference) -> EventId | NotOrdered:
        """Order what would fix *difference*, in a transaction of its own."""
        sharing = self.database.records().sharing([difference.intent_id])
        with self.database.producer() as store:
            return OrderAgain(store=store, sharing=sharing)(difference)


def why_not(answer: EventId | NotOrdered) -> Obstacle | None:
    """Return why no event was inserted."""
    return answer.obstacle if isinstance(answer, NotOrdered) else None


def a_line(
    line_no: int, amount_satang: int, *, kind: LineKind = LineKind.PRINCIPAL
) -> RecordedLine:
    """Return a line of history."""
    return RecordedLine(line_no=line_no, kind=kind, account=None, amount_satang=amount_satang)


def pending_ids(intent: Intent) -> list[TransferId]:
    """Return the ids of an intent's pending transfers."""
    return [TransferId(id_.int) for id_ in intent.tb_transfer_ids if id_ is not None]


def archive(desk: Desk, *event_ids: EventId) -> None:
    """Let events have been processed long ago, and prune them."""
    for event_id in event_ids:
        desk.database.finish_event(event_id, 100 * 24 * HOUR_MS)
    before = desk.database.archive.cutoff(timedelta(days=90))
    assert desk.database.archive.move(event_ids, before=before) == len(event_ids)


# Each puts one fault in, and returns whom it should be told of.


def settled_while_frozen(desk: Desk) -> IntentId:
    return desk.add("SETTLED", frozen=(100, 20), has_history=True).id


def settled_after_a_void(desk: Desk) -> IntentId:
    intent = desk.add("SETTLED", has_history=True)
    desk.wallet.create(void_by_other(pending_ids(intent)[0]))
    return intent.id


def failed_while_frozen(desk: Desk) -> IntentId:
    return desk.add("FAILED", frozen=(100, 20)).id


def failed_after_a_post(desk: Desk) -> IntentId:
    intent = desk.add("FAILED")
    desk.wallet.create(post_by_other(pending_ids(intent)[0], AMOUNT_MAX))
    return intent.id


def posted_without_an_order(desk: Desk) -> IntentId:
    intent = desk.add("AUTHORIZED", frozen=(100, 20))
    desk.wallet.create(*(post_by_other(id_, AMOUNT_MAX) for id_ in pending_ids(intent)))
    return intent.id


def posted_after_its_event(desk: Desk) -> IntentId:
    intent_id = posted_without_an_order(desk)
    desk.database.add_event(intent_id, POST, status="failed", payload_json=SPLITS)
    return intent_id


def voided_without_an_order(desk: Desk) -> IntentId:
    intent = desk.add("SETTLING", tagged=False)
    desk.wallet.create(void_by_other(pending_ids(intent)[0]))
    return intent.id


def expired_without_an_order(desk: Desk) -> IntentId:
    intent = desk.add("AUTHORIZED", timeout_s=1)
    desk.wallet.bank.wait_expired(pending_ids(intent)[0])
    return intent.id


def posted_in_part(desk: Desk) -> IntentId:
    intent = desk.add("AUTHORIZED", frozen=(100, 20))
    desk.wallet.create(post_by_other(pending_ids(intent)[0], 40))
    return intent.id


def listing_what_was_never_frozen(desk: Desk) -> IntentId:
    return desk.wallet.add_case(POST, missing=[new_id()]).intent_id


def settling_another_amount(desk: Desk) -> IntentId:
    return desk.add_settled(frozen=(100, 20), amount_satang=90).intent_id


def settling_without_money(desk: Desk) -> IntentId:
    return desk.add("SETTLED", frozen=(), amount_satang=100).id


def settling_what_another_posted(desk: Desk) -> IntentId:
    case = desk.wallet.add_case(POST, fee_satang=7)
    desk.wallet.create(post_by_other(case.pending_ids[0], AMOUNT_MAX))
    desk.wallet.settle_until_idle()
    return case.intent_id


def charging_a_fee_again(desk: Desk) -> IntentId:
    case = desk.add_settled(fee_satang=7)
    desk.wallet.create(desk.wallet.a_fee(7, user_data_128=case.intent_id.int))
    return case.intent_id


def changing_the_fee_afterwards(desk: Desk) -> IntentId:
    case = desk.add_settled(fee_satang=7)
    desk.wallet.change_fee(case, 9)
    return case.intent_id


def charging_a_fee_for_a_void(desk: Desk) -> IntentId:
    case = desk.wallet.add_case(VOID, fee_satang=7)
    desk.wallet.settle_until_idle()
    desk.wallet.create(desk.wallet.a_fee(7, user_data_128=case.intent_id.int))
    return case.intent_id


def writing_history_twice(desk: Desk) -> IntentId:
    case = desk.add_settled()
    desk.database.add_lines(case.intent_id, a_line(0, 100))
    return case.intent_id


def letting_money_wait_too_long(desk: Desk) -> IntentId:
    case = desk.wallet.add_case(POST, timeout_s=1_800)
    desk.database.set_retry_count(case.event_id, 1)
    return case.intent_id


def ordering_what_is_done(desk: Desk) -> IntentId:
    case = desk.add_settled()
    desk.database.add_event(case.intent_id, POST)
    return case.intent_id


def dying_before_the_commit(desk: Desk) -> IntentId:
    case = desk.wallet.add_case(POST)
    desk.wallet.settle_and_die_after(ledger_calls=1)
    return case.intent_id


def forgetting_the_order(desk: Desk) -> IntentId:
    intent = desk.add("AUTHORIZED")
    desk.database.set_age(intent.id, HOUR_MS)
    return intent.id


Fault = Callable[[Desk], IntentId]
FIXABLE: Final[list[tuple[Fault, Kind]]] = [
    (settled_while_frozen, Kind.SETTLED_NOT_POSTED),
    (failed_while_frozen, Kind.FAILED_NOT_RELEASED),
    (posted_after_its_event, Kind.POSTED_NOT_SETTLED),
    (voided_without_an_order, Kind.RELEASED_NOT_FAILED),
]
OTHERS: Final[list[tuple[Fault, Kind]]] = [
    (settled_after_a_void, Kind.SETTLED_BUT_RELEASED),
    (failed_after_a_post, Kind.FAILED_BUT_POSTED),
    (posted_without_an_order, Kind.POSTED_NOT_SETTLED),
    (expired_without_an_order, Kind.RELEASED_NOT_FAILED),
    (posted_in_part, Kind.RESOLVED_IN_PART),
    (listing_what_was_never_frozen, Kind.TRANSFER_MISSING),
    (settling_another_amount, Kind.AMOUNT_DIFFERS),
    (settling_without_money, Kind.AMOUNT_DIFFERS),
    (settling_what_another_posted, Kind.FEE_MISSING),
    (charging_a_fee_again, Kind.FEE_TWICE),
    (changing_the_fee_afterwards, Kind.FEE_AMOUNT_DIFFERS),
    (charging_a_fee_for_a_void, Kind.FEE_WITHOUT_POST),
    (writing_history_twice, Kind.HISTORY_DIFFERS),
    (letting_money_wait_too_long, Kind.EXPIRES_SOON),
    (ordering_what_is_done, Kind.EVENT_DONE),
    (dying_before_the_commit, Kind.EVENT_DONE),
    (forgetting_the_order, Kind.NO_EVENT),
]

SEARCHED: Final[list[tuple[Fault, Kind]]] = [
    one
    for one in OTHERS
    if one[0]
    in (
        settled_after_a_void,
        failed_after_a_post,
        expired_without_an_order,
        posted_in_part,
        settling_what_another_posted,
        forgetting_the_order,
    )
]
"""Those that only a search shows, or that a search has to rule out."""


class ReconcilingContract:
    """Inherit; provide the fixture ``desk`` beside the class."""

    # Nothing to tell.

    def test_an_empty_database_has_no_difference(self, desk: Desk) -> None:
        assert desk.told() == []

    def test_what_the_worker_settled_itself_agrees(self, desk: Desk) -> None:
        wallet = desk.wallet
        cases = [
            wallet.add_case(POST, frozen=(100, 20, 3), fee_satang=7, payload_json=SPLITS),
            wallet.add_case(POST, tagged=False),
            wallet.add_case(VOID, frozen=(100, 20), fee_satang=7),
            wallet.add_case(VOID, timeout_s=1),
        ]
        wallet.bank.wait_expired(cases[-1].pending_ids[0])
        wallet.settle_and_die_after(ledger_calls=1)
        wallet.settle_until_idle()

        assert [wallet.intent_status(case) for case in cases] == ["SETTLED"] * 2 + ["FAILED"] * 2
        assert desk.told() == []
        assert desk.told(ByIds(tuple(case.intent_id for case in cases))) == []

    def test_what_was_settled_and_then_archived_agrees(self, desk: Desk) -> None:
        wallet = desk.wallet
        cases = [wallet.add_case(POST, fee_satang=7, payload_json=SPLITS), wallet.add_case(VOID)]
        wallet.settle_until_idle()

        archive(desk, *(case.event_id for case in cases))

        assert desk.told() == []
        assert desk.told(ByIds(tuple(case.intent_id for case in cases))) == []

    def test_an_archived_order_of_the_opposite_is_in_the_way_of_a_fix(self, desk: Desk) -> None:
        intent_id = settled_while_frozen(desk)
        archive(desk, desk.database.add_event(intent_id, VOID))

        (difference,) = desk.reconcile()

        assert difference.fix is None
        assert "asked for the opposite" in difference.detail

    def test_what_another_settled_in_full_agrees(self, desk: Desk) -> None:
        wallet = desk.wallet
        posted = wallet.add_case(POST, fee_satang=7, tagged=False)
        voided = wallet.add_case(VOID)
        # As the original worker does it: the fee in the request of its chain.
        wallet.create(post_by_other(posted.pending_ids[0], AMOUNT_MAX), wallet.a_fee(7))
        wallet.create(void_by_other(voided.pending_ids[0]))
        wallet.settle_until_idle()

        assert wallet.lines(posted) == [(0, "PRINCIPAL", 100), (1, "PSP_FEE", 7)]
        assert desk.told() == []

    def test_orders_that_wait_for_the_worker_are_no_difference(self, desk: Desk) -> None:
        for action in (POST, VOID):
            desk.wallet.add_case(action, frozen=(100, 20), fee_satang=7)
            desk.wallet.add_case(action, timeout_s=900)

        assert desk.told() == []

    def test_an_intent_may_have_failed_since_nothing_could_be_frozen(self, desk: Desk) -> None:
        intent, _ = desk.wallet.freeze(frozen=(), missing=[new_id()], status="FAILED")
        desk.database.add_intent(replace(intent, amount_satang=100))

        assert desk.told() == []

    def test_a_second_order_may_wait_its_turn(self, desk: Desk) -> None:
        case = desk.add_settled()
        event_id = desk.database.add_event(case.intent_id, POST)

        assert desk.told() == [(case.intent_id, Kind.EVENT_DONE)]
        desk.limits = Limits(grace_ms=0, unordered_after_ms=10**15)
        assert desk.told() == []
        desk.database.set_retry_count(event_id, 1)
        assert desk.told() == [(case.intent_id, Kind.EVENT_DONE)]

    # One fault at a time.

    @pytest.mark.parametrize(("fault", "kind"), [*FIXABLE, *OTHERS])
    def test_a_fault_is_told_as_what_it_is_and_of_its_intent_only(
        self, desk: Desk, fault: Fault, kind: Kind
    ) -> None:
        desk.add_settled(fee_satang=7)
        at_fault = fault(desk)
        healthy = desk.wallet.add_case(VOID)

        assert desk.told() == [(at_fault, kind)]
        # Whoever is named is searched for, so a fee that was charged again shows as well.
        assert desk.told(ByIds((at_fault, healthy.intent_id))) == [(at_fault, kind)]

    @pytest.mark.parametrize(("fault", "kind"), FIXABLE)
    def test_what_the_worker_can_fix_is_fixed_by_an_order(
        self, desk: Desk, fault: Fault, kind: Kind
    ) -> None:
        intent_id = fault(desk)
        [found] = desk.reconcile()

        event_id = desk.order_again(found)
        told_meanwhile = desk.told()
        desk.wallet.settle_until_idle()

        assert not isinstance(event_id, NotOrdered)
        assert desk.database.event(event_id).status == "processed"
        # A final intent is looked at closely until its money has moved; one with a fresh event
        # waits for the worker as any other.
        is_final = kind in (Kind.SETTLED_NOT_POSTED, Kind.FAILED_NOT_RELEASED)
        assert told_meanwhile == ([(intent_id, kind)] if is_final else [])
        assert desk.told() == []

    @pytest.mark.parametrize(("fault", "kind"), OTHERS)
    def test_what_the_worker_cannot_put_right_has_no_fix(
        self, desk: Desk, fault: Fault, kind: Kind
    ) -> None:
        fault(desk)

        [found] = desk.reconcile()

        assert found.fix is None

    @pytest.mark.parametrize(("fault", "kind"), FIXABLE)
    def test_an_order_is_given_once_and_leaves_a_trail(
        self, desk: Desk, fault: Fault, kind: Kind
    ) -> None:
        intent_id = fault(desk)
        [found] = desk.reconcile()

        event_id = desk.order_again(found)

        assert why_not(desk.order_again(found)) is Obstacle.EVENT_PENDING
        assert [one.fix for one in desk.reconcile()] in ([], [None])
        [audit] = desk.database.audit(intent_id)
        assert audit.status_from == audit.status_to == found.status
        assert audit.reason == "reconcile"
        assert json.loads(audit.payload_json)["eventId"] == event_id

    def test_the_fee_splits_of_the_earlier_event_are_not_lost(self, desk: Desk) -> None:
        intent_id = posted_after_its_event(desk)
        [found] = desk.reconcile()

        desk.order_again(found)
        desk.wallet.settle_until_idle()

        lines = [(str(line.kind), line.amount_satang) for line in desk.database.history(intent_id)]
        assert lines == [("PRINCIPAL", 105), ("FEE", 15)]

    def test_a_post_is_not_ordered_where_only_the_manager_knows_the_splits(
        self, desk: Desk
    ) -> None:
        posted_without_an_order(desk)
        [found] = desk.reconcile()

        assert why_not(desk.order_again(replace(found, fix=POST))) is Obstacle.SPLITS_UNKNOWN

    def test_what_may_be_in_flight_is_given_time(self, desk: Desk) -> None:
        desk.limits = Limits(grace_ms=HOUR_MS)
        dying_before_the_commit(desk)
        posted_without_an_order(desk)

        assert desk.told() == []

    # Searches that end early.

    @pytest.mark.parametrize(("fault", "kind"), [*FIXABLE, *SEARCHED])
    def test_what_a_search_did_not_come_to_is_neither_told_as_a_fact_nor_fixed(
        self, desk: Desk, fault: Fault, kind: Kind
    ) -> None:
        desk.add_settled(fee_satang=7)
        intent_id = fault(desk)
        desk.wallet.ledger.searches_end_early = True

        [found] = desk.reconcile()

        assert (found.intent_id, found.kind) == (intent_id, Kind.NOT_COMPARED)
        assert "the search in the ledger ended early" in found.detail
        assert found.fix is None
        assert isinstance(desk.order_again(found), NotOrdered)
        desk.wallet.ledger.searches_end_early = False
        assert desk.told() == [(intent_id, kind)]

    def test_a_fee_charged_again_is_not_passed_over_where_the_search_for_it_ended_early(
        self, desk: Desk
    ) -> None:
        case = desk.add_settled(fee_satang=7)
        desk.wallet.create(desk.wallet.a_fee(7, user_data_128=case.intent_id.int))
        desk.wallet.ledger.searches_end_early = True

        assert desk.told() == [(case.intent_id, Kind.NOT_COMPARED)]

    # A ledger that is not ours.

    def test_a_ledger_that_is_empty_is_told_of_and_no_intent_is(self, desk: Desk) -> None:
        settled_while_frozen(desk)
        intent, _ = desk.wallet.freeze()
        desk.database.add_intent(replace(intent, tb_transfer_ids=intent.tb_transfer_ids * 2))
        own, desk.wallet.ledger.ledger = desk.wallet.ledger.ledger, InMemoryLedger()

        with pytest.raises(LedgerMisconfiguredError, match="TIGERBEETLE_ADDRESSES leads to"):
            next(desk.steps())

        with pytest.raises(LedgerMisconfiguredError):
            next(desk.steps(ByIds((intent.id,))))
        desk.wallet.ledger.ledger = own
        assert len(desk.told()) == 2

    def test_accounts_are_looked_up_once(self, desk: Desk) -> None:
        for _ in range(3):
            settled_while_frozen(desk)

        desk.reconcile()

        assert [c.method for c in desk.wallet.ledger.calls].count("lookup_accounts") == 1

    # Across intents.

    def test_frozen_money_that_two_intents_list_is_told_of_both(self, desk: Desk) -> None:
        first = desk.add("FAILED")
        second, other = (replace(desk.wallet.freeze()[0], status="FAILED") for _ in range(2))
        second = replace(second, tb_transfer_ids=first.tb_transfer_ids)
        for intent in (second, other):
            desk.database.add_intent(intent)

        found = desk.reconcile()

        shared = {one.intent_id for one in found if one.kind is Kind.TRANSFER_SHARED}
        unreleased = [one for one in found if one.kind is Kind.FAILED_NOT_RELEASED]
        frozen = {one.intent_id: one.fix for one in unreleased}
        assert shared == {first.id, second.id}
        assert frozen == {first.id: None, second.id: None, other.id: VOID}
        why_nots = [one.detail.partition("; ")[2] for one in unreleased]
        assert sorted(why_nots) == [
            "",
            *["no fix: another intent lists the same pending transfer"] * 2,
        ]

    def test_no_order_is_given_for_money_that_an_intent_elsewhere_lists(self, desk: Desk) -> None:
        first = desk.add("FAILED")
        [found] = desk.reconcile()
        other, _ = desk.wallet.freeze()
        desk.database.add_intent(replace(other, tb_transfer_ids=first.tb_transfer_ids))

        assert why_not(desk.order_again(found)) is Obstacle.TRANSFER_SHARED

    def test_frozen_money_that_an_intent_outside_of_the_period_lists_is_told(
        self, desk: Desk
    ) -> None:
        old = desk.add_settled()
        desk.database.set_age(old.intent_id, 10 * HOUR_MS)
        intent, _ = desk.wallet.freeze(frozen=(), status="FAILED")
        desk.database.add_intent(replace(intent, tb_transfer_ids=old.intent.tb_transfer_ids))

        told = desk.told()

        assert (intent.id, Kind.TRANSFER_SHARED) in told
        assert old.intent_id not in {intent_id for intent_id, _ in told}

    def test_a_transfer_that_is_listed_twice_is_told(self, desk: Desk) -> None:
        intent, _ = desk.wallet.freeze()
        desk.database.add_intent(replace(intent, tb_transfer_ids=intent.tb_transfer_ids * 2))

        assert desk.told() == [(intent.id, Kind.TRANSFER_SHARED)]

    def test_a_fee_that_was_charged_again_is_told_once_where_the_page_saw_it(
        self, desk: Desk
    ) -> None:
        case = desk.wallet.add_case(POST, fee_satang=7)
        desk.wallet.create(post_by_other(case.pending_ids[0], AMOUNT_MAX))
        for _ in range(2):
            desk.wallet.create(desk.wallet.a_fee(7, user_data_128=case.intent_id.int))
        desk.wallet.settle_until_idle()

        assert desk.told() == [(case.intent_id, Kind.FEE_TWICE)]

    def test_a_fee_that_was_charged_by_hand_as_the_docs_say_agrees(self, desk: Desk) -> None:
        intent_id = settling_what_another_posted(desk)
        [missing] = desk.reconcile()

        desk.wallet.create(desk.wallet.a_fee(7, user_data_128=intent_id.int))
        desk.database.add_lines(intent_id, a_line(1, 7, kind=LineKind.PSP_FEE))

        assert missing.kind is Kind.FEE_MISSING
        assert desk.told() == []
        assert desk.told(ByIds((intent_id,))) == []

    # Fees that a person has put right.

    def test_a_fee_too_many_is_told_until_it_is_paid_back(self, desk: Desk) -> None:
        wallet = desk.wallet
        case = desk.add_settled(fee_satang=7)
        again = wallet.a_fee(7, user_data_128=case.intent_id.int)
        wallet.create(again)
        assert desk.told() == [(case.intent_id, Kind.FEE_TWICE)]

        wallet.create(wallet.back(again, 6))
        assert desk.told() == [(case.intent_id, Kind.FEE_TWICE)]

        wallet.create(wallet.back(again, 1))
        assert desk.told() == []
        assert desk.told(ByIds((case.intent_id,))) == []

    def test_a_fee_that_is_short_is_told_until_the_rest_is_charged(self, desk: Desk) -> None:
        wallet = desk.wallet
        case = desk.add_settled(fee_satang=7)
        wallet.change_fee(case, 9)
        assert desk.told() == [(case.intent_id, Kind.FEE_AMOUNT_DIFFERS)]

        wallet.create(wallet.a_fee(2, user_data_128=case.intent_id.int))
        assert desk.told() == [(case.intent_id, Kind.HISTORY_DIFFERS)]

        rest = replace(a_line(2, 2), kind=LineKind.PSP_FEE)
        desk.database.add_lines(case.intent_id, rest)
        assert desk.told() == []

    def test_a_fee_that_was_paid_back_though_it_is_due_is_missing(self, desk: Desk) -> None:
        wallet = desk.wallet
        case = desk.add_settled(fee_satang=7)
        wallet.create(wallet.back(wallet.a_fee(7, user_data_128=case.intent_id.int), 7))

        assert desk.told() == [(case.intent_id, Kind.FEE_MISSING)]

    def test_a_fee_of_a_void_is_told_until_it_is_paid_back(self, desk: Desk) -> None:
        wallet = desk.wallet
        case = wallet.add_case(VOID, fee_satang=7)
        wallet.settle_until_idle()
        fee = wallet.a_fee(7, user_data_128=case.intent_id.int)
        wallet.create(fee)
        assert desk.told() == [(case.intent_id, Kind.FEE_WITHOUT_POST)]

        wallet.create(wallet.back(fee, 7))
        assert desk.told() == []

    def test_what_looks_like_a_fee_between_other_accounts_is_none(self, desk: Desk) -> None:
        wallet = desk.wallet
        case = desk.add_settled(fee_satang=7)
        payer, payee = (wallet.bank.open_account(ledger=LEDGER) for _ in range(2))
        stray = wallet.a_fee(3, user_data_128=case.intent_id.int)
        wallet.create(replace(stray, debit_account_id=payer, credit_account_id=payee))

        assert desk.told() == []
        assert desk.told(ByIds((case.intent_id,))) == []

    def test_intents_that_are_not_there_are_told(self, desk: Desk) -> None:
        case = desk.add_settled()
        missing = [IntentId(uuid4()) for _ in range(2)]

        told = desk.told(ByIds((missing[0], case.intent_id, missing[1], missing[0])))

        assert told == [(intent_id, Kind.INTENT_MISSING) for intent_id in sorted(missing)]

    def test_many_faults_on_many_pages_are_all_told(self, desk: Desk) -> None:
        faults = [fault(desk) for fault, _ in FIXABLE for _ in range(3)]
        for _ in range(3):
            desk.add_settled(fee_satang=7)

        assert sorted(intent_id for intent_id, _ in desk.told()) == sorted(faults)
