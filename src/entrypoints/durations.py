"""Times as people write them on a command line, and are shown them."""

import re
from datetime import datetime, timedelta
from typing import Final

Moment = timedelta | datetime
"""How long ago, or when."""

DAYS_MAX: Final = 36_500
"""A hundred years: more is a slip, and the database could not count back so far."""

_UNITS_S: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def parse_duration(text: str) -> timedelta:
    """Return the duration that *text* names: a whole number and its unit.

    Raises:
        ValueError: it names none, or more than a hundred years; the message says what would do.
    """
    found = re.fullmatch(r"([0-9]{1,12})([smhd])", text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no duration: write for example 90s, 15m, 24h or 7d")
    # Compared before it is made: a timedelta has bounds of its own.
    seconds = int(found[1]) * _UNITS_S[found[2]]
    if seconds > DAYS_MAX * _UNITS_S["d"]:
        raise ValueError(f"{text!r} is longer than {DAYS_MAX} days: write for example 24h or 7d")
    return timedelta(seconds=seconds)


def parse_moment(text: str) -> Moment:
    """Return how long ago, or when, *text* says: ``24h``, or ISO 8601 with an offset.

    Raises:
        ValueError: it says neither; the message tells what would do.
    """
    try:
        return parse_duration(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is neither how long ago (90m, 24h, 7d)"
            " nor a time like 2026-05-29T10:15:00+07:00"
        ) from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} needs an offset from UTC, like 2026-05-29T10:15:00+07:00")
    return moment


def moment_at(moment: Moment, *, now: datetime) -> datetime:
    """Return when *moment* is, as seen from *now*."""
    return now - moment if isinstance(moment, timedelta) else moment


def show_duration(seconds: int) -> str:
    """Return *seconds*, 0 or more, by their two largest units: ``3h 20m``."""
    parts: list[str] = []
    for unit, size in _UNITS_S.items():
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
