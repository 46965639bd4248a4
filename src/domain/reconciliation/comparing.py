"""Which intents have to be searched for, and in what each differs from its money.

The rules of a status are in the order in which a person wants to read what they find. At most
one of them speaks of what became of the money as a whole.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from domain.fees import due_fee_satang
from domain.intents import UNFINISHED, Action, IntentStatus
from domain.reconciliation import event_rules, fee_rules, history_rules, money_rules
from domain.reconciliation.case import Case
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.foreseeing import foreseen
from domain.reconciliation.limits import Limits
from domain.reconciliation.money import RESOLVED, Money, Outcome
from domain.reconciliation.record import IntentRecord
from domain.settlement import psp_fee_satang

Rule = Callable[[Case], Difference | None]
"""Says in what an intent differs, None if in nothing; its docstring says what must hold."""

_OF_UNFINISHED: Final[tuple[Rule, ...]] = (
    money_rules.unfinished_money,
    money_rules.transfer_missing,
    money_rules.amount_differs,
    event_rules.no_event,
    event_rules.expires_soon,
    fee_rules.fee_twice,
    fee_rules.fee_without_post,
    history_rules.history_without_settlement,
)
_OF_UNKNOWN: Final[tuple[Rule, ...]] = (money_rules.moved_unexpectedly, fee_rules.fee_twice)
_RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    IntentStatus.CREATED: (*_OF_UNKNOWN, history_rules.history_without_settlement),
    IntentStatus.AUTHORIZED: _OF_UNFINISHED,
    IntentStatus.SETTLING: _OF_UNFINISHED,
    IntentStatus.SETTLED: (
        money_rules.settled_money,
        money_rules.transfer_missing,
        money_rules.amount_differs,
        fee_rules.fee_twice,
        fee_rules.fee_without_post,
        fee_rules.settled_fee,
        history_rules.settled_history,
        event_rules.final_event_done,
    ),
    IntentStatus.FAILED: (
        money_rules.failed_money,
        fee_rules.fee_twice,
        fee_rules.fee_without_post,
        history_rules.history_without_settlement,
        event_rules.final_event_done,
    ),
    IntentStatus.MANUAL_REVIEW: (
        event_rules.reviewed_event_done,
        event_rules.expires_soon,
        fee_rules.fee_twice,
        fee_rules.fee_without_post,
    ),
}

_CERTAIN: Final = frozenset(
    {
        DifferenceKind.SETTLED_BUT_RELEASED,
        DifferenceKind.FAILED_BUT_POSTED,
        DifferenceKind.POSTED_NOT_SETTLED,
        DifferenceKind.RELEASED_NOT_FAILED,
        DifferenceKind.TRANSFER_MISSING,
        DifferenceKind.AMOUNT_DIFFERS,
        DifferenceKind.FEE_TWICE,
        DifferenceKind.EVENT_DONE,
    }
)
"""What is so by what was found, whatever else a search that ended early would have found."""


def differences(record: IntentRecord, money: Money, limits: Limits) -> tuple[Difference, ...]:
    """Return in what *record* differs from *money*; nothing where they agree."""
    case = Case(record, money, limits)
    found = _found(case)
    if money.is_known:
        return tuple([_fixed_by_an_event_alone(one, case, found) for one in found])
    certain = [replace(one, fix=None) for one in found if one.kind in _CERTAIN]
    return (money_rules.searched_in_part(case), *certain)


def _found(case: Case) -> list[Difference]:
    found = [rule(case) for rule in _RULES.get(case.record.status, _OF_UNKNOWN)]
    return [one for one in found if one is not None]


def _fixed_by_an_event_alone(one: Difference, case: Case, found: list[Difference]) -> Difference:
    """Take the fix from *one* where the event would leave anything to tell of the intent.

    But for a fee that is missing already: it is to be charged once the money is posted, and
    frozen money does not wait for that.
    """
    if one.fix is None:
        return one
    if case.money.frozen_satang != case.record.amount_satang:
        # Whose money is it, then? Nothing is moved, and no history written, on a guess.
        return one.unfixable(
            f"{case.money.frozen_satang} satang were frozen,"
            f" the intent has {case.record.amount_satang}"
        )
    if _may_take_another_for_the_fee(case, one.fix):
        return one.unfixable("several transfers look like its fee")
    left = [
        each
        for each in _found(foreseen(case, one.fix))
        if each.kind is not DifferenceKind.FEE_MISSING or each.kind not in _kinds(found)
    ]
    if not left:
        return one
    return one.unfixable(f"the event would leave {left[0].kind}: {left[0].detail}")


def _may_take_another_for_the_fee(case: Case, fix: Action) -> bool:
    """Does the worker settle this with a fee, and can it not be said which it will find?"""
    fees = case.money.fees
    are_several = len(fees.charged) > 1 or bool(fees.paid_back or fees.elsewhere)
    return are_several and fix is Action.POST_PENDING and case.record.status in UNFINISHED


def _kinds(found: list[Difference]) -> set[DifferenceKind]:
    return {one.kind for one in found}


def needs_search(record: IntentRecord, known: Money, limits: Limits) -> bool:
    """Can *record* be judged only when it is known what others than the worker did?

    *known* is what the look-up of the worker's own ids tells.
    """
    if not record.tb_transfer_ids:
        return False
    outcomes = known.outcomes
    match record.status:
        case IntentStatus.SETTLED:
            # Once a person has put a fee right, the worker's own is a part of it only.
            right = {due_fee_satang(record.psp), psp_fee_satang(record.lines)}
            return outcomes != {Outcome.POSTED} or right != {known.fees.net_satang}
        case IntentStatus.FAILED:
            # The original worker charges the fee beside a chain that fails.
            return outcomes != {Outcome.VOIDED} or _has_fee(record)
        case IntentStatus.MANUAL_REVIEW:
            return True
        case status if status in UNFINISHED:
            return _is_in_doubt(record, outcomes, limits)
        case _:
            return False


def _is_in_doubt(record: IntentRecord, outcomes: frozenset[Outcome], limits: Limits) -> bool:
    """Has anything happened to an unfinished intent that a healthy backlog does not show?"""
    waiting = [event for event in record.events if event.status == "pending"]
    if not waiting and record.age_ms >= min(limits.grace_ms, limits.unordered_after_ms):
        return True
    if any(event.retry_count > 0 for event in waiting):
        return True
    return Outcome.EXPIRED in outcomes or (bool(outcomes & RESOLVED) and not outcomes <= RESOLVED)


def _has_fee(record: IntentRecord) -> bool:
    return due_fee_satang(record.psp) > 0 or psp_fee_satang(record.lines) != 0
