"""``outbox-worker prune``: old finished events leave the outbox for its archive."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Annotated, Final

import typer

from application.use_cases.prune_events import PruneEvents
from entrypoints.asking import is_confirmed
from entrypoints.operator_builders import pruning
from entrypoints.options import AsJson, Yes, duration_of, refuse_to_ask
from entrypoints.rendering import print_json

AGE_MIN: Final = timedelta(days=1)
"""What is younger, people, PM and ``reconcile`` still look at: less than a day is a slip."""

OlderThan = Annotated[
    str, typer.Option(metavar="DURATION", help="Finished longer ago than this: 30d, 90d.")
]
Batch = Annotated[int, typer.Option(min=1, max=10_000, help="Events in a transaction.")]
PauseMs = Annotated[
    int, typer.Option(min=0, max=60_000, help="Pause between two batches, in milliseconds.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count, and change nothing.")]


def prune(
    older_than: OlderThan,
    batch: Batch = 1_000,
    pause_ms: PauseMs = 100,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Move old finished events from pm.outbox_event to pm.outbox_event_archive.

    Only what is processed, of intents that are final and have no event left that is not.
    Nothing else ever runs this. SIGINT or SIGTERM ends it after the batch at hand.
    """
    age = duration_of(older_than, "--older-than")
    if age < AGE_MIN:
        raise typer.BadParameter("less than a day is refused", param_hint="--older-than")
    refuse_to_ask(yes=yes or dry_run, as_json=as_json)
    with pruning(batch_events=batch, pause_s=pause_ms / 1_000) as use_case:
        before = use_case.before(age)
        if dry_run or not yes:
            count = _count(use_case, before, as_json=as_json)
            if dry_run or not count:
                return
            typer.echo(
                f"{batch:,} at a time, each a transaction, with a pause of {pause_ms} ms between"
            )
            if not is_confirmed("Go on?"):
                typer.echo("nothing was done", err=True)
                raise typer.Exit(1)
        _move(use_case, before, as_json=as_json)


def _count(use_case: PruneEvents, before: datetime, *, as_json: bool) -> int:
    with _stopping(use_case.stop) as received:
        count = use_case.count(before)
    if count is None:
        typer.echo("nothing was done", err=True)
        raise typer.Exit(_code(received))
    if as_json:
        print_json({"before": _iso(before), "would_move": count})
    else:
        typer.echo(
            "events to move from pm.outbox_event to pm.outbox_event_archive:"
            f" {count:,}, finished before {_iso(before)}"
        )
    return count


def _move(use_case: PruneEvents, before: datetime, *, as_json: bool) -> None:
    moved = 0
    with _stopping(use_case.stop) as received:
        try:
            for count in use_case(before):
                moved += count
        finally:
            # Also when the database goes away: what was moved until then has been moved.
            if as_json:
                print_json({"before": _iso(before), "moved": moved, "stopped": bool(received)})
            else:
                typer.echo(f"events moved: {moved:,}" + (", then stopped" if received else ""))
    if received:
        raise typer.Exit(_code(received))


@contextmanager
def _stopping(stop: threading.Event) -> Iterator[list[int]]:
    """Let SIGINT and SIGTERM set *stop*, and give which came; the second one is as ever."""
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(number: int, _: FrameType | None) -> None:
        received.append(number)
        stop.set()
        restore()

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield received
    finally:
        restore()


def _code(received: list[int]) -> int:
    """As of a program that the signal ends."""
    return 128 + received[0]


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
