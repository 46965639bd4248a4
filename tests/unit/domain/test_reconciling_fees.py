"""Is the PSP fee charged once, as due, and only where the money is posted?"""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from domain.charged_fees import FeeAccounts
from domain.reconciliation.comparing import differences, needs_search
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import IntentRecord
from domain.transfers import AccountId, Transfer, TransferFlags
from tests.unit.domain.reconciled import (
    AN_HOUR_AGO_NS,
    AUTHORIZED,
    FAILED,
    FEE_ACCOUNTS,
    FEE_CODE,
    HISTORY,
    IN_REVIEW,
    NOSTRO,
    OTHER_INTENT_ID,
    POST,
    REVENUE,
    SETTLED,
    SETTLED_WITH_FEE,
    VOID,
    a_line,
    a_psp,
    a_record,
    all_resolved,
    an_event,
    fee,
    fixes,
    frozen,
    judge,
    kinds,
    known,
    resolved,
    searched,
)

JUST_AFTER_NS = AN_HOUR_AGO_NS + 2
"""The timestamp after that of the last post."""

POSTED = all_resolved(POST)
POSTED_BY_OTHER = all_resolved(POST, by_worker=False)


def test_a_fee_that_was_charged_as_due_is_fine() -> None:
    assert kinds(SETTLED_WITH_FEE, [*POSTED, fee()]) == []
    assert not needs_search(SETTLED_WITH_FEE, known(SETTLED_WITH_FEE, [*POSTED, fee()]), Limits())


@pytest.mark.parametrize("ledger", [POSTED, POSTED_BY_OTHER])
def test_a_fee_may_have_been_charged_under_another_id(ledger: list[Transfer]) -> None:
    assert kinds(SETTLED_WITH_FEE, [*ledger, fee(by_worker=False)]) == []


def test_a_fee_beside_a_post_of_another_is_the_intents() -> None:
    beside = fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS)

    assert kinds(SETTLED_WITH_FEE, [*POSTED_BY_OTHER, beside]) == []


@pytest.mark.parametrize(
    "stray",
    [
        fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS + 1),
        fee(by_worker=False, user_data_128=OTHER_INTENT_ID.int, at_ns=JUST_AFTER_NS),
        replace(fee(by_worker=False), code=FEE_CODE + 1),
        replace(fee(by_worker=False), flags=TransferFlags.PENDING),
        replace(
            fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS),
            credit_account_id=AccountId(1),
        ),
        replace(fee(), user_data_128=OTHER_INTENT_ID.int),
    ],
)
def test_what_is_not_the_intents_fee_does_not_count(stray: Transfer) -> None:
    without_line = replace(SETTLED_WITH_FEE, lines=HISTORY)

    assert kinds(without_line, [*POSTED_BY_OTHER, stray]) == [Kind.FEE_MISSING]


def test_a_fee_beside_a_post_of_the_worker_is_somebody_elses() -> None:
    beside = fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS)

    without_line = replace(SETTLED_WITH_FEE, lines=HISTORY)

    assert kinds(without_line, [*POSTED, beside]) == [Kind.FEE_MISSING]


def test_a_fee_that_was_not_charged_needs_a_person() -> None:
    [found] = judge(replace(SETTLED_WITH_FEE, lines=HISTORY), POSTED_BY_OTHER)

    assert (found.kind, found.fix) == (Kind.FEE_MISSING, None)
    assert found.detail == "7 satang are due, none were charged"


def test_a_fee_is_missing_also_where_the_money_is_still_to_be_posted() -> None:
    record = replace(SETTLED_WITH_FEE, lines=HISTORY)

    assert fixes(record, frozen()) == {Kind.SETTLED_NOT_POSTED: POST, Kind.FEE_MISSING: None}
    assert judge(record, frozen())[1].detail == (
        "7 satang are due, none were charged; charge them only after all of the money is posted"
    )


@pytest.mark.parametrize(
    ("ledger", "kind"),
    [
        (all_resolved(VOID), Kind.SETTLED_BUT_RELEASED),
        (frozen(timeout_s=1), Kind.SETTLED_BUT_RELEASED),
        ([*frozen(), resolved(0, POST), resolved(1, VOID)], Kind.SETTLED_BUT_RELEASED),
        ([*POSTED[:3], resolved(1, POST, amount=1, by_worker=False)], Kind.RESOLVED_IN_PART),
        ([frozen()[0], resolved(0, POST)], Kind.TRANSFER_MISSING),
    ],
)
def test_no_fee_is_missing_for_money_that_will_not_be_posted(
    ledger: list[Transfer], kind: Kind
) -> None:
    assert kinds(replace(SETTLED_WITH_FEE, lines=HISTORY), ledger) == [kind]


@pytest.mark.parametrize("fee_satang", [None, 0, -5])
def test_where_no_fee_is_due_none_is_missing(fee_satang: int | None) -> None:
    assert kinds(replace(SETTLED, psp=a_psp(fee_satang)), POSTED) == []


def test_a_fee_of_another_amount_is_told() -> None:
    lines = (*HISTORY, a_line(2, "PSP_FEE", 9))

    [found] = judge(replace(SETTLED_WITH_FEE, lines=lines), [*POSTED, fee(9)])

    assert (found.kind, found.detail) == (
        Kind.FEE_AMOUNT_DIFFERS,
        "9 satang charged, 7 are due",
    )


@pytest.mark.parametrize("fee_satang", [None, 0, -5])
def test_a_fee_that_is_not_due_any_more_is_told(fee_satang: int | None) -> None:
    record = replace(SETTLED_WITH_FEE, psp=a_psp(fee_satang))

    assert kinds(record, [*POSTED, fee()]) == [Kind.FEE_AMOUNT_DIFFERS]
    # Under an id that is not looked up: the history says that there is one.
    assert kinds(record, [*POSTED, fee(by_worker=False)]) == [Kind.FEE_AMOUNT_DIFFERS]


@pytest.mark.parametrize(
    ("record", "ledger"),
    [
        (SETTLED_WITH_FEE, POSTED_BY_OTHER),
        (replace(FAILED, psp=a_psp(7)), all_resolved(VOID)),
        (replace(IN_REVIEW, psp=a_psp(7)), frozen()),
        (a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1)), frozen()),
    ],
)
def test_two_fees_are_told_as_that_and_nothing_else(
    record: IntentRecord, ledger: list[Transfer]
) -> None:
    second = fee(9, by_worker=False, at_ns=AN_HOUR_AGO_NS + 20)

    [found] = judge(record, [*ledger, fee(), second])

    assert (found.kind, found.fix) == (Kind.FEE_TWICE, None)
    assert found.detail == f"2 fees, of 7, 9 satang: {UUID(int=fee().id)}, {UUID(int=second.id)}"


@pytest.mark.parametrize(
    ("record", "ledger"),
    [
        (replace(FAILED, psp=a_psp(7)), all_resolved(VOID)),
        (replace(FAILED, psp=a_psp(7)), frozen(timeout_s=1)),
        (IN_REVIEW, frozen()),
        (a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1)), frozen()),
    ],
)
def test_a_fee_of_money_that_is_not_posted_is_told(
    record: IntentRecord, ledger: list[Transfer]
) -> None:
    [found] = judge(record, [*ledger, fee(by_worker=False)])

    assert (found.kind, found.fix) == (Kind.FEE_WITHOUT_POST, None)
    charge = UUID(int=fee(by_worker=False).id)
    assert found.detail == (f"7 satang charged, and not all of the money is posted: {charge}")


def test_a_fee_of_a_settled_intent_whose_money_is_not_posted_is_told() -> None:
    half = [*frozen(), resolved(0, POST)]

    for amount in (7, 9):
        record = replace(SETTLED_WITH_FEE, lines=(*HISTORY, a_line(2, "PSP_FEE", amount)))
        assert kinds(record, [*half, fee(amount)]) == [
            Kind.SETTLED_NOT_POSTED,
            Kind.FEE_WITHOUT_POST,
        ]


def test_a_fee_while_the_worker_may_be_at_it_is_given_time() -> None:
    young = a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1, age_ms=0))

    assert kinds(young, [*frozen(), fee(by_worker=False)]) == []


def test_a_fee_of_posted_money_is_none_of_those() -> None:
    waiting = a_record("AUTHORIZED", an_event(POST, "pending"), psp=a_psp(7))

    assert kinds(waiting, [*POSTED, fee()]) == [Kind.EVENT_DONE]
    assert kinds(AUTHORIZED, [*POSTED, fee()]) == [Kind.POSTED_NOT_SETTLED]


def test_an_intent_without_transfers_pays_no_fee() -> None:
    assert kinds(replace(SETTLED_WITH_FEE, tb_transfer_ids=()), []) == [Kind.AMOUNT_DIFFERS]


# In pieces, and paid back.


def back(amount: int, *, at_ns: int = AN_HOUR_AGO_NS + 30) -> Transfer:
    """Return what pays a part of the fee back."""
    return replace(
        fee(amount, by_worker=False, at_ns=at_ns, id_=9_200),
        debit_account_id=NOSTRO,
        credit_account_id=REVENUE,
    )


SECOND = fee(2, by_worker=False, at_ns=AN_HOUR_AGO_NS + 20)
"""A part that was charged by hand."""


@pytest.mark.parametrize("fee_accounts", [FEE_ACCOUNTS, None])
@pytest.mark.parametrize(
    ("fees", "kind", "detail"),
    [
        ([fee(7)], None, ""),
        ([fee(5), SECOND], None, ""),
        ([fee(7), SECOND, back(2)], None, ""),
        ([fee(9), back(2)], None, ""),
        ([fee(7), SECOND], Kind.FEE_TWICE, "2 fees, of 7, 2 satang: "),
        (
            [fee(7), SECOND, back(1)],
            Kind.FEE_TWICE,
            "2 fees, of 7, 2 satang: ",
        ),
        ([fee(3), SECOND], Kind.FEE_AMOUNT_DIFFERS, "5 satang charged, 7 are due"),
        ([fee(9)], Kind.FEE_AMOUNT_DIFFERS, "9 satang charged, 7 are due"),
        (
            [fee(7), back(2)],
            Kind.FEE_AMOUNT_DIFFERS,
            "7 satang charged, 2 were paid back, 7 are due",
        ),
        (
            [fee(7), SECOND, back(9)],
            Kind.FEE_MISSING,
            "7 satang are due, 9 satang charged, 9 were paid back",
        ),
    ],
)
def test_what_counts_is_what_the_psp_has_kept(
    fees: list[Transfer], kind: Kind | None, detail: str, fee_accounts: FeeAccounts | None
) -> None:
    ledger = [*POSTED, *fees]
    money = searched(SETTLED_WITH_FEE, ledger, fee_accounts)
    lines = (*HISTORY, a_line(2, "PSP_FEE", money.fees.net_satang))

    found = differences(replace(SETTLED_WITH_FEE, lines=lines), money, Limits())

    assert [one.kind for one in found] == ([] if kind is None else [kind])
    assert all(one.detail.startswith(detail) for one in found)


def test_history_tells_what_the_psp_has_kept() -> None:
    ledger = [*POSTED, fee(5), SECOND]

    assert kinds(SETTLED_WITH_FEE, ledger) == []
    too_little = replace(SETTLED_WITH_FEE, lines=(*HISTORY, a_line(2, "PSP_FEE", 5)))
    assert kinds(too_little, ledger) == [Kind.HISTORY_DIFFERS]


@pytest.mark.parametrize("record", [FAILED, IN_REVIEW])
def test_a_fee_without_a_post_may_be_paid_back(record: IntentRecord) -> None:
    ledger = [*all_resolved(VOID), fee(by_worker=False)]
    record = replace(record, psp=a_psp(7))

    [found] = judge(record, [*ledger, back(6)])

    assert found.kind is Kind.FEE_WITHOUT_POST
    assert found.detail.startswith("7 satang charged, 6 were paid back, and not ")
    assert kinds(record, [*ledger, back(7)]) == []


@pytest.mark.parametrize(
    "changes",
    [{"debit_account_id": AccountId(1), "credit_account_id": AccountId(2)}, {"ledger": 2}],
)
def test_a_transfer_on_another_way_is_no_fee(changes: dict[str, Any]) -> None:
    stray = replace(SECOND, **changes)

    assert kinds(replace(SETTLED_WITH_FEE, lines=HISTORY), [*POSTED_BY_OTHER, stray]) == [
        Kind.FEE_MISSING
    ]


@pytest.mark.parametrize(
    "changes", [{"debit_account_id": AccountId(1)}, {"credit_account_id": AccountId(1)}]
)
def test_a_fee_may_have_gone_from_or_to_an_account_of_before(changes: dict[str, Any]) -> None:
    charged = replace(fee(by_worker=False), **changes)

    assert kinds(SETTLED_WITH_FEE, [*POSTED_BY_OTHER, charged]) == []


def test_the_workers_own_fee_is_one_though_all_accounts_are_others_by_now() -> None:
    before: dict[str, Any] = {
        "debit_account_id": AccountId(1),
        "credit_account_id": AccountId(2),
        "ledger": 3,
    }
    ours, paid_back = fee(), replace(back(7), **before)
    ours = replace(ours, **before)
    paid_back = replace(paid_back, debit_account_id=AccountId(2), credit_account_id=AccountId(1))
    in_place = fee(by_worker=False, at_ns=AN_HOUR_AGO_NS + 20)
    record = replace(SETTLED_WITH_FEE, psp=a_psp(7))

    assert searched(record, [*POSTED, ours]).fees.net_satang == 7
    money = searched(record, [*POSTED, ours, in_place, paid_back])
    assert (money.fees.net_satang, differences(record, money, Limits())) == (7, ())


def test_a_part_of_a_fee_is_searched_for_where_the_workers_own_is_not_what_is_due() -> None:
    for own, due_satang, told in ((5, 7, 7), (7, 7, 5)):
        lines = (*HISTORY, a_line(2, "PSP_FEE", told))
        record = replace(SETTLED_WITH_FEE, psp=a_psp(due_satang), lines=lines)
        assert needs_search(record, known(record, [*POSTED, fee(own)]), Limits())
