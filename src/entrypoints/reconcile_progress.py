"""How far ``outbox-worker reconcile`` is, for whoever waits at a terminal."""

from collections.abc import Iterable, Iterator
from typing import TextIO

from application.use_cases.reconcile import Checked
from entrypoints.reconcile_report import Report


class Progress:
    """How far it is, on a terminal; elsewhere nothing."""

    def __init__(self, output: TextIO) -> None:
        self._output = output if output.isatty() else None

    def show(self, intents: int) -> None:
        """Say how many intents were checked; before the first of them, what takes so long."""
        if self._output is not None:
            what = f"{intents:,} intents checked" if intents else "reading through pm.intent"
            self._output.write(f"\r{what} \N{HORIZONTAL ELLIPSIS}")
            self._output.flush()

    def clear(self) -> None:
        """Make room for a line."""
        if self._output is not None:
            self._output.write("\r\x1b[K")
            self._output.flush()


def shown(steps: Iterable[Checked], report: Report, progress: Progress) -> Iterator[Checked]:
    """Pass *steps* on, each once it was shown; in between, say how far it is."""
    intents = 0
    try:
        progress.show(intents)
        for checked in steps:
            intents += checked.intents
            progress.clear()
            report.add(checked)
            yield checked
            progress.show(intents)
    finally:
        progress.clear()
