"""How ``outbox-worker reconcile`` shows what it finds, while it finds it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from application.use_cases.reconcile import Checked
from domain.reconciliation.differences import DifferenceKind
from entrypoints.reconcile_orders import Ordered


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

    def add_orders(self, orders: Iterable[Ordered], *, has_more: bool) -> None:
        """Show what became of each event, as it is inserted, or that none was.

        *has_more*: there were too many to remember, so that some were not even tried.
        """
        ...

    def end(self) -> None:
        """Nothing comes any more."""
        ...
