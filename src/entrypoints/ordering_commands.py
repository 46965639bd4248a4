"""The commands that change something: ``requeue`` and ``fail``.

Each says first what it will do, and asks. What is done is decided anew under locks, so what
is reported in the end is what was done.
"""

import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import typer

from application.errors import HeldByOthersError
from domain.conclusions import Review
from domain.intents import EventId, IntentId
from domain.named_events import NothingToDo, Operator, Refused
from domain.requeueing import Requeue
from entrypoints import rendering
from entrypoints.asking import is_confirmed
from entrypoints.exit_codes import EX_UNAVAILABLE
from entrypoints.listing_commands import EVENT_ID_MAX
from entrypoints.operator_builders import failing, requeueing
from entrypoints.options import AsJson, Yes

Decision = Requeue | Review | NothingToDo | Refused
Decide = Callable[[EventId, Operator], Decision]

Reason = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Why, for the intent's audit trail.")
]


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing was decided: somebody else is at the intent."""

    detail: str


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
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Order failed events again, or have waiting ones tried at once.

    The intent becomes what it was before MANUAL_REVIEW. Exit 1 when an event was refused, 69
    when a worker was at its intent.
    """
    if bool(events) is (intent is not None):
        raise typer.BadParameter("name events, or an intent by --intent")
    with requeueing() as use_case:
        event_ids = [EventId(event) for event in dict.fromkeys(events or ())]
        if intent is not None:
            event_ids = list(use_case.store.unfinished(IntentId(intent)))
            if not event_ids:
                typer.echo(
                    f"outbox-worker: intent {intent} has no event that could be requeued", err=True
                )
                raise typer.Exit(1)
        code = _order(event_ids, use_case.plan, use_case, reason=reason, yes=yes, as_json=as_json)
    raise typer.Exit(code)


def fail(
    event: Annotated[int, typer.Argument(min=1, max=EVENT_ID_MAX, help="The event's id.")],
    reason: Reason = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give a pending event up and put its intent under MANUAL_REVIEW.

    Refused where the ledger says that money of the intent has moved. Exit 1 when refused, 69
    when the ledger is away or a worker was at the intent.
    """
    with failing() as use_case:
        code = _order(
            [EventId(event)], use_case.plan, use_case, reason=reason, yes=yes, as_json=as_json
        )
    raise typer.Exit(code)


def operator_name() -> str:
    """Return the name of the OS user that runs this process."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # As in a container, whose users need not have names.
        return f"uid {os.getuid()}"


def _order(
    event_ids: Sequence[EventId],
    plan: Decide,
    carry_out: Decide,
    *,
    reason: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Plan, ask, carry out, report; return the exit code."""
    if as_json and not yes:
        raise typer.BadParameter("nobody can be asked with --json: give --yes, too")
    by = Operator(name=operator_name(), reason=reason)
    # Also with --yes: a ledger that is away is found out before anything is locked.
    outcomes: dict[EventId, Decision | Held] = {id_: plan(id_, by) for id_ in event_ids}
    if not as_json:
        _say(outcomes, will=True)
    feasible = [id_ for id_, planned in outcomes.items() if isinstance(planned, Requeue | Review)]
    if feasible and not yes and not is_confirmed("Go on?"):
        typer.echo("nothing was done", err=True)
        return 1
    for event_id in feasible:
        outcomes[event_id] = _carried_out(carry_out, event_id, by)
        if not as_json:
            _say({event_id: outcomes[event_id]}, will=False)
    if as_json:
        rendering.print_json(
            {"results": [_document(event_id, outcome) for event_id, outcome in outcomes.items()]}
        )
    return _exit_code(list(outcomes.values()))


def _carried_out(carry_out: Decide, event_id: EventId, by: Operator) -> Decision | Held:
    try:
        return carry_out(event_id, by)
    except HeldByOthersError as error:
        return Held(str(error))


def _exit_code(decisions: Sequence[Decision | Held]) -> int:
    if any(isinstance(decision, Held) for decision in decisions):
        return EX_UNAVAILABLE
    return int(any(isinstance(decision, Refused) for decision in decisions))


def _say(outcomes: Mapping[EventId, Decision | Held], *, will: bool) -> None:
    for event_id, outcome in outcomes.items():
        is_error = isinstance(outcome, Refused | Held)
        typer.echo(f"event {event_id}: {_words(outcome, will=will)}", err=is_error)


def _words(decision: Decision | Held, *, will: bool) -> str:
    is_now, becomes = ("will be", "will become") if will else ("is", "is now")
    match decision:
        case Requeue():
            event = f"{is_now} pending, with no failure counted and no backoff"
            if decision.intent_status is None:
                return event
            return f"{event}; intent {decision.intent_id} {becomes} {decision.intent_status}"
        case Review(audit=None):
            return f"{becomes} failed; there is no intent {decision.intent_id}"
        case Review():
            return (
                f"{becomes} failed; intent {decision.intent_id} {becomes} MANUAL_REVIEW;"
                " nobody is told, no money moves"
            )
        case NothingToDo():
            return f"nothing to do: {decision.detail}"
        case Refused():
            return f"refused: {decision.detail}"
        case Held():
            return f"not done: {decision.detail}"


def _document(event_id: EventId, decision: Decision | Held) -> rendering.Document:
    outcomes = {
        Requeue: "requeued",
        Review: "failed",
        NothingToDo: "nothing_to_do",
        Refused: "refused",
        Held: "held",
    }
    return {
        "event_id": event_id,
        "outcome": outcomes[type(decision)],
        "detail": _words(decision, will=False),
    }
