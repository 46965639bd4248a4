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
    batch: ClaimedBatch, conclusions: Sequence[Conclusion], substitute: Substitute
) -> Written:
    """Write *conclusions*, halving them as long as some row among them is refused.

    The verdicts stay as they are and the ledger is not asked again. Raises what
    ``ClaimedBatch.write`` raises, except for refused rows.
    """
    written = Written()
    _write(batch, conclusions, substitute, written)
    return written


def _write(
    batch: ClaimedBatch,
    conclusions: Sequence[Conclusion],
    substitute: Substitute,
    written: Written,
) -> None:
    if not conclusions:
        return
    try:
        written.messages += batch.write(conclusions)
        written.conclusions += conclusions
        return
    except RowsRefusedError as error:
        refusal = error
    if len(conclusions) == 1:
        _write_substitute(batch, substitute(conclusions[0], refusal), written)
        return
    middle = len(conclusions) // 2
    _write(batch, conclusions[:middle], substitute, written)
    _write(batch, conclusions[middle:], substitute, written)


def _write_substitute(batch: ClaimedBatch, conclusion: Conclusion, written: Written) -> None:
    try:
        written.messages += batch.write([conclusion])
        written.conclusions.append(conclusion)
    except RowsRefusedError:
        # Not even the refusal can be noted. The event stays pending, as it was.
        log.exception("outbox: event cannot be written", event_id=conclusion.event_id)
