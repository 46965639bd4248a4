"""Interleaving, medians and ratios."""

from collections.abc import Callable

import pytest

from benchmarks.results import Summary
from benchmarks.rounds import play, ratio, speed


def from_list(*samples: float) -> Callable[[], float]:
    """Return a contest that gives these speeds, one a call."""
    left = iter(samples)
    return lambda: next(left)


def test_contests_are_interleaved_in_each_round() -> None:
    said: list[str] = []

    play(
        {"a": from_list(1, 2), "b": from_list(3, 4, 5, 6)},
        order=("b", "a", "b"),
        rounds=2,
        say=said.append,
    )

    assert [text.split(": ")[1] for text in said] == ["b", "a", "b"] * 2


def test_a_ratio_compares_within_rounds_so_that_drift_cancels_out() -> None:
    # The machine halves its speed after the first round, and again after the second.
    played = play(
        {"ours": from_list(4_000, 2_000, 1_000), "literal": from_list(400, 200, 100)},
        order=("literal", "ours"),
        rounds=3,
        say=lambda _: None,
    )

    assert ratio(played, "ours", "literal") == Summary(10.0, 0.0)
    assert speed(played, "ours") == Summary(2_000, 1.5)


def test_a_ratio_takes_the_median_of_a_round() -> None:
    played = play(
        {"ours": from_list(90, 100, 500), "floor": from_list(200)},
        order=("ours", "floor", "ours", "ours"),
        rounds=1,
        say=lambda _: None,
    )

    assert ratio(played, "ours", "floor").median == pytest.approx(0.5)
