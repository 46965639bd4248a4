"""What each answer of the ledger obliges us to do: the table of LEDGER_OUTCOMES §4.

The expectations are written out from that document, by the names that it uses.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.intents import Action
from domain.outcomes import ChainOutcome, FeeOutcome, chain_outcome, culprit_of, fee_outcome
from domain.transfer_status import AnyStatus, TransferStatus, UnknownStatus

CREATED = ["CREATED"]
OURS_EXISTS = [
    "EXISTS",
    "EXISTS_WITH_DIFFERENT_FLAGS",
    "EXISTS_WITH_DIFFERENT_PENDING_ID",
    "EXISTS_WITH_DIFFERENT_TIMEOUT",
    "EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT_ID",
    "EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT_ID",
    "EXISTS_WITH_DIFFERENT_AMOUNT",
    "EXISTS_WITH_DIFFERENT_USER_DATA_128",
    "EXISTS_WITH_DIFFERENT_USER_DATA_64",
    "EXISTS_WITH_DIFFERENT_USER_DATA_32",
    "EXISTS_WITH_DIFFERENT_LEDGER",
    "EXISTS_WITH_DIFFERENT_CODE",
]
POSTED = ["PENDING_TRANSFER_ALREADY_POSTED"]
RELEASED = ["PENDING_TRANSFER_ALREADY_VOIDED", "PENDING_TRANSFER_EXPIRED"]
BURNED = ["ID_ALREADY_FAILED"]
NOT_FOUND = ["PENDING_TRANSFER_NOT_FOUND"]
TRANSIENT = [
    "DEBIT_ACCOUNT_ALREADY_CLOSED",
    "CREDIT_ACCOUNT_ALREADY_CLOSED",
    "EXCEEDS_CREDITS",
    "EXCEEDS_DEBITS",
    "DEBIT_ACCOUNT_NOT_FOUND",
    "CREDIT_ACCOUNT_NOT_FOUND",
]
PERMANENT = [
    "PENDING_TRANSFER_NOT_PENDING",
    "PENDING_TRANSFER_HAS_DIFFERENT_DEBIT_ACCOUNT_ID",
    "PENDING_TRANSFER_HAS_DIFFERENT_CREDIT_ACCOUNT_ID",
    "PENDING_TRANSFER_HAS_DIFFERENT_LEDGER",
    "PENDING_TRANSFER_HAS_DIFFERENT_CODE",
    "PENDING_TRANSFER_HAS_DIFFERENT_AMOUNT",
    "EXCEEDS_PENDING_TRANSFER_AMOUNT",
    "OVERFLOWS_DEBITS_PENDING",
    "OVERFLOWS_CREDITS_PENDING",
    "OVERFLOWS_DEBITS_POSTED",
    "OVERFLOWS_CREDITS_POSTED",
    "OVERFLOWS_DEBITS",
    "OVERFLOWS_CREDITS",
    "OVERFLOWS_TIMEOUT",
    # A chain of nothing else has no culprit to act on.
    "LINKED_EVENT_FAILED",
    "LINKED_EVENT_CHAIN_OPEN",
    # Malformed: no repetition can help.
    "TIMESTAMP_MUST_BE_ZERO",
    "RESERVED_FLAG",
    "ID_MUST_NOT_BE_ZERO",
    "ID_MUST_NOT_BE_INT_MAX",
    "FLAGS_ARE_MUTUALLY_EXCLUSIVE",
    "DEBIT_ACCOUNT_ID_MUST_NOT_BE_ZERO",
    "DEBIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX",
    "CREDIT_ACCOUNT_ID_MUST_NOT_BE_ZERO",
    "CREDIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX",
    "ACCOUNTS_MUST_BE_DIFFERENT",
    "PENDING_ID_MUST_BE_ZERO",
    "PENDING_ID_MUST_NOT_BE_ZERO",
    "PENDING_ID_MUST_NOT_BE_INT_MAX",
    "PENDING_ID_MUST_BE_DIFFERENT",
    "TIMEOUT_RESERVED_FOR_PENDING_TRANSFER",
    "CLOSING_TRANSFER_MUST_BE_PENDING",
    "LEDGER_MUST_NOT_BE_ZERO",
    "CODE_MUST_NOT_BE_ZERO",
    "ACCOUNTS_MUST_HAVE_THE_SAME_LEDGER",
    "TRANSFER_MUST_HAVE_THE_SAME_LEDGER_AS_ACCOUNTS",
    "IMPORTED_EVENT_EXPECTED",
    "IMPORTED_EVENT_NOT_EXPECTED",
    "IMPORTED_EVENT_TIMESTAMP_OUT_OF_RANGE",
    "IMPORTED_EVENT_TIMESTAMP_MUST_NOT_ADVANCE",
    "IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS",
    "IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_DEBIT_ACCOUNT",
    "IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_CREDIT_ACCOUNT",
    "IMPORTED_EVENT_TIMEOUT_MUST_BE_ZERO",
]

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
