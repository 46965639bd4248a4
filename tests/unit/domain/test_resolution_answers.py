"""Where each answer of the ledger to a chain leads: the table of LEDGER_OUTCOMES §4, to the end.

Look-up and search find nothing here: an answer alone is no success, but for a void whose money
is free already.
"""

from typing import Final

import pytest

from domain.intents import Action
from domain.ledger_requests import CreateChain, FindResolutions, LookUp, SearchAnswer
from domain.resolution import Resolution
from domain.transfer_status import AnyStatus, TransferStatus, UnknownStatus
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict
from tests.unit.domain.frozen_money import ASKS_MAX, FrozenMoney, pending_id_of
from tests.unit.domain.ledger_answers import (
    BURNED,
    NOT_FOUND,
    OURS_EXISTS,
    PERMANENT,
    POSTED,
    RELEASED,
    TRANSIENT,
)

UNKNOWN: Final = UnknownStatus(4711)
OF_NOBODY: Final = "LINKED_EVENT_FAILED"
End = RetryReason | ReviewReason | None

ROWS: Final[list[tuple[list[str], End, End]]] = [
    # names, why a post does not end yet or never, why a void does not; None: it is done
    (OURS_EXISTS, RetryReason.RESOLUTION_NOT_FOUND, RetryReason.RESOLUTION_NOT_FOUND),
    (POSTED, RetryReason.RESOLUTION_NOT_FOUND, ReviewReason.MONEY_ALREADY_POSTED),
    (RELEASED, ReviewReason.MONEY_ALREADY_RELEASED, None),
    (BURNED, RetryReason.IDS_BURNED, RetryReason.IDS_BURNED),
    (NOT_FOUND, RetryReason.PENDING_TRANSFER_NOT_FOUND, RetryReason.PENDING_TRANSFER_NOT_FOUND),
    (TRANSIENT, RetryReason.LEDGER_REFUSED, RetryReason.LEDGER_REFUSED),
    ([*PERMANENT, UNKNOWN.name], ReviewReason.LEDGER_REFUSED, ReviewReason.LEDGER_REFUSED),
]
CASES: Final = [
    pytest.param(action, UNKNOWN if name == UNKNOWN.name else TransferStatus[name], end)
    for names, *ends in ROWS
    for name in names
    for action, end in zip(Action, ends, strict=True)
    if name != OF_NOBODY
]


def verdict_of(action: Action, status: AnyStatus) -> Verdict | None:
    """Return how it ends if the second of two members always gets *status*."""
    resolution = Resolution(FrozenMoney(2).order(action))
    for _ in range(ASKS_MAX):
        match resolution.ask:
            case CreateChain((_, _)):
                resolution.answer((TransferStatus.LINKED_EVENT_FAILED, status))
            case CreateChain(_):
                resolution.answer((TransferStatus.CREATED,))
            case LookUp(_):
                resolution.answer({})
            case FindResolutions(_):
                resolution.answer(SearchAnswer(()))
            case None:
                break
    return resolution.verdict


@pytest.mark.parametrize(("action", "status", "end"), CASES)
def test_an_answer_leads_where_its_row_says(action: Action, status: AnyStatus, end: End) -> None:
    verdict = verdict_of(action, status)

    match verdict:
        case Done():
            assert end is None
        case RetryLater(reason) | ManualReview(reason):
            assert reason is end
        case None:
            raise AssertionError(f"not finished after {ASKS_MAX} asks")


@pytest.mark.parametrize(("action", "status", "end"), CASES)
def test_a_verdict_names_the_pending_transfer_and_the_answer(
    action: Action, status: AnyStatus, end: End
) -> None:
    verdict = verdict_of(action, status)

    named = f"pending transfer {pending_id_of(1):032x}: {status.name.lower()}"
    more: dict[End, str] = {
        RetryReason.IDS_BURNED: ", 64 in a row",
        RetryReason.RESOLUTION_NOT_FOUND: ", by whom is not found"
        if status.name in POSTED
        else ", yet not found",
    }
    if end is not None:
        assert isinstance(verdict, RetryLater | ManualReview)
        assert verdict.detail == named + more.get(verdict.reason, "")
