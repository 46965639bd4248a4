"""``outbox-worker watch``: the live status of intents."""

import json
import signal
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Annotated, Final
from uuid import UUID

import typer

from application.errors import UnknownIntentError
from domain.live_status import StatusUpdate
from domain.sanitising import on_one_line
from entrypoints.options import AsJson, duration_of
from entrypoints.output import require_stdout

INTERRUPTED: Final = 128 + signal.SIGINT


def register(app: typer.Typer) -> None:
    """Add this command to *app*."""
    app.command()(watch)


def watch(
    intents: Annotated[list[UUID], typer.Argument(metavar="INTENT", help="Ids of intents.")],
    timeout: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="End after this though some are not final: 30s, 5m."),
    ] = None,
    poll: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How often the database is read, Redis or not."),
    ] = "5s",
    as_json: AsJson = False,
) -> None:
    """Show the status of intents now and whenever it changes, until all are final.

    SETTLED and FAILED are final. Changes are heard live over Redis; what is final is read from the
    database, at once when a message says so. Exit 0 when all are final, 1 when the time is over or
    there is no such intent, 130 after Ctrl-C. With --json, each change is one JSON document on one
    line.
    """
    # See entrypoints.cli.
    from entrypoints.live_status import LiveStatus
    from entrypoints.logs import configure_logs
    from entrypoints.settings import load_live_status_settings

    timeout_s = None if timeout is None else duration_of(timeout, "--timeout").total_seconds()
    poll_interval_s = duration_of(poll, "--poll").total_seconds()
    if not poll_interval_s:
        raise typer.BadParameter("it takes a second at least", param_hint="--poll")
    settings = load_live_status_settings()
    configure_logs(format=settings.log_format, level=settings.log_level)
    unfinished = set(intents)
    try:
        with LiveStatus(
            database_url=settings.database_url.get_secret_value(),
            redis_url=settings.redis_url.get_secret_value(),
            poll_interval_s=poll_interval_s,
            redis_timeout_s=settings.redis_timeout_ms / 1_000,
        ) as live:
            updates = live.watch(*intents, timeout_s=timeout_s)
            _print(updates, _json_line if as_json else _line, unfinished)
    except UnknownIntentError as error:
        typer.echo(f"outbox-worker: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        # The usual end of a watch: neither a traceback nor a word.
        raise typer.Exit(INTERRUPTED) from None
    if unfinished:
        typer.echo(
            f"outbox-worker: after {timeout}, {len(unfinished)} of {len(set(intents))} intents"
            " are not final",
            err=True,
        )
        raise typer.Exit(1)


def _print(
    updates: Iterable[StatusUpdate],
    line_of: Callable[[StatusUpdate], str],
    unfinished: set[UUID],
) -> None:
    """Print each of *updates* when it comes; take those that are final out of *unfinished*."""
    stdout = require_stdout()
    for update in updates:
        stdout.write(line_of(update) + "\n")
        # At once, for a program at the other end of a pipe, too.
        stdout.flush()
        if update.is_final:
            unfinished.discard(update.intent_id)


def _line(update: StatusUpdate) -> str:
    status = on_one_line(update.status)
    return f"{update.intent_id}  {status:<13}  {update.updated_at or '-':<24}  {update.source}"


def _json_line(update: StatusUpdate) -> str:
    return json.dumps({**asdict(update), "is_final": update.is_final}, default=str)
