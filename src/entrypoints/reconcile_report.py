"""How ``outbox-worker reconcile`` shows what it finds, while it finds it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TextIO

from application.use_cases.reconcile import Checked
from domain.intents import Action, IntentStatus
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.sanitising import on_one_line
from entrypoints.reconcile_orders import Ordered, Outcome

_STATUS_WIDTH: Final = max(map(len, IntentStatus))
_KIND_WIDTH: Final = max(map(len, DifferenceKind))
_FIX_WIDTH: Final = max(map(len, Action))
_NOTHING: Final = "-"


@dataclass(slots=True)
class Tally:
    """What was found so far, in numbers."""

    intents: int = 0
    kinds: Counter[DifferenceKind] = field(default_factory=Counter)
    fixable: int = 0

    def add(self, checked: Checked) -> None:
        """Count one more step."""
        self.intents += checked.intents
        self.kinds.update(one.kind for one in checked.differences)
        self.fixable += sum(one.fix is not None for one in checked.differences)

    @property
    def differences(self) -> int:
        """How many there are."""
        return self.kinds.total()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many there are of each kind, most frequent first."""
        ordered = sorted(self.kinds.items(), key=lambda item: (-item[1], item[0]))
        return {str(kind): count for kind, count in ordered}


class Report(Protocol):
    """Takes what is found as it comes, and keeps none of it."""

    def add(self, checked: Checked) -> None:
        """Show one more step."""
        ...

    def sum_up(self, tally: Tally) -> None:
        """Show the numbers, once everything was added."""
        ...

    def add_orders(self, orders: Iterable[Ordered]) -> None:
        """Show what became of each order, as it is made."""
        ...

    def end(self) -> None:
        """Nothing comes any more."""
        ...


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
        self._output.flush()

    def add_orders(self, orders: Iterable[Ordered]) -> None:
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
        self._output.write(
            f"{outcomes[Outcome.INSERTED]:,} of {outcomes.total():,} inserted. Once the worker has"
            " carried them out, reconcile again to see what is left.\n"
        )

    def end(self) -> None:
        """See ``Report.end``."""
        self._output.flush()

    def _line(self, intent_id: str, status: str, kind: str, fix: str, detail: str) -> None:
        self._output.write(
            f"{intent_id:<36}  {on_one_line(status) or _NOTHING:<{_STATUS_WIDTH}}"
            f"  {kind:<{_KIND_WIDTH}}  {fix or _NOTHING:<{_FIX_WIDTH}}  {on_one_line(detail)}\n"
        )


class JsonReport:
    """For programs: one JSON document, written as it comes. Fulfils ``Report``.

    ``{"differences": [{…}, …], "intents": …, "counts": {…}}``, with ``"fixes": [{…}, …]``
    where events were inserted.
    """

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._differences: int | None = None

    def add(self, checked: Checked) -> None:
        """See ``Report.add``."""
        written = self._begin()
        for number, difference in enumerate(checked.differences, start=written):
            self._item(_as_json(difference), first=number == 0)
        self._differences = written + len(checked.differences)
        self._output.flush()

    def sum_up(self, tally: Tally) -> None:
        """See ``Report.sum_up``."""
        self._begin()
        self._output.write(
            f'\n],\n"intents": {tally.intents},\n"counts": {json.dumps(tally.counts)}'
        )

    def add_orders(self, orders: Iterable[Ordered]) -> None:
        """See ``Report.add_orders``."""
        self._output.write(',\n"fixes": [')
        for number, ordered in enumerate(orders):
            body: Mapping[str, object] = {
                "intent_id": str(ordered.difference.intent_id),
                "action": ordered.difference.fix,
                "outcome": ordered.outcome,
                "event_id": ordered.event_id,
                "obstacle": ordered.obstacle,
                "detail": ordered.detail,
            }
            self._item(body, first=number == 0)
            self._output.flush()
        self._output.write("\n]")

    def end(self) -> None:
        """See ``Report.end``."""
        self._output.write("\n}\n")
        self._output.flush()

    def _begin(self) -> int:
        """Write the beginning, unless it is there; return how many differences are."""
        if self._differences is None:
            # Not earlier: a part that is away from the start leaves no broken document behind.
            self._output.write('{\n"differences": [')
            self._differences = 0
        return self._differences

    def _item(self, body: Mapping[str, object], *, first: bool) -> None:
        self._output.write(("\n" if first else ",\n") + json.dumps(body))


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


def _as_json(difference: Difference) -> Mapping[str, object]:
    return {
        "intent_id": str(difference.intent_id),
        "status": difference.status,
        "kind": difference.kind,
        "detail": difference.detail,
        "fix": difference.fix,
    }


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
