"""``outbox-worker wake-up``: the trigger that tells workers of new orders, on and off."""

import typer

from entrypoints.options import AsJson, Yes

app = typer.Typer(
    help="Let the database wake idle workers when an order comes; without it they look by"
    " themselves, every OUTBOX_TICK_MS at the latest.",
    no_args_is_help=True,
)


@app.command()
def on(yes: Yes = False) -> None:
    """Add the trigger; nothing happens where it is there."""
    # See entrypoints.cli.
    from entrypoints.wake_up_switch import turn_on

    turn_on(yes=yes)


@app.command()
def off(yes: Yes = False) -> None:
    """Remove the trigger; nothing happens where it is not there."""
    from entrypoints.wake_up_switch import turn_off

    turn_off(yes=yes)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say whether the trigger is there, and how full the server's queue of notifications is."""
    from entrypoints.wake_up_switch import print_status

    print_status(as_json=as_json)
