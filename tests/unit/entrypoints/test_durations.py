"""Durations on a command line."""

from datetime import timedelta

import pytest

from entrypoints.durations import parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0s", timedelta()),
        ("30s", timedelta(seconds=30)),
        ("90m", timedelta(minutes=90)),
        ("24h", timedelta(days=1)),
        ("7d", timedelta(days=7)),
        (" 5m ", timedelta(minutes=5)),
        ("36500d", timedelta(days=36_500)),
    ],
)
def test_a_number_and_its_unit_are_a_duration(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    ["", "5", "m", "-5m", "+5m", "5 m", "1.5h", "5M", "5w", "1h30m", "\u0665m", "5m\n5m", "1_0s"],
)
def test_what_is_no_duration_says_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="write for example 30s, 90m, 24h or 7d"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36501d", "9999999999d", "9999999999h"])
def test_longer_than_a_hundred_years_is_a_slip(text: str) -> None:
    with pytest.raises(ValueError, match="longer than"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (61, "1m 1s"),
        (3_600, "1h"),
        (3_661, "1h 1m"),
        (86_400 * 3 + 5, "3d 5s"),
        (86_400 * 400 + 7_200, "400d 2h"),
    ],
)
def test_the_two_largest_units_are_shown(seconds: int, shown: str) -> None:
    assert show_duration(seconds) == shown
