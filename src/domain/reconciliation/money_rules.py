"""Does an intent's status agree with what became of its money?"""

from typing import Final

from domain.intents import UNFINISHED, Action, IntentStatus
from domain.reconciliation.case import Case, ids_of, share
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.money import RELEASED, Outcome
from domain.reconciliation.wording import duration_text, ids_text

_NOT_POSTED: Final = frozenset(Outcome) - {Outcome.POSTED}


def transfer_missing(case: Case) -> Difference | None:
    """Each transfer that the intent lists is in the ledger, and froze money.

    But for a failed intent: it may have failed because nothing could be frozen.
    """
    record = case.record
    if record.status in UNFINISHED and record.age_ms < case.limits.grace_ms:
        return None  # the ledger is in no transaction with the database, and may be behind it
    if Outcome.MISSING in case.money.outcomes:
        return case.found(
            DifferenceKind.TRANSFER_MISSING,
            f"not in the ledger, or no pending transfer: {ids_of(case, Outcome.MISSING)}",
        )
    if None in record.tb_transfer_ids:
        return case.found(DifferenceKind.TRANSFER_MISSING, "tb_transfer_ids has a NULL")
    return None


def amount_differs(case: Case) -> Difference | None:
    """What was frozen is the intent's amount."""
    record, money = case.record, case.money
    if None in record.tb_transfer_ids or Outcome.MISSING in money.outcomes:
        return None
    if not money.pendings and record.status != IntentStatus.SETTLED:
        return None  # nothing is frozen yet, or nothing had to be released
    if money.frozen_satang == record.amount_satang:
        return None
    return case.found(
        DifferenceKind.AMOUNT_DIFFERS,
        f"{money.frozen_satang} satang were frozen, the intent has {record.amount_satang}",
    )


def settled_money(case: Case) -> Difference | None:
    """All money of a settled intent is posted."""
    money, outcomes = case.money, case.money.outcomes
    if outcomes <= {Outcome.POSTED, Outcome.MISSING}:
        return None
    if outcomes & RELEASED:
        return case.found(
            DifferenceKind.SETTLED_BUT_RELEASED,
            f"{share(money.satang_of(*RELEASED), case)} are {_how_released(case)}:"
            f" {ids_of(case, *RELEASED)}",
        )
    if Outcome.POSTED_IN_PART in outcomes:
        return _in_part(case)
    if _is_ordered_just_now(case, Action.POST_PENDING):
        return None
    return case.fixable(
        DifferenceKind.SETTLED_NOT_POSTED,
        _still_frozen(case),
        Action.POST_PENDING,
    )


def failed_money(case: Case) -> Difference | None:
    """All money of a failed intent is free again."""
    money, outcomes = case.money, case.money.outcomes
    if money.posted_satang > 0 or Outcome.POSTED in outcomes:
        return case.found(DifferenceKind.FAILED_BUT_POSTED, _posted(case))
    if Outcome.OPEN not in outcomes or _is_ordered_just_now(case, Action.VOID_PENDING):
        return None
    is_part_posted = Outcome.POSTED_IN_PART in outcomes
    return case.fixable(
        DifferenceKind.FAILED_NOT_RELEASED,
        _still_frozen(case),
        Action.VOID_PENDING,
        unless="the rest was released by a post of nothing" if is_part_posted else "",
    )


def unfinished_money(case: Case) -> Difference | None:
    """No money of an intent moves before the intent does."""
    outcomes = case.money.outcomes
    if not outcomes or case.is_in_flight:
        return None
    if outcomes == {Outcome.POSTED}:
        return _resolved(case, DifferenceKind.POSTED_NOT_SETTLED, Action.POST_PENDING)
    if outcomes <= RELEASED:
        return _resolved(case, DifferenceKind.RELEASED_NOT_FAILED, Action.VOID_PENDING)
    is_mixed = bool(outcomes & RELEASED) and Outcome.OPEN in outcomes
    if is_mixed or outcomes & {Outcome.POSTED, Outcome.POSTED_IN_PART}:
        return _in_part(case)
    return None


def moved_unexpectedly(case: Case) -> Difference | None:
    """No money moves for an intent whose status does not allow it."""
    if case.money.posted_satang == 0 or case.is_in_flight:
        return None
    return case.found(
        DifferenceKind.POSTED_NOT_SETTLED,
        _posted(case),
    ).unfixable("the worker settles no intent of this status")


def _still_frozen(case: Case) -> str:
    left_ms = case.expires_in_ms
    until = "" if left_ms is None else f", the first of it for {duration_text(left_ms)}"
    ids = ids_of(case, Outcome.OPEN)
    return f"{share(case.money.satang_of(Outcome.OPEN), case)} are still frozen{until}: {ids}"


def _posted(case: Case) -> str:
    ids = [one.pending_id for one in case.money.pendings if one.posted_satang > 0]
    return f"{share(case.money.posted_satang, case)} are posted: {ids_text(ids)}"


def searched_in_part(case: Case) -> Difference:
    """Put that the ledger could not be asked for all that matters."""
    unknown_satang = case.money.satang_of(Outcome.UNKNOWN)
    told = [
        f"what became of {share(unknown_satang, case)}" if unknown_satang else "",
        "" if case.money.has_all_fees else "whether a fee was charged",
    ]
    what = ", and ".join(filter(None, told)) or "what became of all of its transfers"
    return case.found(
        DifferenceKind.NOT_COMPARED, f"the search in the ledger ended early: {what} is not known"
    )


def _resolved(case: Case, kind: DifferenceKind, action: Action) -> Difference:
    """Put that all is resolved; where an event says so too, the worker itself will see it."""
    is_posted = action is Action.POST_PENDING
    how = "posted" if is_posted else _how_released(case)
    waiting = case.pending_events
    if waiting and waiting[0].action == action:
        return case.found(
            DifferenceKind.EVENT_DONE,
            f"event {waiting[0].id}, {action}: all of the money is {how} already",
        )
    has_only_expired = Outcome.VOIDED not in case.money.outcomes
    is_undecided = not is_posted and not case.record.events and has_only_expired
    return case.fixable(
        kind,
        f"all of the {case.money.frozen_satang} satang are {how}",
        action,
        unless="nobody has asked for it, and the PSP may have paid" if is_undecided else "",
    )


def _in_part(case: Case) -> Difference:
    money = case.money
    parts = [
        (money.posted_satang, "posted"),
        (money.satang_of(Outcome.OPEN), "still frozen"),
        (
            money.satang_of(Outcome.VOIDED, Outcome.POSTED_IN_PART) - _partly_posted(case),
            "released",
        ),
        (money.satang_of(Outcome.EXPIRED), "expired"),
    ]
    told = ", ".join(f"{satang} {what}" for satang, what in parts if satang)
    return case.found(
        DifferenceKind.RESOLVED_IN_PART,
        f"of {money.frozen_satang} satang: {told or 'none posted'};"
        f" not posted in full: {ids_of(case, *_NOT_POSTED)}",
    )


def _partly_posted(case: Case) -> int:
    return sum(
        one.posted_satang for one in case.money.pendings if one.outcome is Outcome.POSTED_IN_PART
    )


def _how_released(case: Case) -> str:
    released = case.money.outcomes & RELEASED
    if released == RELEASED:
        return "voided or expired"
    return "voided" if Outcome.VOIDED in released else "expired"


def _is_ordered_just_now(case: Case, action: Action) -> bool:
    return any(
        event.action == action and event.age_ms < case.limits.grace_ms
        for event in case.pending_events
    )
