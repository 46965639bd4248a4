"""What the commands of ``outbox-worker wake-up`` do, and what they say before they do it."""

import json
from collections.abc import Callable
from typing import Final

import typer

from adapters.postgres.wake_up import LOCK_TIMEOUT_S, Trigger, switch_off, switch_on, wake_up_state
from entrypoints.asking import is_confirmed
from entrypoints.logs import configure_logs
from entrypoints.settings import load_database_settings

_LOCK: Final = f"""\
This locks pm.outbox_event for an instant. Where that cannot be had within {LOCK_TIMEOUT_S} s,
nothing is changed. The role must own the table.
"""
_ON: Final = f"""\
Adds a trigger to pm.outbox_event, the payment manager's table: each statement that inserts
events sends a notification when its transaction commits, and an idle worker looks at once.

It costs: commits that insert events take a lock which the whole server shares, so that they
happen one after the other; 8 producers at once lost about 45 % of their commits a second. Leave
it off where throughput counts for more than the first half second.

{_LOCK}"""
_OFF: Final = f"""\
Removes the trigger that `outbox-worker wake-up on` added. Workers go on by polling.

{_LOCK}"""


def turn_on(*, yes: bool) -> None:
    """Add the trigger, after asking unless *yes*."""
    _switch(switch_on, to=Trigger.ON, explanation=_ON, yes=yes)


def turn_off(*, yes: bool) -> None:
    """Remove the trigger, after asking unless *yes*."""
    _switch(switch_off, to=Trigger.OFF, explanation=_OFF, yes=yes)


def print_status(*, as_json: bool) -> None:
    """Print how the trigger stands."""
    state = wake_up_state(_dsn())
    if as_json:
        typer.echo(json.dumps({"trigger": state.trigger, "queue_usage": state.queue_usage}))
        return
    typer.echo(f"trigger      {state.trigger}")
    typer.echo(f"queue usage  {state.queue_usage:.1%}")


def _switch(change: Callable[[str], None], *, to: Trigger, explanation: str, yes: bool) -> None:
    dsn = _dsn()
    if wake_up_state(dsn).trigger is to:
        typer.echo(f"nothing to do: wake-up is {to}")
        return
    typer.echo(explanation)
    if not yes and not is_confirmed(f"Switch wake-up {to}?"):
        typer.echo("nothing was done", err=True)
        raise typer.Exit(1)
    change(dsn)
    typer.echo(f"wake-up is {to}")


def _dsn() -> str:
    settings = load_database_settings()
    configure_logs(format=settings.log_format, level=settings.log_level)
    return settings.database_url.get_secret_value()
