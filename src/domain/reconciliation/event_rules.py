"""Is there an event where one is wanted, none where none is, and is it in time?"""

from typing import Final

from domain.intents import Action
from domain.reconciliation.case import Case, share
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.limits import Limits
from domain.reconciliation.money import RELEASED, Outcome
from domain.reconciliation.record import EventRecord
from domain.reconciliation.wording import duration_text
from domain.transfers import NS_PER_S

_AS_ORDERED: Final = {
    Action.POST_PENDING: frozenset({Outcome.POSTED}),
    Action.VOID_PENDING: RELEASED,
}
"""What has become of money that was ordered so."""


def no_event(case: Case) -> Difference | None:
    """An authorized intent gets its event before long."""
    record, money = case.record, case.money
    if record.age_ms < case.limits.unordered_after_ms or case.pending_events:
        return None
    if not money.outcomes <= {Outcome.OPEN, Outcome.MISSING}:
        return None
    age = duration_text(record.age_ms)
    if not record.events:
        return case.found(DifferenceKind.NO_EVENT, f"{record.status} for {age} without an event")
    last = record.events[-1]
    return case.found(
        DifferenceKind.NO_EVENT,
        f"{record.status} for {age}; its last event, {last.id}, {last.action}, is {last.status}",
    )


def final_event_done(case: Case) -> Difference | None:
    """A final intent has no event left that there is nothing to do for."""
    record = case.record
    for action, outcomes in _AS_ORDERED.items():
        if record.status != action.final_status or not case.money.outcomes <= outcomes:
            continue
        for event in case.pending_events:
            if event.action == action and _is_overdue(event, case.limits):
                return case.found(
                    DifferenceKind.EVENT_DONE,
                    f"event {event.id}, {action}, has been pending for"
                    f" {duration_text(event.age_ms)}, and all of it is done",
                )
    return None


def _is_overdue(event: EventRecord, limits: Limits) -> bool:
    """Has it failed, or waited for longer than a backlog explains?"""
    longest_ms = limits.grace_ms if event.retry_count > 0 else limits.unordered_after_ms
    return event.age_ms >= longest_ms


def reviewed_event_done(case: Case) -> Difference | None:
    """An event that the worker gave up is not carried out meanwhile."""
    for action, outcomes in _AS_ORDERED.items():
        if not case.money.pendings or not case.money.outcomes <= outcomes:
            continue
        for event in reversed(case.record.events):
            if event.action == action and event.status == "failed":
                return case.found(
                    DifferenceKind.EVENT_DONE,
                    f"event {event.id}, {action}, has failed, and all of the money is"
                    " as it says: requeue it",
                )
    return None


def expires_soon(case: Case) -> Difference | None:
    """No money that somebody may still want is about to be released by time.

    An order that has just come, or that waits its turn, is in time as long as three quarters
    of the money's own time have not passed.
    """
    left_ms = case.expires_in_ms
    if left_ms is None or left_ms > case.limits.expiring_within_ms:
        return None
    if _is_in_time(case):
        return None
    open_satang = case.money.satang_of(Outcome.OPEN)
    return case.found(
        DifferenceKind.EXPIRES_SOON,
        f"{share(open_satang, case)} are frozen, the first of it for {duration_text(left_ms)}",
    )


def _is_in_time(case: Case) -> bool:
    waiting = case.pending_events
    if not waiting or any(event.retry_count > 0 for event in waiting):
        return False
    if waiting[0].age_ms < case.limits.grace_ms:
        return True
    return all(
        4 * (one.expires_at_ns - case.record.now_ns) > one.timeout_s * NS_PER_S
        for one in case.money.pendings
        if one.outcome is Outcome.OPEN and one.expires_at_ns is not None
    )
