"""Durations as people write them on a command line: ``30s``, ``90m``, ``24h``, ``7d``."""

import re
from datetime import timedelta
from typing import Final

DAYS_MAX: Final = 36_500
"""A hundred years: more is a slip, and the database could not count back so far."""

_UNITS_S: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile(r"([0-9]{1,10})([smhd])", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """Return the duration that *text* names: a whole number and its unit.

    Raises:
        ValueError: it names none; the message says what would.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration: write for example 30s, 90m, 24h or 7d")
    seconds = int(match[1]) * _UNITS_S[match[2]]
    if seconds > DAYS_MAX * _UNITS_S["d"]:
        raise ValueError(f"{text!r} is longer than {DAYS_MAX} days")
    return timedelta(seconds=seconds)


def show_duration(seconds: int) -> str:
    """Return *seconds*, 0 or more, by their two largest units: ``3h 20m``."""
    parts: list[str] = []
    for unit, size in _UNITS_S.items():
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
