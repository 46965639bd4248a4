"""The commands that only look: ``queue``, ``stuck``, ``retries``, ``stats``, ``show``."""

from dataclasses import asdict
from typing import Annotated, Final
from uuid import UUID

import typer

from application.ports.outbox_reader import OutboxReader
from domain.intents import EventId, IntentId
from entrypoints import documents, rendering
from entrypoints.operator_builders import reading
from entrypoints.options import AsJson, duration_of

EVENT_ID_MAX: Final = 2**31 - 1
"""What ``pm.outbox_event.id`` can hold."""

Limit = Annotated[int, typer.Option(min=1, max=10_000, help="How many events to list at most.")]


def register(app: typer.Typer) -> None:
    """Add these commands to *app*."""
    for command in (queue, stuck, retries, stats, show):
        app.command()(command)


def queue(limit: Limit = 10, as_json: AsJson = False) -> None:
    """List pending events in the order in which workers take them, and what each waits for."""
    with reading() as reader:
        page = reader.queue(limit=limit)
    if as_json:
        rendering.print_json(documents.page_document(page))
    else:
        rendering.print_queue(page, rendering.stdout_console())


def stuck(
    older_than: Annotated[
        str, typer.Option(metavar="DURATION", help="Pending for longer than this: 90s, 5m, 2h.")
    ] = "5m",
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List what does not get on, and why; exit 1 when there is any, for cron."""
    duration = duration_of(older_than, "--older-than")
    with reading() as reader:
        found = reader.stuck(older_than=duration, limit=limit)
    if as_json:
        rendering.print_json(documents.stuck_document(found))
    else:
        rendering.print_stuck(found, rendering.stdout_console(), older_than=older_than)
    raise typer.Exit(int(found.is_any))


def retries(
    more_than: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="More failures than this.")
    ] = 5,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List the pending events that failed most often."""
    with reading() as reader:
        page = reader.retried(more_than=more_than, limit=limit)
    if as_json:
        rendering.print_json(documents.page_document(page))
    else:
        rendering.print_retried(page, rendering.stdout_console(), more_than=more_than)


def stats(
    since: Annotated[
        str, typer.Option(metavar="DURATION", help="Events created within this: 90m, 24h, 7d.")
    ] = "24h",
    as_json: AsJson = False,
) -> None:
    """Count events by action and status, with the time from their order to their end."""
    duration = duration_of(since, "--since")
    with reading() as reader:
        statistics = reader.statistics(since=duration)
    if as_json:
        rendering.print_json({"statistics": [asdict(one) for one in statistics]})
    else:
        rendering.print_statistics(statistics, rendering.stdout_console())


def show(
    intent: Annotated[UUID | None, typer.Argument(help="The intent's id.")] = None,
    event: Annotated[
        int | None,
        typer.Option(min=1, max=EVENT_ID_MAX, help="Show the intent of this event instead."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show everything about one intent: row, events, PSP, history, audit trail, push jobs."""
    if (intent is None) is (event is None):
        raise typer.BadParameter("name an intent, or an event by --event")
    with reading() as reader:
        intent_id = IntentId(intent) if intent is not None else _intent_of(reader, event)
        dossier = None if intent_id is None else reader.dossier(intent_id)
    if dossier is None:
        unknown = f"intent {intent}" if intent is not None else f"event {event}"
        if as_json:
            rendering.print_json({"error": f"there is no {unknown}"})
        else:
            typer.echo(f"outbox-worker: there is no {unknown}", err=True)
        raise typer.Exit(1)
    if as_json:
        rendering.print_json(documents.dossier_document(dossier))
    else:
        rendering.print_dossier(dossier, rendering.stdout_console())


def _intent_of(reader: OutboxReader, event: int | None) -> IntentId | None:
    return None if event is None else reader.intent_of(EventId(event))
