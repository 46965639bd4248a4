"""The console script ``outbox-worker``.

Drivers and libraries take a second to import. Each command imports what it needs when it runs,
so that nobody waits for those of another.
"""

import signal
import sys
import traceback
from typing import Annotated

import typer

from application.errors import OutageError, OutboxError
from entrypoints import listing_commands, ordering_commands, watch_command
from entrypoints.exit_codes import EX_CONFIG, EX_IOERR, EX_SOFTWARE, EX_UNAVAILABLE
from entrypoints.options import AsJson
from entrypoints.output import OutputLostError, checked_stdout, lossy_stderr
from entrypoints.prune_command import prune
from entrypoints.reconcile_command import reconcile
from entrypoints.wake_up_command import app as wake_up_app

app = typer.Typer(
    name="outbox-worker",
    help="Finish payments: post or void what is pending in TigerBeetle, as the outbox orders.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(wake_up_app, name="wake-up")


def main() -> None:
    """Run the command line; what a person can mend is one line on stderr, and no traceback.

    Exit codes are those of sysexits.h: 78 for the configuration, 69 for a part that is away, 74
    for an output that cannot be written, 70 for a fault of ours, which has a traceback. As of a
    program that the signal ends, it is 141 where the output's reader is gone. None of them is 1,
    which is an answer of some commands.
    """
    # For what does not pass through the logs: the line below, a traceback, the final flush.
    sys.stderr = lossy_stderr()
    sys.stdout = checked_stdout()
    try:
        app()
    except OutputLostError as error:
        if error.is_unread:
            sys.exit(128 + signal.SIGPIPE)
        _complain(error)
        sys.exit(EX_IOERR)
    except OutboxError as error:
        _complain(error)
        sys.exit(EX_UNAVAILABLE if isinstance(error, OutageError) else EX_CONFIG)
    except Exception:
        traceback.print_exc()
        sys.exit(EX_SOFTWARE)


def _complain(error: Exception) -> None:
    typer.echo(f"outbox-worker: {' '.join(str(error).split())}", err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("pm-outbox"))
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def run(
    exclusive: Annotated[
        bool,
        typer.Option(
            "--exclusive",
            help="Settle only while no other exclusive worker does; else stand by to take over.",
        ),
    ] = False,
) -> None:
    """Settle intents until SIGTERM or SIGINT; a second signal ends it at once.

    Settings come from the environment: DATABASE_URL, REDIS_URL, TIGERBEETLE_ADDRESSES,
    TIGERBEETLE_CLUSTER_ID, and those of docs/running.md.
    """
    # Until the worker has its own handlers nothing is in flight.
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: sys.exit(0))
    from entrypoints.process import run_process

    run_process(exclusive=exclusive)


@app.command()
def migrate() -> None:
    """Make or complete the schema in DATABASE_URL; a database that PM made is recognised.

    The role needs the right to create tables in schema pm; docs/running.md says more.
    """
    from adapters.postgres.migrations import apply_migrations
    from entrypoints.logs import configure_logs
    from entrypoints.settings import load_database_settings

    settings = load_database_settings()
    configure_logs(format=settings.log_format, level=settings.log_level)
    report = apply_migrations(settings.database_url.get_secret_value())
    for name in report.recognised:
        typer.echo(f"recognised  {name}: the payment manager made these tables")
    for name in report.applied:
        typer.echo(f"applied     {name}")
    if not (report.recognised or report.applied):
        typer.echo("nothing to do: the schema is up to date")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Examine everything the worker depends on; exit 1 when anything stops its work."""
    from entrypoints.doctor import run_doctor

    raise typer.Exit(run_doctor(as_json=as_json))


app.command()(reconcile)
app.command()(prune)


@app.command()
def demo(
    intents: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How many intents to order.")
    ] = 1_000,
    seed: Annotated[
        int, typer.Option(help="The same seed makes the same amounts, operations and faults.")
    ] = 1,
    faults: Annotated[
        bool, typer.Option("--faults", help="Poison, outages and a killed worker in the middle.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the servers up until Ctrl-C.")
    ] = False,
) -> None:
    """Show the main job on servers of its own; exit 1 when an invariant is broken."""
    from rich.console import Console

    from entrypoints.demo.run import Options, run_demo

    # As after Ctrl-C, every server is ended in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = Options(intents=intents, seed=seed, with_faults=faults, keep=keep)
    raise typer.Exit(0 if run_demo(Console(), options) else 1)


listing_commands.register(app)
ordering_commands.register(app)
watch_command.register(app)
