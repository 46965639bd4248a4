"""Is an intent's PSP fee charged once, as due, and only where its money is posted (DESIGN §7)?

Of the intents of a page; ``duplicate_fees`` looks at all fees of a period.
"""

from domain.fees import due_fee_satang
from domain.intents import UNFINISHED
from domain.reconciliation.case import Case
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.money import Outcome
from domain.reconciliation.wording import id_text, ids_text


def fee_twice(case: Case) -> Difference | None:
    """No intent pays two fees."""
    fees = case.money.fees
    if len(fees) < 2:
        return None
    amounts = ", ".join(str(fee.amount) for fee in fees[:3])
    return case.found(
        DifferenceKind.FEE_TWICE,
        f"{len(fees)} fees, of {amounts} satang: {ids_text([fee.id for fee in fees])}",
    )


def fee_without_post(case: Case) -> Difference | None:
    """There is no fee while money of the intent is not posted."""
    money = case.money
    if len(money.fees) != 1 or money.outcomes <= {Outcome.POSTED}:
        return None
    if case.record.status in UNFINISHED and case.is_in_flight:
        return None
    [fee] = money.fees
    return case.found(
        DifferenceKind.FEE_WITHOUT_POST,
        f"{fee.amount} satang charged by {id_text(fee.id)}, and not all of the money is posted",
    )


def settled_fee(case: Case) -> Difference | None:
    """A settled intent has paid the fee that is due."""
    fees, due_satang = case.money.fees, due_fee_satang(case.record.psp)
    if not fees:
        return _fee_missing(case, due_satang)
    if len(fees) > 1 or not case.money.outcomes <= {Outcome.POSTED} or fees[0].amount == due_satang:
        return None
    return case.found(
        DifferenceKind.FEE_AMOUNT_DIFFERS,
        f"{fees[0].amount} satang charged, {due_satang} are due",
    )


def _fee_missing(case: Case, due_satang: int) -> Difference | None:
    """A fee is due for money that is posted, or that will be; for no other."""
    outcomes = case.money.outcomes
    if due_satang == 0 or not outcomes or not outcomes <= {Outcome.POSTED, Outcome.OPEN}:
        return None
    detail = f"{due_satang} satang are due, none were charged"
    if Outcome.OPEN in outcomes:
        detail += "; charge them only after all of the money is posted"
    return case.found(DifferenceKind.FEE_MISSING, detail)
