"""Does an intent's status agree with what became of its money?"""

from domain.intents import Action
from domain.reconciliation.case import UNFINISHED, Case, ids_text, share
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.money import RELEASED, Fate


def transfer_missing(case: Case) -> Difference | None:
    """Each transfer that the intent lists is in the ledger, and froze money."""
    record = case.record
    if record.status in UNFINISHED and record.age_ms < case.limits.grace_ms:
        return None  # the ledger is in no transaction with the database, and may be behind it
    missing = [one.pending_id for one in case.money.members if one.fate is Fate.MISSING]
    if missing:
        return case.found(
            DifferenceKind.TRANSFER_MISSING,
            f"not in the ledger, or no pending transfer: {ids_text(missing)}",
        )
    if None in record.tb_transfer_ids:
        return case.found(DifferenceKind.TRANSFER_MISSING, "tb_transfer_ids has a NULL")
    return None


def amount_differs(case: Case) -> Difference | None:
    """What was frozen is the intent's amount."""
    record, money = case.record, case.money
    if not money.members or None in record.tb_transfer_ids or Fate.MISSING in money.fates:
        return None
    if money.frozen_satang == record.amount_satang:
        return None
    return case.found(
        DifferenceKind.AMOUNT_DIFFERS,
        f"{money.frozen_satang} satang were frozen, the intent has {record.amount_satang}",
    )


def settled_money(case: Case) -> Difference | None:
    """All money of a settled intent is posted."""
    money, fates = case.money, case.money.fates
    if fates <= {Fate.POSTED, Fate.MISSING}:
        return None
    if fates & RELEASED:
        return case.found(
            DifferenceKind.SETTLED_BUT_RELEASED,
            f"{share(money.satang_of(*RELEASED), case)} are {_how_released(case)}",
        )
    if Fate.POSTED_IN_PART in fates:
        return _in_part(case)
    if _is_ordered_just_now(case, Action.POST_PENDING):
        return None
    return case.found(
        DifferenceKind.SETTLED_NOT_POSTED,
        f"{share(money.satang_of(Fate.OPEN), case)} are still frozen",
        mend=case.mend_by(Action.POST_PENDING),
    )


def failed_money(case: Case) -> Difference | None:
    """All money of a failed intent is free again."""
    money, fates = case.money, case.money.fates
    if money.posted_satang > 0 or Fate.POSTED in fates:
        return case.found(
            DifferenceKind.FAILED_BUT_POSTED, f"{share(money.posted_satang, case)} are posted"
        )
    if Fate.OPEN not in fates or _is_ordered_just_now(case, Action.VOID_PENDING):
        return None
    can_all_be_voided = fates <= {Fate.OPEN} | RELEASED
    return case.found(
        DifferenceKind.FAILED_NOT_RELEASED,
        f"{share(money.satang_of(Fate.OPEN), case)} are still frozen",
        mend=case.mend_by(Action.VOID_PENDING) if can_all_be_voided else None,
    )


def unfinished_money(case: Case) -> Difference | None:
    """No money of an intent moves before the intent does."""
    fates = case.money.fates
    if not fates or case.is_in_flight:
        return None
    if fates == {Fate.POSTED}:
        return _resolved(case, DifferenceKind.POSTED_NOT_SETTLED, Action.POST_PENDING)
    if fates <= RELEASED:
        return _resolved(case, DifferenceKind.RELEASED_NOT_FAILED, Action.VOID_PENDING)
    is_mixed = bool(fates & RELEASED) and Fate.OPEN in fates
    if is_mixed or fates & {Fate.POSTED, Fate.POSTED_IN_PART}:
        return _in_part(case)
    return None


def moved_unexpectedly(case: Case) -> Difference | None:
    """No money moves for an intent whose status does not allow it."""
    if case.money.posted_satang == 0 or case.is_in_flight:
        return None
    return case.found(
        DifferenceKind.POSTED_NOT_SETTLED,
        f"{share(case.money.posted_satang, case)} are posted",
    )


def searched_in_part(case: Case) -> Difference:
    """Put that the ledger could not be asked for all that matters."""
    unknown_satang = case.money.satang_of(Fate.UNKNOWN)
    told = [
        f"what became of {share(unknown_satang, case)}" if unknown_satang else "",
        "" if case.money.has_all_fees else "whether a fee was charged",
    ]
    what = ", and ".join(filter(None, told)) or "what became of all of its transfers"
    return case.found(
        DifferenceKind.NOT_COMPARED, f"the search in the ledger ended early: {what} is not known"
    )


def _resolved(case: Case, kind: DifferenceKind, action: Action) -> Difference:
    """Put that all is resolved; where it was also ordered, the worker itself will see it."""
    is_posted = action is Action.POST_PENDING
    how = "posted" if is_posted else _how_released(case)
    waiting = case.pending_events
    if waiting and waiting[0].action == action:
        return case.found(
            DifferenceKind.EVENT_DONE,
            f"event {waiting[0].id}, {action}: all of the money is {how} already",
        )
    mend = case.mend_by(action)
    if not is_posted and not case.record.events and Fate.VOIDED not in case.money.fates:
        # Nobody has decided anything: the provider may have paid, and only time ran out.
        mend = None
    return case.found(kind, f"all of the {case.money.frozen_satang} satang are {how}", mend=mend)


def _in_part(case: Case) -> Difference:
    money = case.money
    parts = [
        (money.posted_satang, "posted"),
        (money.satang_of(Fate.OPEN), "still frozen"),
        (money.satang_of(Fate.VOIDED, Fate.POSTED_IN_PART) - _partly_posted(case), "released"),
        (money.satang_of(Fate.EXPIRED), "expired"),
    ]
    told = ", ".join(f"{satang} {what}" for satang, what in parts if satang)
    return case.found(
        DifferenceKind.RESOLVED_IN_PART, f"of {money.frozen_satang} satang: {told or 'none posted'}"
    )


def _partly_posted(case: Case) -> int:
    return sum(one.posted_satang for one in case.money.members if one.fate is Fate.POSTED_IN_PART)


def _how_released(case: Case) -> str:
    released = case.money.fates & RELEASED
    if released == RELEASED:
        return "voided or expired"
    return "voided" if Fate.VOIDED in released else "expired"


def _is_ordered_just_now(case: Case, action: Action) -> bool:
    return any(
        event.action == action and event.age_ms < case.limits.grace_ms
        for event in case.pending_events
    )
