"""Who has paid more than one fee, in whatever memory there is."""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.intents import IntentId
from domain.reconciliation.differences import DifferenceKind
from domain.reconciliation.duplicate_fees import duplicate_fees, fee_charged_again
from domain.transfers import Transfer, TransferId


def fees_of(intents: Iterable[int]) -> list[Transfer]:
    """Return a fee for each of *intents*, one a nanosecond from 0 on; the place is its id."""
    return [
        Transfer(id=TransferId(place), amount=7, user_data_128=intent, timestamp_ns=place)
        for place, intent in enumerate(intents)
    ]


def charged_twice(intents: Iterable[int], *, since_ns: int = 0, seen_max: int = 3) -> list[int]:
    """Return which fees are told, by their place."""
    fees = fees_of(intents)
    told = duplicate_fees(lambda: fees, since_ns=since_ns, seen_max=seen_max)
    return sorted(fee.id for fee in told)


def test_one_fee_each_is_fine() -> None:
    assert charged_twice([]) == []
    assert charged_twice(range(1, 50)) == []


def test_the_second_fee_of_an_intent_is_told_once() -> None:
    assert charged_twice([5, 6, 5, 5]) == [2]


def test_fees_that_carry_no_intent_are_passed_over() -> None:
    assert charged_twice([0, 0, 0]) == []


def test_a_fee_before_the_time_counts_as_the_first_only() -> None:
    assert charged_twice([5, 6, 5], since_ns=2) == [2]
    assert charged_twice([5, 5, 6], since_ns=2) == []
    assert charged_twice([5, 5, 5], since_ns=2) == [2]


def test_what_does_not_fit_is_read_again_for_the_rest() -> None:
    fees = fees_of([*range(1, 9), 3, 8])
    readings = 0

    def begin() -> list[Transfer]:
        nonlocal readings
        readings += 1
        return fees

    told = {fee.user_data_128 for fee in duplicate_fees(begin, since_ns=0, seen_max=3)}

    assert told == {3, 8}
    assert readings == 4


def test_ids_that_differ_in_their_first_bits_only_fit_as_well() -> None:
    assert charged_twice([number << 64 for number in (1, 2, 3, 4, 5, 2)]) == [5]


@given(
    intents=st.lists(st.integers(min_value=0, max_value=12) | st.integers(0, 2**128 - 1)),
    since_ns=st.integers(min_value=0, max_value=20),
    seen_max=st.integers(min_value=1, max_value=5),
)
@example(intents=[4, 4, 1, 2, 3, 5, 4], since_ns=0, seen_max=3)
def test_each_is_told_exactly_once_however_little_fits(
    intents: list[int], since_ns: int, seen_max: int
) -> None:
    expected = []
    times: Counter[int] = Counter()
    told: set[int] = set()
    for place, intent in enumerate(intents):
        times[intent] += 1
        if intent and times[intent] > 1 and place >= since_ns and intent not in told:
            told.add(intent)
            expected.append(place)

    assert charged_twice(intents, since_ns=since_ns, seen_max=seen_max) == expected


@pytest.mark.parametrize("intent_id", [UUID(int=1), UUID(int=2**128 - 1)])
def test_what_is_told_names_intent_and_transfer(intent_id: UUID) -> None:
    fee = Transfer(id=TransferId(255), amount=7, user_data_128=intent_id.int)

    difference = fee_charged_again(fee)

    assert (difference.intent_id, difference.kind) == (
        IntentId(intent_id),
        DifferenceKind.FEE_TWICE,
    )
    assert difference.detail == f"7 satang charged again by {UUID(int=255)}"
