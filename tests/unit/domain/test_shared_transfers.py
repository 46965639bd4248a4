"""Who claims the same frozen money."""

from uuid import UUID

from domain.intents import IntentId
from domain.reconciliation.differences import DifferenceKind
from domain.reconciliation.shared_transfers import FIRST_LISTERS, SharedTransfer, sharing
from domain.transfers import TransferId

TRANSFER_ID = TransferId(255)
FIRST, SECOND, THIRD, FOURTH = (IntentId(UUID(int=number)) for number in range(1, 5))
NAMED = f"pending transfer {UUID(int=TRANSFER_ID)}: "


def detail(intent_id: IntentId, *listers: IntentId, times: int = 1) -> str:
    """Return what *intent_id* is told, which lists the transfer with all *listers*."""
    shared = SharedTransfer(
        transfer_id=TRANSFER_ID,
        intent_id=intent_id,
        times=times,
        listers=len(listers),
        first_listers=listers[:FIRST_LISTERS],
    )
    difference = sharing(shared)
    assert difference.intent_id == intent_id
    assert (difference.kind, difference.fix) == (DifferenceKind.TRANSFER_SHARED, None)
    return difference.detail


def test_each_of_two_intents_is_told_of_the_other() -> None:
    assert detail(FIRST, FIRST, SECOND) == f"{NAMED}listed by {SECOND} too"
    assert detail(SECOND, FIRST, SECOND) == f"{NAMED}listed by {FIRST} too"


def test_an_intent_that_lists_it_twice_is_told_so() -> None:
    assert detail(FIRST, FIRST, times=2) == f"{NAMED}listed 2 times"


def test_both_can_be_so() -> None:
    assert detail(FIRST, FIRST, SECOND, times=2) == (
        f"{NAMED}listed 2 times, listed by {SECOND} too"
    )


def test_of_two_others_both_are_named() -> None:
    assert detail(FIRST, FIRST, SECOND, THIRD) == f"{NAMED}listed by {SECOND} and {THIRD} too"


def test_of_many_others_two_are_named() -> None:
    listers = (FIRST, SECOND, THIRD, FOURTH)
    assert detail(SECOND, *listers) == f"{NAMED}listed by {FIRST}, {THIRD} and 1 more too"
    assert detail(FOURTH, *listers) == f"{NAMED}listed by {FIRST}, {SECOND} and 1 more too"
