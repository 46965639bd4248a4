"""What an event means, and what is asked of the ledger for it."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.fees import MappedAccount
from domain.intents import Action, ClaimedEvent, IntentStatus, RetryState
from domain.payloads import FeeSplit
from domain.planning import Task, fee_codes, judge_event, plan
from domain.resolution import Order
from domain.transfers import AccountId
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict
from tests.unit.domain.claims import (
    FEE_RULE,
    INTENT,
    INTENT_ID,
    MAPPED,
    PENDING_UUIDS,
    PSP,
    a_claim,
)

GO = "go on"
AGREES = "final already"
MATRIX = {
    # status: (post, void)
    "CREATED": (ReviewReason.INTENT_NOT_AUTHORIZED, ReviewReason.INTENT_NOT_AUTHORIZED),
    "AUTHORIZED": (GO, GO),
    "SETTLING": (GO, GO),
    "SETTLED": (AGREES, ReviewReason.STATUS_CONTRADICTS),
    "FAILED": (ReviewReason.STATUS_CONTRADICTS, AGREES),
    "MANUAL_REVIEW": (ReviewReason.INTENT_NOT_AUTHORIZED, ReviewReason.INTENT_NOT_AUTHORIZED),
    "REFUNDED": (ReviewReason.UNKNOWN_INTENT_STATUS, ReviewReason.UNKNOWN_INTENT_STATUS),
    "authorized": (ReviewReason.UNKNOWN_INTENT_STATUS, ReviewReason.UNKNOWN_INTENT_STATUS),
    "": (ReviewReason.UNKNOWN_INTENT_STATUS, ReviewReason.UNKNOWN_INTENT_STATUS),
}

actions = pytest.mark.parametrize("action", Action)


def a_task(action: Action = Action.POST_PENDING, **changes: Any) -> Task:
    return replace(Task(action=action, intent=INTENT, already_final=False, splits=()), **changes)


def reviewed(judged: object) -> ReviewReason:
    assert isinstance(judged, ManualReview)
    return judged.reason


def planned(
    task: Task,
    claimed: ClaimedEvent | None = None,
    *,
    accounts: dict[str, MappedAccount] | None = None,
) -> Order | Verdict:
    return plan(
        claimed or a_claim(action=task.action),
        task,
        rule=FEE_RULE,
        accounts=MAPPED if accounts is None else accounts,
    )


# Judging.


def test_the_matrix_has_every_status() -> None:
    assert {status.value for status in IntentStatus} <= set(MATRIX)


@pytest.mark.parametrize("status", MATRIX)
@actions
def test_a_status_and_an_action_mean_what_the_matrix_says(status: str, action: Action) -> None:
    intent = replace(INTENT, status=status)
    expected = MATRIX[status][list(Action).index(action)]

    judged = judge_event(a_claim(intent=intent, action=action.value))

    if expected in (GO, AGREES):
        assert judged == Task(
            action=action, intent=intent, already_final=expected == AGREES, splits=()
        )
    else:
        assert reviewed(judged) is expected


@pytest.mark.parametrize("action", ["", "POST_PENDING", "refund", "post_pending ", "x" * 300])
@pytest.mark.parametrize("orphan", [True, False])
def test_an_unknown_action_is_for_a_person(action: str, orphan: bool) -> None:
    claimed = a_claim(action=action, intent=None if orphan else INTENT)

    assert judge_event(claimed) == ManualReview(ReviewReason.UNKNOWN_ACTION, f"action '{action}'")


@pytest.mark.parametrize(
    ("status", "action", "detail"),
    [
        ("CREATED", "post_pending", "intent is CREATED"),
        ("MANUAL_REVIEW", "void_pending", "intent is MANUAL_REVIEW"),
        ("FAILED", "post_pending", "post_pending of an intent that is FAILED"),
        ("SETTLED", "void_pending", "void_pending of an intent that is SETTLED"),
        ("re\nfunded", "post_pending", r"intent is 're\nfunded'"),
    ],
)
def test_a_status_that_stands_in_the_way_is_named(status: str, action: str, detail: str) -> None:
    judged = judge_event(a_claim(intent=replace(INTENT, status=status), action=action))

    assert isinstance(judged, ManualReview)
    assert judged.detail == detail


@actions
def test_an_orphan_is_for_a_person_and_names_its_intent(action: Action) -> None:
    judged = judge_event(a_claim(intent=None, psp=None, action=action.value))

    assert judged == ManualReview(ReviewReason.ORPHAN, f"there is no intent {INTENT_ID}")


@actions
def test_a_negative_amount_is_for_a_person(action: Action) -> None:
    claimed = a_claim(intent=replace(INTENT, amount_satang=-1), action=action.value)

    assert judge_event(claimed) == ManualReview(
        ReviewReason.INVALID_AMOUNT, "the intent's amount is -1 satang"
    )


def test_an_amount_of_0_is_an_amount() -> None:
    assert isinstance(judge_event(a_claim(intent=replace(INTENT, amount_satang=0))), Task)


@actions
@pytest.mark.parametrize(
    ("payload_json", "detail"),
    [
        ("[]", "payload is an array, not an object"),
        ('"x"', "payload is a string of 1 characters, not an object"),
        ('{"feeSplits":"x"}', "feeSplits is a string of 1 characters, not an array"),
        ("{", "payload cannot be read: JSONDecodeError"),
    ],
)
def test_a_payload_that_does_not_parse_is_for_a_person_and_says_why(
    action: Action, payload_json: str, detail: str
) -> None:
    judged = judge_event(a_claim(action=action.value, payload_json=payload_json))

    assert judged == ManualReview(ReviewReason.INVALID_PAYLOAD, detail)


def test_more_fees_than_money_are_for_a_person() -> None:
    payload_json = '{"feeSplits":[{"account":"a","amountSatang":10001,"kind":"k"}]}'

    judged = judge_event(a_claim(payload_json=payload_json))

    assert reviewed(judged) is ReviewReason.INVALID_PAYLOAD


def test_the_splits_of_the_payload_are_part_of_the_task() -> None:
    payload_json = '{"feeSplits":[{"account":"a","amountSatang":"10000","kind":"k"}]}'

    judged = judge_event(a_claim(payload_json=payload_json))

    assert isinstance(judged, Task)
    assert judged.splits == (FeeSplit(account="a", amount_satang=10_000, kind="k"),)


@pytest.mark.parametrize(
    ("status", "action"), [("SETTLED", "post_pending"), ("FAILED", "void_pending")]
)
def test_the_payload_of_an_event_that_agrees_does_not_matter_any_more(
    status: str, action: str
) -> None:
    intent = replace(INTENT, status=status, amount_satang=-1)

    assert isinstance(judge_event(a_claim(intent=intent, action=action, payload_json="[]")), Task)


@given(st.text(), st.text(), st.none() | st.text())
def test_whatever_the_columns_hold_is_judged(
    action: str, status: str, payload_json: str | None
) -> None:
    intent = replace(INTENT, status=status)

    judge_event(a_claim(intent=intent, action=action, payload_json=payload_json))


# Planning.


def test_a_post_resolves_the_intents_transfers_in_their_order_and_charges_the_fee() -> None:
    order = planned(a_task())

    assert isinstance(order, Order)
    assert order.intent_id == INTENT_ID
    assert order.action is Action.POST_PENDING
    assert order.pending_ids == tuple(uuid.int for uuid in PENDING_UUIDS)
    assert order.fee is not None
    assert order.fee.amount_satang == 150
    assert order.fee_code == 50
    assert order.fee_wanted
    assert order.generations == ()


def test_a_void_charges_nothing_and_needs_no_account() -> None:
    order = planned(a_task(Action.VOID_PENDING), accounts={})

    assert isinstance(order, Order)
    assert order.action is Action.VOID_PENDING
    assert order.fee is None
    assert not order.fee_wanted


@actions
def test_a_final_intent_still_goes_to_the_ledger_and_is_charged_nothing(action: Action) -> None:
    order = planned(a_task(action, already_final=True), accounts={})

    assert isinstance(order, Order)
    assert order.fee is None
    assert not order.fee_wanted


@pytest.mark.parametrize("psp", [None, replace(PSP, psp_fee_satang=None)])
def test_a_post_without_a_fee_still_looks_for_one_that_was_charged(psp: Any) -> None:
    order = planned(a_task(), a_claim(psp=psp), accounts={})

    assert isinstance(order, Order)
    assert order.fee is None
    assert order.fee_wanted


@actions
def test_what_earlier_attempts_learned_is_handed_on(action: Action) -> None:
    claimed = a_claim(
        action=action.value,
        retry=RetryState(reason=RetryReason.UNFORESEEN, attempts=2, generations=(1, 0, 3)),
    )

    order = planned(a_task(action), claimed)

    assert isinstance(order, Order)
    assert order.generations == (1, 0, 3)


def test_an_unmapped_fee_account_is_waited_for_before_the_ledger_is_asked() -> None:
    claimed = a_claim(
        retry=RetryState(reason=RetryReason.UNFORESEEN, attempts=0, generations=(1, 0, 3))
    )

    verdict = planned(a_task(), claimed, accounts={})

    assert verdict == RetryLater(
        RetryReason.FEE_ACCOUNT_UNMAPPED,
        "not in pm.tb_account_map: revenue.THB, nostro.ipps.THB",
        (1, 0, 3),
    )


def test_accounts_of_two_ledgers_are_waited_for_as_well() -> None:
    accounts = {**MAPPED, "revenue.THB": MappedAccount(account_id=AccountId(1), ledger=1)}

    verdict = planned(a_task(), accounts=accounts)

    assert isinstance(verdict, RetryLater)
    assert verdict.reason is RetryReason.FEE_ACCOUNT_UNMAPPED


def test_a_void_without_transfers_is_done_without_the_ledger() -> None:
    intent = replace(INTENT, tb_transfer_ids=())

    assert planned(a_task(Action.VOID_PENDING, intent=intent)) == Done()


def test_a_post_without_transfers_is_for_a_person() -> None:
    task = a_task(intent=replace(INTENT, tb_transfer_ids=()))

    # Even before its accounts are looked at: nothing can be charged for it.
    assert planned(task, accounts={}) == ManualReview(
        ReviewReason.NO_TRANSFERS, "nothing was frozen for this intent"
    )


@actions
@pytest.mark.parametrize(
    ("ids", "detail"),
    [
        ((None,), "tb_transfer_ids has a NULL"),
        ((None, None), "tb_transfer_ids has a NULL"),
        ((PENDING_UUIDS[0], None), "tb_transfer_ids has a NULL"),
        ((PENDING_UUIDS[0], PENDING_UUIDS[0]), "tb_transfer_ids repeats an id"),
        ((*PENDING_UUIDS, PENDING_UUIDS[0]), "tb_transfer_ids repeats an id"),
    ],
    ids=["a NULL", "two NULLs", "a NULL beside an id", "an id twice", "an id again"],
)
def test_transfer_ids_that_make_no_chain_are_for_a_person(
    action: Action, ids: tuple[UUID | None, ...], detail: str
) -> None:
    task = a_task(action, intent=replace(INTENT, tb_transfer_ids=ids))

    assert planned(task) == ManualReview(ReviewReason.INVALID_TRANSFER_IDS, detail)


@pytest.mark.parametrize("uuid", [UUID(int=0), UUID(int=2**128 - 1)])
def test_ids_that_the_ledger_reserves_are_left_for_it_to_refuse(uuid: UUID) -> None:
    assert isinstance(planned(a_task(intent=replace(INTENT, tb_transfer_ids=(uuid,)))), Order)


# Fee accounts.


def test_a_post_names_the_accounts_of_its_fee() -> None:
    assert fee_codes(a_claim(), a_task(), FEE_RULE) == ("revenue.THB", "nostro.ipps.THB")


@pytest.mark.parametrize(
    "task",
    [a_task(Action.VOID_PENDING), a_task(already_final=True)],
    ids=["a void", "a final intent"],
)
def test_what_charges_no_fee_names_no_account(task: Task) -> None:
    assert fee_codes(a_claim(), task, FEE_RULE) == ()


def test_an_intent_without_a_psp_names_no_account() -> None:
    assert fee_codes(a_claim(psp=None), a_task(), FEE_RULE) == ()


@pytest.mark.parametrize(("retry_count", "may_exist"), [(0, False), (1, True), (9, True)])
def test_a_fee_is_looked_for_first_where_somebody_tried_before(
    retry_count: int, may_exist: bool
) -> None:
    claimed = a_claim(retry_count=retry_count)
    task = judge_event(claimed)
    assert isinstance(task, Task)

    order = planned(task, claimed)

    assert isinstance(order, Order)
    assert order.fee_may_exist is may_exist


@actions
def test_a_final_intent_of_which_nothing_was_frozen_is_left_alone(action: Action) -> None:
    task = a_task(action, intent=replace(INTENT, tb_transfer_ids=()), already_final=True)

    assert planned(task) == Done()
