"""Who claims the same frozen money."""

from uuid import UUID

from domain.intents import IntentId
from domain.reconciliation.differences import DifferenceKind
from domain.reconciliation.shared_transfers import sharing
from domain.transfers import TransferId

TRANSFER_ID = TransferId(255)
FIRST, SECOND, THIRD, FOURTH = (IntentId(UUID(int=number)) for number in range(1, 5))
NAMED = f"pending transfer {UUID(int=TRANSFER_ID)}: "


def details(*intent_ids: IntentId) -> dict[IntentId, str]:
    found = list(sharing(TRANSFER_ID, intent_ids))
    assert {one.kind for one in found} == {DifferenceKind.TRANSFER_SHARED}
    assert {one.fix for one in found} == {None}
    assert len({one.intent_id for one in found}) == len(found)
    return {one.intent_id: one.detail for one in found}


def test_each_of_two_intents_is_told_of_the_other() -> None:
    assert details(FIRST, SECOND) == {
        FIRST: f"{NAMED}listed by {SECOND} too",
        SECOND: f"{NAMED}listed by {FIRST} too",
    }


def test_an_intent_that_lists_it_twice_is_told_once() -> None:
    assert details(FIRST, FIRST) == {FIRST: f"{NAMED}listed 2 times"}


def test_both_can_be_so() -> None:
    assert details(FIRST, SECOND, FIRST)[FIRST] == f"{NAMED}listed 2 times, listed by {SECOND} too"


def test_of_many_others_two_are_named() -> None:
    assert details(FIRST, SECOND, THIRD, FOURTH)[SECOND] == (
        f"{NAMED}listed by {FIRST}, {THIRD} and 1 more too"
    )
    assert details(FIRST, SECOND, THIRD)[FIRST] == f"{NAMED}listed by {SECOND} and {THIRD} too"
