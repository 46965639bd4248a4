"""Times as people write them on a command line."""

import re
from datetime import datetime, timedelta
from typing import Final

Moment = timedelta | datetime
"""How long ago, or when."""

DAYS_MAX: Final = 36_500
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(text: str) -> timedelta:
    """Return the length of time that *text* says: ``90s``, ``15m``, ``24h`` or ``7d``.

    Raises:
        ValueError: it says none, or more than a hundred years; the message tells what would do.
    """
    found = re.fullmatch(r"([0-9]{1,12})([smhd])", text)
    if found is not None:
        count, unit = found.groups()
        # Compared before it is made: a timedelta has bounds of its own.
        seconds = int(count) * round(timedelta(**{_UNITS[unit]: 1}).total_seconds())
        if seconds <= DAYS_MAX * 86_400:
            return timedelta(seconds=seconds)
    raise ValueError(f"{text!r} is no length of time; for example 90s, 15m, 24h, 7d")


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
