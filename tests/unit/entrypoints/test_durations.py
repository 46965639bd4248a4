"""Times on a command line: what is meant, or a sentence that helps."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from entrypoints.durations import moment_at, parse_duration, parse_moment

NOW = datetime(2026, 5, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", timedelta()),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(days=7)),
        ("36500d", timedelta(days=36_500)),
    ],
)
def test_a_length_of_time_is_a_number_and_a_unit(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected
    assert parse_moment(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        "24",
        "-1h",
        "+1h",
        "1.5h",
        "1h30m",
        "24 h",
        "24H",
        "1w",
        "٣h",
        "36501d",
        "9" * 99 + "s",
    ],
)
def test_anything_else_is_no_length_of_time(text: str) -> None:
    with pytest.raises(ValueError, match="for example 90s, 15m, 24h, 7d"):
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
