"""Durations as people write them on a command line: ``30s``, ``90m``, ``24h``, ``7d``."""

import re
from datetime import timedelta
from typing import Final

DAYS_MAX: Final = 36_500
"""A hundred years: more is a slip, and the database could not count back so far."""

_UNITS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_DURATION: Final = re.compile(r"([0-9]{1,10})([smhd])", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """Return the duration that *text* names: a whole number and its unit.

    Raises:
        ValueError: it names none; the message says what would.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration: write for example 30s, 90m, 24h or 7d")
    duration = int(match[1]) * _UNITS[match[2]]
    if duration > timedelta(days=DAYS_MAX):
        raise ValueError(f"{text!r} is longer than {DAYS_MAX} days")
    return duration


def show_duration(seconds: int) -> str:
    """Return *seconds*, 0 or more, by their two largest units: ``3h 20m``."""
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
