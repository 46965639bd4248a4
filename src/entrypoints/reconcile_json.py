"""What ``outbox-worker reconcile`` finds, for programs: one JSON document."""

import json
from collections.abc import Iterable, Mapping
from typing import TextIO

from application.use_cases.reconcile import Checked
from domain.reconciliation.differences import Difference
from entrypoints.reconcile_orders import Ordered
from entrypoints.reconcile_report import Tally


class JsonReport:
    """For programs: one JSON document, written as it comes. Fulfils ``Report``.

    ``{"differences": [{…}, …], "intents": …, "counts": {…}}``, with ``"fixes": [{…}, …],
    "has_more": …`` where events were to be inserted.
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

    def add_orders(self, orders: Iterable[Ordered], *, has_more: bool) -> None:
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
        self._output.write(f'\n],\n"has_more": {json.dumps(has_more)}')

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


def _as_json(difference: Difference) -> Mapping[str, object]:
    return {
        "intent_id": str(difference.intent_id),
        "status": difference.status,
        "kind": difference.kind,
        "detail": difference.detail,
        "fix": difference.fix,
    }
