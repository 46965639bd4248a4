"""Write the conclusions of a batch so that a row which Postgres refuses costs only itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from application.errors import DatabaseMisconfiguredError, OutboxError, RowsRefusedError
from application.ports.outbox_repository import ClaimedBatch
from domain.conclusions import Conclusion, Settle, StatusMessage

log = structlog.get_logger(__name__)

Substitute = Callable[[Conclusion, OutboxError], Conclusion]
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
    ledger is not asked again.

    Raises:
        DatabaseMisconfiguredError: no conclusion at all could be written for such a fault. If
            others could, it is taken for the fault of a row, for example of a trigger.
        DatabaseUnavailableError: as ``ClaimedBatch.write``.
    """
    writer = _Writer(batch, substitutes)
    writer.write(conclusions)
    writer.settle_suspects()
    writer.retry_unchanged()
    return writer.written


@dataclass(slots=True)
class _Writer:
    batch: ClaimedBatch
    substitutes: Sequence[Substitute]
    written: Written = field(default_factory=Written)
    suspects: list[tuple[Conclusion, DatabaseMisconfiguredError]] = field(default_factory=list)

    def write(self, conclusions: Sequence[Conclusion]) -> None:
        """Write *conclusions*, or find out which of them cannot be."""
        if not conclusions:
            return
        try:
            self.written.messages += self.batch.write(conclusions)
            self.written.conclusions += conclusions
        except (RowsRefusedError, DatabaseMisconfiguredError) as error:
            if len(conclusions) > 1:
                middle = len(conclusions) // 2
                self.write(conclusions[:middle])
                self.write(conclusions[middle:])
            elif isinstance(error, DatabaseMisconfiguredError):
                self.suspects.append((conclusions[0], error))
            else:
                self._write_instead(conclusions[0], error, self.substitutes)

    def settle_suspects(self) -> None:
        """Decide whether misconfigurations are those of rows or of everything."""
        for conclusion, error in self.suspects:
            if not self.written.conclusions:
                raise error
            self._write_instead(conclusion, error, self.substitutes)

    def retry_unchanged(self) -> None:
        """Let events wait whose intents did not take the update, say by a trigger of PM's."""
        changed = {message.intent_id for message in self.written.messages}
        unchanged = [
            conclusion
            for conclusion in self.written.conclusions
            if isinstance(conclusion, Settle) and conclusion.intent_id not in changed
        ]
        for conclusion in unchanged:
            self.written.conclusions.remove(conclusion)
            refusal = RowsRefusedError("the intent did not take the update")
            self._write_instead(conclusion, refusal, self.substitutes)

    def _write_instead(
        self, refused: Conclusion, refusal: OutboxError, substitutes: Sequence[Substitute]
    ) -> None:
        if not substitutes:
            # Nothing at all can be noted of this event. It stays pending, as it was.
            log.error(
                "outbox: event cannot be written", event_id=refused.event_id, fault=str(refusal)
            )
            return
        substitute, *others = substitutes
        conclusion = substitute(refused, refusal)
        try:
            self.written.messages += self.batch.write([conclusion])
            self.written.conclusions.append(conclusion)
        except (RowsRefusedError, DatabaseMisconfiguredError) as error:
            self._write_instead(conclusion, error, others)
