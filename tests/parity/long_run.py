"""Compare two ledgers on as many programs as it takes, and tell how it went."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

from domain.transfers import Account, Transfer
from tests.ledger_programs import CreateAccounts, Program, Wait
from tests.parity.comparing import Comparison, Runner, compare, generate, shrink

BATCHES_AT_ONCE: Final = 8
"""Their programs share one wait for time-outs to end."""


@dataclass(slots=True)
class Totals:
    """What was compared, and how many programs differ."""

    programs: int = 0
    transfer_events: int = 0
    account_events: int = 0
    look_ups: int = 0
    differ: int = 0

    def __str__(self) -> str:
        return (
            f"{self.programs} programs, {self.transfer_events} transfer events,"
            f" {self.account_events} account events, {self.look_ups} look-ups,"
            f" {self.differ} differ"
        )

    def add(self, comparison: Comparison) -> None:
        """Count a program; a look-up is one of an id, or one search."""
        program = comparison.program
        self.programs += 1
        self.transfer_events += sum(1 for _ in program.transfers)
        self.account_events += len(program.accounts) + sum(
            len(step.accounts) for step in program.steps if isinstance(step, CreateAccounts)
        )
        self.look_ups += len(program.account_ids) + len(program.transfer_ids)
        self.look_ups += len(comparison.answers.records.resolutions)
        self.differ += bool(comparison.differences)


@dataclass(frozen=True, slots=True)
class Finding:
    """A program that differs, shrunk, under a name that tells its seed."""

    name: str
    comparison: Comparison


def run_for(
    events_min: int,
    seed: str,
    real: Runner,
    other: Runner,
    say: Callable[[str], None],
    *,
    batches_at_once: int = BATCHES_AT_ONCE,
) -> tuple[Totals, Finding | None]:
    """Compare programs until they have *events_min* transfers, or some differ."""
    totals = Totals()
    for places in _rounds(seed, batches_at_once):
        if totals.transfer_events >= events_min:
            break
        named = [
            (f"parity-{place}-{number}", program)
            for place in places
            for number, program in enumerate(generate(place))
        ]
        compared = compare([program for _, program in named], real, other)
        for comparison in compared:
            totals.add(comparison)
        say(str(totals))
        for (name, program), comparison in zip(named, compared, strict=True):
            if comparison.differences:
                say(f"{name} differs, shrinking it")
                return totals, Finding(name, shrink(program, real, other))
    return totals, None


def _rounds(seed: str, batches: int) -> Iterator[list[str]]:
    """Yield the seeds of the batches that are run together, without end."""
    first = 0
    while True:
        yield [f"{seed}.{batch}" for batch in range(first, first + batches)]
        first += batches


def told(program: Program, statuses: tuple[tuple[str, ...], ...] = ()) -> Iterator[str]:
    """Yield *program* in lines for people, with the statuses of its steps if there are any."""
    for account in program.accounts:
        yield f"account {_told_fields(account)}"
    for number, step in enumerate(program.steps):
        if isinstance(step, Wait):
            yield f"step {number}: wait {step.duration_ns / 1e9:g} s"
            continue
        yield f"step {number}: create {step.noun}"
        answers = statuses[number] if statuses else ("",) * len(step.events)
        events: Sequence[Account | Transfer] = step.events
        for event, status in zip(events, answers, strict=True):
            yield f"    {_told_fields(event)}" + (f" -> {status}" if status else "")


def _told_fields(record: Account | Transfer) -> str:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return " ".join(f"{name}={int(value)}" for name, value in values.items() if value)
