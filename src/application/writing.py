"""Write the conclusions of a batch so that a row which Postgres refuses costs only itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from application.errors import DatabaseMisconfiguredError, OutboxError, RowsRefusedError
from application.ports.outbox_repository import ClaimedBatch
from domain.conclusions import Conclusion, StatusMessage

log = structlog.get_logger(__name__)

Substitute = Callable[[Conclusion, OutboxError], Conclusion]
"""What to write instead of a conclusion that was refused when written alone."""

Refusal = tuple[Conclusion, OutboxError]
"""A conclusion that was refused when written alone, and why."""


@dataclass(slots=True)
class Written:
    """What was written of a batch, and a message for each intent that changed by it.

    ``refused`` counts the events whose own conclusions are not among those written.
    """

    conclusions: list[Conclusion] = field(default_factory=list)
    messages: list[StatusMessage] = field(default_factory=list)
    refused: int = 0


def write_all(
    batch: ClaimedBatch, conclusions: Sequence[Conclusion], substitutes: Sequence[Substitute]
) -> Written:
    """Write *conclusions*, halving them as long as some row among them is refused.

    Those that are refused alone are replaced by what the first of *substitutes* makes of them,
    all together, and by that of the next one where that is refused, too. The verdicts stay as
    they are and the ledger is not asked again. Locks are held meanwhile, so it hardly takes
    more writes than there are rows, however many of them are refused.

    Raises:
        DatabaseMisconfiguredError: no conclusion at all could be written for such a fault. If
            others could, it is taken for the fault of a row, for example of a trigger.
        DatabaseUnavailableError: as ``ClaimedBatch.write``.
    """
    writer = _Writer(batch, substitutes)
    refused = writer.write(conclusions)
    suspects = [one for one in refused if isinstance(one[1], DatabaseMisconfiguredError)]
    writer.replace([one for one in refused if isinstance(one[1], RowsRefusedError)])
    if suspects and not writer.written.conclusions:
        raise suspects[0][1]
    writer.replace(suspects)
    return writer.written


@dataclass(slots=True)
class _Writer:
    batch: ClaimedBatch
    substitutes: Sequence[Substitute]
    written: Written = field(default_factory=Written)

    def write(self, conclusions: Sequence[Conclusion]) -> list[Refusal]:
        """Write *conclusions*; return those that were refused alone."""
        search = _Search(self.batch, self.written)
        search.write(conclusions)
        return search.refused

    def replace(self, refused: Sequence[Refusal]) -> None:
        """Write for each of *refused* the first substitute that is not refused, too."""
        self.written.refused += len(refused)
        for substitute in self.substitutes:
            refused = self.write([substitute(*refusal) for refusal in refused])
        for conclusion, error in refused:
            # Nothing at all can be noted of this event. It stays pending, as it was.
            log.error(
                "outbox: event cannot be written", event_id=conclusion.event_id, fault=str(error)
            )


@dataclass(slots=True)
class _Search:
    """Looks for the refused among some conclusions, writing all others on its way."""

    batch: ClaimedBatch
    written: Written
    accepted: int = 0
    refused: list[Refusal] = field(default_factory=list)

    def write(self, conclusions: Sequence[Conclusion]) -> None:
        """Write *conclusions*, or find out which of them cannot be."""
        count = len(conclusions)
        if count > 1 and not self._may_all_be_good(count):
            self._write_halves(conclusions)
        elif count > 0:
            try:
                self.written.messages += self.batch.write(conclusions)
            except (RowsRefusedError, DatabaseMisconfiguredError) as error:
                if count > 1:
                    self._write_halves(conclusions)
                else:
                    self.refused.append((conclusions[0], error))
            else:
                self.written.conclusions += conclusions
                self.accepted += count

    def _write_halves(self, conclusions: Sequence[Conclusion]) -> None:
        middle = len(conclusions) // 2
        self.write(conclusions[:middle])
        self.write(conclusions[middle:])

    def _may_all_be_good(self, count: int) -> bool:
        """Whether so many in a row were good so far, on average.

        Where more are refused, a write of several is most likely in vain. The 2 are there for
        the very first refusal: of what is good behind it, ever more is tried at once.
        """
        return count * len(self.refused) <= self.accepted + 2
