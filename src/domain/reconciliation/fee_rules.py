"""Is an intent's PSP fee charged once, as due, and only where its money is posted (DESIGN §7)?

Of the intents of a page; ``duplicate_fees`` looks at all fees of a period.
"""

from domain.fees import due_fee_satang
from domain.intents import UNFINISHED
from domain.reconciliation.case import Case
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.money import Outcome
from domain.reconciliation.wording import ids_text


def is_charged_twice(case: Case) -> bool:
    """Was a fee charged more than once, and more than is due not paid back?"""
    fees = case.money.fees
    return len(fees.charged) > 1 and fees.net_satang > due_fee_satang(case.record.psp)


def fee_twice(case: Case) -> Difference | None:
    """No intent pays two fees."""
    if not is_charged_twice(case):
        return None
    fees = case.money.fees
    amounts = ", ".join(str(fee.amount) for fee in fees.charged[:3])
    return case.found(
        DifferenceKind.FEE_TWICE,
        f"{len(fees.charged)} fees, of {amounts} satang:"
        f" {ids_text([fee.id for fee in fees.charged])}{_but_paid_back(case)}",
    )


def fee_without_post(case: Case) -> Difference | None:
    """There is no fee while money of the intent is not posted."""
    money, fees = case.money, case.money.fees
    if fees.net_satang <= 0 or money.outcomes <= {Outcome.POSTED} or is_charged_twice(case):
        return None
    if case.record.status in UNFINISHED and case.is_in_flight:
        return None
    ids = ids_text([fee.id for fee in fees.charged])
    return case.found(
        DifferenceKind.FEE_WITHOUT_POST,
        f"{_charged(case)}, and not all of the money is posted: {ids}",
    )


def settled_fee(case: Case) -> Difference | None:
    """A settled intent has paid the fee that is due, in whatever pieces."""
    net_satang, due_satang = case.money.fees.net_satang, due_fee_satang(case.record.psp)
    if net_satang == due_satang:
        return None
    if net_satang == 0:
        return _fee_missing(case, due_satang)
    if is_charged_twice(case) or not case.money.outcomes <= {Outcome.POSTED}:
        return None
    return case.found(DifferenceKind.FEE_AMOUNT_DIFFERS, f"{_charged(case)}, {due_satang} are due")


def _fee_missing(case: Case, due_satang: int) -> Difference | None:
    """A fee is due for money that is posted, or that will be; for no other."""
    outcomes = case.money.outcomes
    if not outcomes or not outcomes <= {Outcome.POSTED, Outcome.OPEN}:
        return None
    charged = _charged(case) if case.money.fees.charged else "none were charged"
    detail = f"{due_satang} satang are due, {charged}"
    if Outcome.OPEN in outcomes:
        detail += "; charge them only after all of the money is posted"
    return case.found(DifferenceKind.FEE_MISSING, detail)


def _charged(case: Case) -> str:
    charged_satang = sum(fee.amount for fee in case.money.fees.charged)
    return f"{charged_satang} satang charged{_but_paid_back(case)}"


def _but_paid_back(case: Case) -> str:
    back_satang = case.money.fees.paid_back_satang
    return f", {back_satang} were paid back" if back_satang else ""
