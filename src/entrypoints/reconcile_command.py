"""The options of ``outbox-worker reconcile``, and what they mean."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

import typer

from domain.intents import IntentId
from domain.reconciliation.limits import Limits
from entrypoints.durations import Moment, parse_moment
from entrypoints.options import AsJson, Yes, duration_of, refuse_to_ask


def reconcile(  # noqa: PLR0913, PLR0917
    intents: Annotated[
        list[UUID] | None,
        typer.Argument(metavar="INTENT", help="These, whatever their age; else a period."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Intents that changed from then on: how long ago (90m, 24h, 7d), or ISO 8601"
            " with an offset. Older ones that are not final come along. Without it, 24h.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Intents that changed before then. Without it, 0s."),
    ] = None,
    expiring_within: Annotated[
        str, typer.Option(metavar="LENGTH", help="Report frozen money that expires within this.")
    ] = "1h",
    unordered_after: Annotated[
        str,
        typer.Option(metavar="LENGTH", help="Report intents without a pending event for so long."),
    ] = "15m",
    grace: Annotated[
        str, typer.Option(metavar="LENGTH", help="What is younger may still be in flight.")
    ] = "60s",
    as_json: AsJson = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Insert events for what the worker itself can put right; it asks first."
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Compare Postgres with the ledger, intent by intent; exit 1 when anything differs.

    Nothing is changed without --fix, and no money is moved here at all. Needs no Redis.
    docs/reconcile.md says what each difference means, and what to do about it.
    """
    if intents and (since is not None or until is not None):
        raise typer.BadParameter("name either intents or a period: a period is for all intents")
    if fix:
        refuse_to_ask(yes=yes, as_json=as_json)
    # See entrypoints.cli.
    from entrypoints.logs import configure_logs
    from entrypoints.reconcile import BadPeriodError, Request, run_reconcile
    from entrypoints.settings import load_ledger_settings

    request = Request(
        intent_ids=tuple(map(IntentId, intents or ())),
        since=_moment(since or "24h", "--since"),
        until=_moment(until or "0s", "--until"),
        limits=Limits(
            grace_ms=_milliseconds(grace, "--grace"),
            expiring_within_ms=_milliseconds(expiring_within, "--expiring-within"),
            unordered_after_ms=_milliseconds(unordered_after, "--unordered-after"),
        ),
        as_json=as_json,
        fix=fix,
        assume_yes=yes,
    )
    settings = load_ledger_settings()
    configure_logs(format=settings.log_format, level="error")
    try:
        raise typer.Exit(run_reconcile(settings, request))
    except BadPeriodError as error:
        raise typer.BadParameter(str(error)) from None


def _moment(text: str, option: str) -> Moment:
    try:
        return parse_moment(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _milliseconds(text: str, option: str) -> int:
    return duration_of(text, option) // timedelta(milliseconds=1)
