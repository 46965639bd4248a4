"""What the demo shows: progress while it runs, and the tables at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from domain.invariants import Invariant
from domain.money import format_amount
from entrypoints.demo.evidence import Delays

BROKEN_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The numbers of the last table. Money is in satang, and stands on both sides."""

    ledger: str
    settled: int
    failed: int
    in_review: int
    delays: Delays
    status_messages: int
    jobs_received: int
    jobs_expected: int
    settled_satang: int
    posted_satang: int
    fees_written_satang: int
    fees_charged_satang: int
    in_review_satang: int
    held_satang: int

    @property
    def money_adds_up(self) -> bool:
        """Does Postgres say of every satang what the ledger says?"""
        return (
            self.settled_satang == self.posted_satang
            and self.fees_written_satang == self.fees_charged_satang
            and self.in_review_satang == self.held_satang
        )


class Stage:
    """A progress bar, and lines of what happens above it. A context manager."""

    def __init__(self, console: Console, *, intents: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._ordered = self._progress.add_task("ordered", total=intents)
        self._finished = self._progress.add_task("finished", total=intents)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Show one line above the bars."""
        self._progress.console.print(text)

    def show(self, *, ordered: int, finished: int) -> None:
        """Move the bars."""
        self._progress.update(self._ordered, completed=ordered)
        self._progress.update(self._finished, completed=finished)


def show_figures(console: Console, figures: Figures) -> None:
    """Print what was done, how fast, and the money on both sides."""
    table = Table(title="What the worker did", show_header=False)
    delays = figures.delays
    for name, value in (
        ("ledger", figures.ledger),
        ("intents settled", f"{figures.settled:,}"),
        ("intents failed (money released)", f"{figures.failed:,}"),
        ("intents in manual review", f"{figures.in_review:,}"),
        ("events/s, from first order to last settlement", f"{delays.events_per_s:,}"),
        ("delay from order to settlement, p50", f"{delays.p50_ms:,} ms"),
        ("delay from order to settlement, p99", f"{delays.p99_ms:,} ms"),
        ("live status messages received", f"{figures.status_messages:,}"),
        ("push jobs received", f"{figures.jobs_received:,} of {figures.jobs_expected:,}"),
    ):
        table.add_row(name, value)
    console.print(table)
    money = Table("money", "Postgres", "ledger", title="The money, on both sides")
    for name, postgres_satang, ledger_satang in (
        ("settled / posted", figures.settled_satang, figures.posted_satang),
        ("PSP fees", figures.fees_written_satang, figures.fees_charged_satang),
        ("in review / frozen or posted", figures.in_review_satang, figures.held_satang),
    ):
        money.add_row(name, _baht(postgres_satang), _baht(ledger_satang))
    console.print(money)


def show_invariants(console: Console, invariants: Sequence[Invariant]) -> None:
    """Print a line for each invariant, and what breaks it."""
    table = Table("", "", "invariant", title="What must hold")
    for invariant in invariants:
        mark = (
            "[green]holds[/]"
            if invariant.holds
            else f"[red]BROKEN {len(invariant.broken)} times[/]"
        )
        table.add_row(str(invariant.number), mark, invariant.text)
    console.print(table)
    for invariant in invariants:
        for text in invariant.broken[:BROKEN_SHOWN_MAX]:
            console.print(f"  {invariant.number}: {text}", style="red")


def _baht(amount_satang: int) -> str:
    return format_amount(amount_satang, "THB")
