"""What ``outbox-worker reconcile`` finds, for people: lines in columns."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, TextIO

from application.use_cases.reconcile import Checked
from domain.intents import Action, IntentStatus
from domain.reconciliation.differences import DifferenceKind
from domain.sanitising import on_one_line
from entrypoints.reconcile_orders import ORDERS_MAX, Ordered, Outcome
from entrypoints.reconcile_remedies import REMEDIES
from entrypoints.reconcile_report import Tally

_STATUS_WIDTH: Final = max(map(len, IntentStatus))
_KIND_WIDTH: Final = max(map(len, DifferenceKind))
_FIX_WIDTH: Final = max(map(len, Action))
_NOTHING: Final = "-"


class TextReport:
    """For people: a line a difference, in columns that stay where they are. Fulfils ``Report``."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._has_lines = False

    def add(self, checked: Checked) -> None:
        """See ``Report.add``."""
        for difference in checked.differences:
            if not self._has_lines:
                self._line("intent", "status", "difference", "fix", "detail")
                self._has_lines = True
            self._line(
                str(difference.intent_id),
                difference.status,
                difference.kind,
                difference.fix or "",
                difference.detail,
            )
        self._output.flush()

    def sum_up(self, tally: Tally) -> None:
        """See ``Report.sum_up``."""
        self._output.write(f"{summary(tally)}\n")
        if tally.kinds:
            self._output.write("\nWhat to do; docs/reconcile.md says more:\n")
        for kind in filter(tally.kinds.__contains__, DifferenceKind):
            self._output.write(f"{kind:<{_KIND_WIDTH}}  {REMEDIES[kind]}\n")
        self._output.flush()

    def add_orders(self, orders: Iterable[Ordered], *, has_more: bool) -> None:
        """See ``Report.add_orders``."""
        outcomes: Counter[Outcome] = Counter()
        for ordered in orders:
            outcomes[ordered.outcome] += 1
            difference = ordered.difference
            self._output.write(
                f"{ordered.outcome:<8}  {difference.intent_id}  {difference.fix}"
                f"  {on_one_line(ordered.detail)}\n"
            )
            self._output.flush()
        if not outcomes:
            self._output.write("Nothing was inserted.\n")
            return
        more = f" There are more than {ORDERS_MAX:,}: run it again." if has_more else ""
        self._output.write(
            f"{outcomes[Outcome.INSERTED]:,} of {outcomes.total():,} inserted.{more} Once the"
            " worker has carried them out, reconcile again to see what is left.\n"
        )

    def end(self) -> None:
        """See ``Report.end``."""
        self._output.flush()

    def _line(self, intent_id: str, status: str, kind: str, fix: str, detail: str) -> None:
        self._output.write(
            f"{intent_id:<36}  {on_one_line(status) or _NOTHING:<{_STATUS_WIDTH}}"
            f"  {kind:<{_KIND_WIDTH}}  {fix or _NOTHING:<{_FIX_WIDTH}}  {on_one_line(detail)}\n"
        )


def summary(tally: Tally) -> str:
    """Return the sentence at the end."""
    checked = f"{tally.intents:,} {_plural('intent', tally.intents)} checked"
    if not tally.differences:
        return f"{checked}, no difference."
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in tally.counts.items())
    found = f"{checked}, {tally.differences:,} {_plural('difference', tally.differences)}: {kinds}"
    if not tally.fixable:
        return f"{found}."
    return f"{found}; {tally.fixable:,} of them the worker can put right (--fix)."


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
