"""Write the conclusions of a batch so that a row which Postgres refuses costs only itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from application.errors import RowsRefusedError
from application.ports.outbox_repository import ClaimedBatch
from domain.conclusions import Conclusion, StatusMessage

log = structlog.get_logger(__name__)

Substitute = Callable[[Conclusion, RowsRefusedError], Conclusion]
"""What to write instead of a conclusion that was refused when written alone."""


@dataclass(slots=True)
class Written:
    """What was written of a batch, and a message for each intent that changed by it."""

    conclusions: list[Conclusion] = field(default_factory=list)
    messages: list[StatusMessage] = field(default_factory=list)


def write_all(
    batch: ClaimedBatch, conclusions: Sequence[Conclusion], substitutes: Sequence[Substitute]
) -> Written:
    """Write *conclusions*, halving them as long as some row among them is refused.

    One that is refused alone is replaced by what the first of *substitutes* makes of it, and
    by that of the next one if that is refused, too. The verdicts stay as they are and the
    ledger is not asked again. Raises what ``ClaimedBatch.write`` raises, except for refused
    rows.
    """
    written = Written()
    _write(batch, conclusions, substitutes, written)
    return written


def _write(
    batch: ClaimedBatch,
    conclusions: Sequence[Conclusion],
    substitutes: Sequence[Substitute],
    written: Written,
) -> None:
    if not conclusions:
        return
    try:
        written.messages += batch.write(conclusions)
        written.conclusions += conclusions
    except RowsRefusedError as refusal:
        if len(conclusions) == 1:
            _write_instead(batch, conclusions[0], refusal, substitutes, written)
            return
        middle = len(conclusions) // 2
        _write(batch, conclusions[:middle], substitutes, written)
        _write(batch, conclusions[middle:], substitutes, written)


def _write_instead(
    batch: ClaimedBatch,
    refused: Conclusion,
    refusal: RowsRefusedError,
    substitutes: Sequence[Substitute],
    written: Written,
) -> None:
    if not substitutes:
        # Nothing at all can be noted of this event. It stays pending, as it was.
        log.error("outbox: event cannot be written", event_id=refused.event_id, fault=str(refusal))
        return
    substitute, *others = substitutes
    _write(batch, [substitute(refused, refusal)], others, written)
