"""What ``requeue`` and ``fail`` say of their orders: lines for people, a document for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import typer

from domain.conclusions import Review
from domain.intents import EventId
from domain.named_events import NothingToDo, Refused
from domain.requeueing import Requeue
from entrypoints.documents import Document

Decision = Requeue | Review | NothingToDo | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """An order that was not carried out, or of which that is not known.

    ``outcome`` is its word in the document, ``exit_code`` what the command ends with.
    """

    outcome: str
    detail: str
    exit_code: int


Outcomes = Mapping[EventId, Decision | Undone]


def exit_code_of(outcomes: Outcomes) -> int:
    """Return what a command with these outcomes ends with."""
    undone = [one.exit_code for one in outcomes.values() if isinstance(one, Undone)]
    if undone:
        return max(undone)
    return int(any(isinstance(one, Refused) for one in outcomes.values()))


def say(outcomes: Outcomes, notes: Mapping[EventId, str], *, will: bool) -> None:
    """Tell a person what becomes, or became, of each event."""
    for event_id, outcome in outcomes.items():
        note = f"; {notes[event_id]}" if event_id in notes else ""
        is_error = isinstance(outcome, Refused | Undone)
        typer.echo(f"event {event_id}: {_words(outcome, will=will)}{note}", err=is_error)


def results_document(outcomes: Outcomes, notes: Mapping[EventId, str]) -> Document:
    """Return *outcomes* for programs."""
    return {
        "results": [
            {
                "event_id": event_id,
                "outcome": _outcome_of(outcome),
                "detail": _words(outcome, will=False),
                "note": notes.get(event_id),
            }
            for event_id, outcome in outcomes.items()
        ]
    }


def events_in_words(event_ids: Sequence[EventId]) -> str:
    """Return ``event 7`` or ``events 7, 9``."""
    return f"event{'s' if len(event_ids) > 1 else ''} {', '.join(map(str, event_ids))}"


def _outcome_of(outcome: Decision | Undone) -> str:
    match outcome:
        case Requeue():
            return "requeued"
        case Review():
            return "failed"
        case NothingToDo():
            return "nothing_to_do"
        case Refused():
            return "refused"
        case Undone():
            return outcome.outcome


def _words(outcome: Decision | Undone, *, will: bool) -> str:
    is_now, becomes = ("will be", "will become") if will else ("is", "is now")
    match outcome:
        case Requeue():
            event = f"{is_now} pending, with no failure counted and no backoff"
            if outcome.intent_status is None:
                return event
            return f"{event}; intent {outcome.intent_id} {becomes} {outcome.intent_status}"
        case Review(audit=None):
            return f"{becomes} failed; there is no intent {outcome.intent_id}"
        case Review():
            return (
                f"{becomes} failed; intent {outcome.intent_id} {becomes} MANUAL_REVIEW;"
                " nobody is told, no money moves"
            )
        case NothingToDo():
            return f"nothing to do: {outcome.detail}"
        case Refused():
            return f"refused: {outcome.detail}"
        case Undone():
            return outcome.detail
