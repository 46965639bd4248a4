"""What is told of an intent whose search ended early: what was found, and no more."""

import pytest

from domain.reconciliation.comparing import differences
from domain.reconciliation.differences import Difference
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.record import IntentRecord
from domain.transfers import Transfer
from tests.unit.domain.reconciled import (
    AUTHORIZED,
    FAILED,
    IN_REVIEW,
    LIMITS,
    POST,
    SETTLED,
    SETTLED_WITH_FEE,
    SETTLING,
    VOID,
    a_record,
    all_resolved,
    an_event,
    fee,
    frozen,
    resolved,
    searched,
)

EVERY_STATUS = [
    SETTLED,
    SETTLED_WITH_FEE,
    FAILED,
    AUTHORIZED,
    SETTLING,
    IN_REVIEW,
    a_record("CREATED"),
    a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1)),
    a_record("SETTLED", an_event(POST, "pending")),
]
EXPIRED = frozen(timeout_s=60)


def told(
    record: IntentRecord,
    ledger: list[Transfer],
    *,
    has_all_resolvers: bool = True,
    has_all_fees: bool = True,
) -> list[Difference]:
    money = searched(record, ledger, has_all_resolvers=has_all_resolvers, has_all_fees=has_all_fees)
    return list(differences(record, money, LIMITS))


def kinds(found: list[Difference]) -> list[Kind]:
    return [one.kind for one in found]


@pytest.mark.parametrize("record", EVERY_STATUS)
@pytest.mark.parametrize(
    "ledger", [frozen(), frozen(timeout_s=7_200 + 60), EXPIRED], ids=["open", "soon", "expired"]
)
def test_what_was_not_found_is_neither_open_nor_expired(
    record: IntentRecord, ledger: list[Transfer]
) -> None:
    [found] = told(record, ledger, has_all_resolvers=False)

    assert found.kind is Kind.NOT_COMPARED
    assert "what became of 120 of 120 satang is not known" in found.detail
    assert "fee" not in found.detail
    assert found.fix is None


@pytest.mark.parametrize("record", EVERY_STATUS)
def test_where_only_fees_may_be_missing_none_is_told_as_missing(record: IntentRecord) -> None:
    action = VOID if record is FAILED else POST

    found = told(record, all_resolved(action), has_all_fees=False)

    assert found[0].kind is Kind.NOT_COMPARED
    assert "early: whether a fee was charged is not known" in found[0].detail
    assert not {Kind.FEE_MISSING, Kind.HISTORY_DIFFERS} & set(kinds(found))
    assert [one.fix for one in found] == [None] * len(found)


def test_what_the_worker_did_itself_is_known_whatever_a_search_finds() -> None:
    ledger = [*all_resolved(POST), fee()]

    assert told(SETTLED_WITH_FEE, ledger, has_all_resolvers=False) == []


@pytest.mark.parametrize(
    ("record", "ledger", "kind"),
    [
        (SETTLED, [*EXPIRED, resolved(0, VOID, by_worker=False)], Kind.SETTLED_BUT_RELEASED),
        (FAILED, [*frozen(), resolved(0, POST, by_worker=False)], Kind.FAILED_BUT_POSTED),
        (SETTLED, [frozen()[0]], Kind.TRANSFER_MISSING),
    ],
)
def test_what_was_found_is_told_beside_what_is_not_known(
    record: IntentRecord, ledger: list[Transfer], kind: Kind
) -> None:
    found = told(record, ledger, has_all_resolvers=False)

    assert kinds(found) == [Kind.NOT_COMPARED, kind]


def test_money_that_is_all_posted_is_told_but_not_fixed_while_its_fee_is_not_known() -> None:
    ledger = all_resolved(POST, by_worker=False)

    found = told(AUTHORIZED, ledger, has_all_fees=False)

    assert kinds(found) == [Kind.NOT_COMPARED, Kind.POSTED_NOT_SETTLED]
    assert [one.fix for one in found] == [None, None]


def test_money_of_which_a_part_was_found_posted_is_not_said_to_be_in_parts() -> None:
    ledger = [*frozen(), resolved(0, POST, by_worker=False)]

    found = told(AUTHORIZED, ledger, has_all_resolvers=False)

    assert kinds(found) == [Kind.NOT_COMPARED]
    assert "20 of 120 satang" in found[0].detail


def test_two_fees_are_two_whatever_else_there_is() -> None:
    ledger = [*all_resolved(POST), fee(), fee(by_worker=False)]

    found = told(SETTLED_WITH_FEE, ledger, has_all_fees=False)

    assert kinds(found) == [Kind.NOT_COMPARED, Kind.FEE_TWICE]
