"""How ids and lengths of time are put in what is told of an intent."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from domain.transfers import TransferId

_IDS_SHOWN_MAX: Final = 3


def id_text(id_: TransferId) -> str:
    """Return *id_* as Postgres shows it, so that it can be looked for as it is printed."""
    return str(UUID(int=id_))


def ids_text(ids: Sequence[TransferId]) -> str:
    """Name the first of *ids*."""
    shown = ", ".join(map(id_text, ids[:_IDS_SHOWN_MAX]))
    rest = len(ids) - _IDS_SHOWN_MAX
    return shown if rest <= 0 else f"{shown} and {rest} more"


def duration_text(duration_ms: int) -> str:
    """Return *duration_ms* in the unit that fits, rounded down: ``45 s``, ``20 min``, ``3 h``."""
    seconds = duration_ms // 1_000
    for unit_s, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds // unit_s} {name}"
    return f"{seconds} s"
