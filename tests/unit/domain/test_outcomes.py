"""What each answer of the ledger obliges us to do: the table of LEDGER_OUTCOMES §4.

The expectations are written out from that document.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.intents import Action
from domain.outcomes import ChainOutcome, FeeOutcome, chain_outcome, culprit_of, fee_outcome
from domain.transfer_status import AnyStatus, TransferStatus, UnknownStatus
from tests.unit.domain.ledger_answers import (
    BURNED,
    CREATED,
    NOT_FOUND,
    OURS_EXISTS,
    PERMANENT,
    POSTED,
    RELEASED,
    TRANSIENT,
)

ROWS = [
    # names, outcome for a post, outcome for a void, outcome for a fee
    (CREATED, ChainOutcome.CREATED, ChainOutcome.CREATED, FeeOutcome.CHARGED),
    (OURS_EXISTS, ChainOutcome.LOOK_UP, ChainOutcome.LOOK_UP, FeeOutcome.LOOK_UP),
    (
        POSTED,
        ChainOutcome.RESOLVED_ELSEWHERE,
        ChainOutcome.MONEY_GONE,
        FeeOutcome.REFUSED_FOR_NOW,
    ),
    (RELEASED, ChainOutcome.MONEY_RELEASED, ChainOutcome.FREE, FeeOutcome.REFUSED_FOR_NOW),
    (BURNED, ChainOutcome.ID_BURNED, ChainOutcome.ID_BURNED, FeeOutcome.ID_BURNED),
    (NOT_FOUND, ChainOutcome.NOT_FOUND, ChainOutcome.NOT_FOUND, FeeOutcome.REFUSED_FOR_NOW),
    (
        TRANSIENT,
        ChainOutcome.REFUSED_FOR_NOW,
        ChainOutcome.REFUSED_FOR_NOW,
        FeeOutcome.REFUSED_FOR_NOW,
    ),
    (PERMANENT, ChainOutcome.INVALID, ChainOutcome.INVALID, FeeOutcome.REFUSED_FOR_NOW),
]
CASES = [
    pytest.param(TransferStatus[name], post, void, fee, id=name)
    for names, post, void, fee in ROWS
    for name in names
]

any_status = st.sampled_from(TransferStatus) | st.integers().map(UnknownStatus)
refusals = any_status.filter(
    lambda status: status not in (TransferStatus.CREATED, TransferStatus.LINKED_EVENT_FAILED)
)


def test_every_status_has_exactly_one_row() -> None:
    names = [name for row in ROWS for name in row[0]]

    assert sorted(names) == sorted(status.name for status in TransferStatus)


@pytest.mark.parametrize(("status", "post", "void", "fee"), CASES)
def test_a_status_obliges_us_to_what_its_row_says(
    status: TransferStatus, post: ChainOutcome, void: ChainOutcome, fee: FeeOutcome
) -> None:
    assert chain_outcome(status, Action.POST_PENDING) is post
    assert chain_outcome(status, Action.VOID_PENDING) is void
    assert fee_outcome(status) is fee


@given(st.integers())
def test_an_unknown_code_is_permanent_for_a_chain_and_never_ends_a_fee(code: int) -> None:
    # Even with the value of a known status: what could not be read is not believed.
    status = UnknownStatus(code)

    assert chain_outcome(status, Action.POST_PENDING) is ChainOutcome.INVALID
    assert chain_outcome(status, Action.VOID_PENDING) is ChainOutcome.INVALID
    assert fee_outcome(status) is FeeOutcome.REFUSED_FOR_NOW


@given(st.integers(min_value=1, max_value=10))
def test_a_chain_that_is_created_has_no_culprit(length: int) -> None:
    assert culprit_of([TransferStatus.CREATED] * length) is None


@given(st.integers(min_value=0, max_value=5), refusals, st.integers(min_value=0, max_value=5))
def test_the_culprit_is_the_member_that_does_not_blame_another(
    before: int, refusal: AnyStatus, after: int
) -> None:
    blaming = TransferStatus.LINKED_EVENT_FAILED

    assert culprit_of([*[blaming] * before, refusal, *[blaming] * after]) == (before, refusal)


def test_a_chain_in_which_all_blame_each_other_is_no_success() -> None:
    statuses = [TransferStatus.LINKED_EVENT_FAILED] * 3

    assert culprit_of(statuses) == (0, TransferStatus.LINKED_EVENT_FAILED)


def test_created_beside_a_blaming_member_is_no_success() -> None:
    statuses = [TransferStatus.CREATED, TransferStatus.LINKED_EVENT_FAILED]

    assert culprit_of(statuses) == (1, TransferStatus.LINKED_EVENT_FAILED)


@given(st.lists(any_status, min_size=1))
def test_only_a_chain_of_nothing_but_created_has_no_culprit(statuses: list[AnyStatus]) -> None:
    all_created = all(status is TransferStatus.CREATED for status in statuses)

    assert (culprit_of(statuses) is None) is all_created
