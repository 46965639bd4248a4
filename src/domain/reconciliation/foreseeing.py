"""What there will be once the worker has carried an event out that --fix would insert."""

from dataclasses import replace

from domain.charged_fees import Fees
from domain.conclusions import HistoryLine
from domain.fees import due_fee_satang
from domain.intents import UNFINISHED, Action
from domain.reconciliation.case import Case
from domain.reconciliation.money import Money, Outcome, PendingTransfer
from domain.settlement import settlement_lines
from domain.transfers import Transfer, TransferId


def foreseen(case: Case, action: Action) -> Case:
    """Return *case* as it will be after *action*, of which nothing is in the way.

    What is still frozen is resolved. An intent that was not final is settled with its fee and
    its history, beside the lines that it has; one that was final keeps both as they are.
    """
    record, money = case.record, case.money
    lines, fees = record.lines, money.fees
    if action is Action.POST_PENDING and record.status in UNFINISHED:
        fees = fees if fees.charged else Fees(charged=_fee_charged(case))
        lines += _lines_written(case, fees.charged)
    return replace(
        case,
        record=replace(record, status=action.final_status, lines=lines),
        money=Money(tuple([_resolved(one, action) for one in money.pendings]), fees),
    )


def _resolved(pending: PendingTransfer, action: Action) -> PendingTransfer:
    if pending.outcome is not Outcome.OPEN:
        return pending
    if action is Action.VOID_PENDING:
        return replace(pending, outcome=Outcome.VOIDED)
    return replace(pending, outcome=Outcome.POSTED, posted_satang=pending.frozen_satang)


def _fee_charged(case: Case) -> tuple[Transfer, ...]:
    """Return the fee that the worker charges; none where somebody else has posted (DESIGN §7)."""
    due_satang = due_fee_satang(case.record.psp)
    if due_satang == 0 or any(one.is_of_another for one in case.money.pendings):
        return ()
    return (Transfer(id=TransferId(0), amount=due_satang),)


def _lines_written(case: Case, fees: tuple[Transfer, ...]) -> tuple[HistoryLine, ...]:
    """Return what settling adds; how the amount is split does not matter, only its sum."""
    return settlement_lines(
        amount_satang=case.record.amount_satang,
        splits=(),
        psp_fee_satang=fees[0].amount if fees else None,
        psp_fee_account=None,
    )
