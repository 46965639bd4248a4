"""Times on a command line: what is meant, or a sentence that helps."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from entrypoints.durations import moment_at, parse_duration, parse_moment, show_duration

NOW = datetime(2026, 5, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", timedelta()),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(days=7)),
        (" 5m ", timedelta(minutes=5)),
        ("36500d", timedelta(days=36_500)),
    ],
)
def test_a_whole_number_and_its_unit_are_a_duration(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected
    assert parse_moment(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "h", "24", "-1h", "+1h", "1.5h", "1h30m", "24 h", "24H", "1w", "1_0s", "5m\n5m"),
        *("٣h", "9" * 99 + "s"),
    ],
)
def test_what_is_no_duration_says_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="for example 90s, 15m, 24h or 7d"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36501d", "999999999999d", "9999999999h"])
def test_longer_than_a_hundred_years_is_a_slip(text: str) -> None:
    with pytest.raises(ValueError, match="longer than 36500 days"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-29T10:15:00+07:00", datetime(2026, 5, 29, 3, 15, tzinfo=UTC)),
        ("2026-05-29T10:15Z", datetime(2026, 5, 29, 10, 15, tzinfo=UTC)),
        ("2026-05-29 10:15:00.5-01:00", datetime(2026, 5, 29, 11, 15, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_a_moment_may_be_a_time_with_its_offset(text: str, expected: datetime) -> None:
    assert parse_moment(text) == expected


@pytest.mark.parametrize("text", ["2026-05-29", "2026-05-29T10:15:00"])
def test_a_time_without_offset_could_be_anywhere(text: str) -> None:
    with pytest.raises(ValueError, match="needs an offset"):
        parse_moment(text)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00Z", "24hours"])
def test_anything_else_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="neither how long ago"):
        parse_moment(text)


def test_how_long_ago_counts_from_now() -> None:
    bangkok = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=7)))

    assert moment_at(timedelta(hours=1), now=NOW) == datetime(2026, 5, 29, 11, tzinfo=UTC)
    assert moment_at(bangkok, now=NOW) == bangkok


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
