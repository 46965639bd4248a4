"""The commands that change something: ``requeue`` and ``fail``.

Each says first what it will do, and asks. What is done is decided anew under locks, so what
is reported in the end is what was done.
"""

import os
import pwd
from collections.abc import Callable, Mapping
from typing import Annotated
from uuid import UUID

import typer

from application.errors import (
    DatabaseUnavailableError,
    HeldByOthersError,
    OutageError,
    OutboxError,
)
from domain.conclusions import Review
from domain.intents import EventId, IntentId
from domain.named_events import Operator, older_failed, other_pending
from domain.requeueing import Requeue
from entrypoints import rendering
from entrypoints.asking import is_confirmed
from entrypoints.exit_codes import EX_CONFIG, EX_UNAVAILABLE
from entrypoints.listing_commands import EVENT_ID_MAX
from entrypoints.operator_builders import failing, requeueing
from entrypoints.options import AsJson, Yes, refuse_to_ask
from entrypoints.ordering_report import (
    Decision,
    Undone,
    events_in_words,
    exit_code_of,
    results_document,
    say,
)

CarryOut = Callable[[EventId, Operator], Decision]

Reason = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Why, for the intent's audit trail.")
]
OperatorName = Annotated[
    str | None,
    typer.Option(
        "--operator",
        metavar="NAME",
        envvar="OUTBOX_OPERATOR",
        help="Who, for the audit trail; else the user that runs this.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to *app*."""
    for command in (requeue, fail):
        app.command()(command)


def requeue(
    events: Annotated[
        list[int] | None, typer.Argument(min=1, max=EVENT_ID_MAX, help="Ids of events.")
    ] = None,
    intent: Annotated[
        UUID | None, typer.Option(help="Every event of this intent that is not processed.")
    ] = None,
    reason: Reason = None,
    operator: OperatorName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Order failed events again, or have waiting ones tried at once.

    An intent's events are ordered oldest first, and it becomes what it was before
    MANUAL_REVIEW. Exit 1 when an event was refused, 69 when a worker was at its intent.
    """
    if bool(events) is (intent is not None):
        raise typer.BadParameter("name events, or an intent by --intent")
    refuse_to_ask(yes=yes, as_json=as_json)
    by = Operator(name=operator or operator_name(), reason=reason)
    with requeueing() as use_case:
        event_ids = [EventId(event) for event in events or ()]
        if intent is not None:
            event_ids = [one.id for one in use_case.store.unfinished(IntentId(intent))]
        if not event_ids and not as_json:
            typer.echo(
                f"outbox-worker: intent {intent} has no event that could be requeued", err=True
            )
        plans = use_case.plan(event_ids, by)
        notes: dict[EventId, str] = {}
        for event_id, planned in plans.items():
            if isinstance(planned, Requeue):
                unfinished = use_case.store.unfinished(planned.intent_id)
                if left := older_failed(unfinished, event_id, plans):
                    notes[event_id] = (
                        f"of its intent, older {events_in_words(left)} will not be tried"
                    )
        code = _order(plans, notes, use_case, by, yes=yes, as_json=as_json)
    raise typer.Exit(code if event_ids else 1)


def fail(
    event: Annotated[int, typer.Argument(min=1, max=EVENT_ID_MAX, help="The event's id.")],
    reason: Reason = None,
    operator: OperatorName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give a pending event up and put its intent under MANUAL_REVIEW; its other events wait.

    Refused where the ledger says that money of the intent has moved. Exit 1 when refused, 69
    when the ledger is away or a worker was at the intent.
    """
    refuse_to_ask(yes=yes, as_json=as_json)
    by = Operator(name=operator or operator_name(), reason=reason)
    event_id = EventId(event)
    with failing() as use_case:
        # Also with --yes: a ledger that is away is found out before anything is locked.
        planned = use_case.plan(event_id, by)
        notes: dict[EventId, str] = {}
        if isinstance(planned, Review) and planned.audit is not None:
            unfinished = use_case.store.unfinished(planned.intent_id)
            if others := other_pending(unfinished, event_id):
                notes[event_id] = f"of its intent, {events_in_words(others)} will wait, too"
        code = _order({event_id: planned}, notes, use_case, by, yes=yes, as_json=as_json)
    raise typer.Exit(code)


def operator_name() -> str:
    """Return the name of the OS user that runs this process."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # As in a container, whose users need not have names.
        return f"uid {os.getuid()}"


def _order(
    plans: Mapping[EventId, Decision],
    notes: Mapping[EventId, str],
    carry_out: CarryOut,
    by: Operator,
    *,
    yes: bool,
    as_json: bool,
) -> int:
    """Say what is planned, ask, carry it out, report; return the exit code."""
    if not as_json:
        say(plans, notes, will=True)
    feasible = [id_ for id_, planned in plans.items() if isinstance(planned, Requeue | Review)]
    if feasible and not yes and not is_confirmed("Go on?"):
        typer.echo("nothing was done", err=True)
        return 1
    outcomes: dict[EventId, Decision | Undone] = dict(plans)
    fault: Undone | None = None
    for event_id in feasible:
        if fault is not None:
            outcomes[event_id] = Undone(
                outcome="not_tried",
                detail="not tried, after the fault before",
                exit_code=fault.exit_code,
            )
        else:
            outcomes[event_id], fault = _carried_out(carry_out, event_id, by)
        if not as_json:
            say({event_id: outcomes[event_id]}, {}, will=False)
    if as_json:
        rendering.print_json(results_document(outcomes, notes))
    return exit_code_of(outcomes)


def _carried_out(
    carry_out: CarryOut, event_id: EventId, by: Operator
) -> tuple[Decision | Undone, Undone | None]:
    """Return what became of an order, and that again if the next ones need not be tried."""
    try:
        return carry_out(event_id, by), None
    except HeldByOthersError as error:
        return Undone(outcome="held", detail=f"not done: {error}", exit_code=EX_UNAVAILABLE), None
    except DatabaseUnavailableError as error:
        fault = Undone(
            outcome="unknown",
            detail=f"whether it was done is not known: {error}",
            exit_code=EX_UNAVAILABLE,
        )
    except OutboxError as error:
        code = EX_UNAVAILABLE if isinstance(error, OutageError) else EX_CONFIG
        fault = Undone(outcome="not_done", detail=f"not done: {error}", exit_code=code)
    return fault, fault
