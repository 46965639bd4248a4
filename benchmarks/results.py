"""What a section found: a table for people, JSON for programs."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

Value = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table. *ratios* are what counts of it, by name."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    ratios: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return it as JSON values; each row by its columns."""
        return {
            "name": self.name,
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "ratios": dict(self.ratios),
        }

    def show(self, console: Console) -> None:
        """Print the table."""
        first, *others = self.columns
        table = Table()
        table.add_column(first)
        for column in others:
            table.add_column(column, justify="right")
        for row in self.rows:
            table.add_row(*map(_text, row))
        console.print(f"\n{self.name}: {self.title}", highlight=False)
        console.print(table)


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class Summary:
    """The median of samples, and how far they lie apart, as a share of it."""

    median: float
    spread: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Summary":
        """Summarise *samples*, one at least."""
        median = statistics.median(samples)
        return cls(median, (max(samples) - min(samples)) / median if median else 0.0)

    @property
    def spread_percent(self) -> str:
        """The spread, for people."""
        return f"±{self.spread * 50:.0f} %"
