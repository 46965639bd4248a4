"""Is ``tx_history`` what the ledger moved?"""

from domain.conclusions import RecordedLine
from domain.intents import UNFINISHED
from domain.reconciliation.case import Case
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.fee_rules import is_charged_twice
from domain.settlement import are_numbered, parts_satang, psp_fee_satang


def settled_history(case: Case) -> Difference | None:
    """A settled intent has each line once, and they add up to what was posted and charged."""
    lines, money = case.record.lines, case.money
    if not money.pendings:
        return None
    if not lines:
        return case.found(DifferenceKind.HISTORY_DIFFERS, "no lines of history")
    if not are_numbered(lines):
        return case.found(
            DifferenceKind.HISTORY_DIFFERS, f"lines are missing or doubled: {_numbers(lines)}"
        )
    # Where the amounts themselves differ, or the money is not all posted, another rule says so.
    right = {case.record.amount_satang, money.posted_satang}
    if parts_satang(lines) not in right:
        return case.found(
            DifferenceKind.HISTORY_DIFFERS,
            f"history has {parts_satang(lines)} satang, the ledger posted {money.posted_satang}",
        )
    charged_satang = money.fees.net_satang
    if psp_fee_satang(lines) != charged_satang and not is_charged_twice(case):
        return case.found(
            DifferenceKind.HISTORY_DIFFERS,
            f"history has a fee of {psp_fee_satang(lines)} satang,"
            f" the ledger charged {charged_satang}",
        )
    return None


def history_without_settlement(case: Case) -> Difference | None:
    """An intent that is not settled has no history."""
    lines = case.record.lines
    if not lines or (case.record.status in UNFINISHED and case.is_in_flight):
        return None
    return case.found(
        DifferenceKind.HISTORY_DIFFERS, f"{len(lines)} lines of history without a settlement"
    )


def _numbers(lines: tuple[RecordedLine, ...]) -> str:
    shown = ", ".join(str(line.line_no) for line in lines[:5])
    return shown if len(lines) <= 5 else f"{shown} …"
