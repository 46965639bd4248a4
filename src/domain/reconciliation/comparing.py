"""Which intents have to be searched for, and in what each differs from its money.

The rules of a status are in the order in which a person wants to read what they find. At most
one of them speaks of what became of the money as a whole.
"""

from collections.abc import Callable, Mapping
from typing import Final

from domain.fees import due_fee_satang
from domain.intents import UNFINISHED, IntentStatus
from domain.reconciliation import event_rules, fee_rules, history_rules, money_rules
from domain.reconciliation.case import Case
from domain.reconciliation.differences import Difference
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
_OF_UNKNOWN: Final[tuple[Rule, ...]] = (money_rules.moved_unexpectedly,)
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
        money_rules.transfer_missing,
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


def differences(record: IntentRecord, money: Money, limits: Limits) -> tuple[Difference, ...]:
    """Return in what *record* differs from *money*; nothing where they agree."""
    case = Case(record, money, limits)
    found = [rule(case) for rule in _RULES.get(record.status, _OF_UNKNOWN)]
    return tuple([one for one in found if one is not None])


def needs_search(record: IntentRecord, known: Money, limits: Limits) -> bool:
    """Can *record* be judged only when it is known what others than the worker did?

    *known* is what the look-up of the worker's own ids tells.
    """
    if not record.tb_transfer_ids:
        return False
    outcomes = known.outcomes
    match record.status:
        case IntentStatus.SETTLED:
            return outcomes != {Outcome.POSTED} or (not known.fees and _has_fee(record))
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
