"""The lines of ``pm.tx_history`` for a settled intent (DESIGN §3).

``PRINCIPAL`` and ``FEE`` lines are parts of the intent's amount and add up to it; the
``PSP_FEE`` comes on top, paid by revenue.
"""

from collections.abc import Iterable, Sequence

from domain.conclusions import HistoryLine, LineKind, RecordedLine
from domain.payloads import FeeSplit


def settlement_lines(
    *,
    amount_satang: int,
    splits: tuple[FeeSplit, ...],
    psp_fee_satang: int | None,
    psp_fee_account: str | None,
) -> tuple[HistoryLine, ...]:
    """Return the history of a post: what was left of the amount, each split, the PSP fee.

    *splits* add up to *amount_satang* at most. *psp_fee_satang* is what the ledger holds;
    None: no fee was charged.
    """
    principal = HistoryLine(
        line_no=0,
        kind=LineKind.PRINCIPAL,
        account=None,
        amount_satang=amount_satang - sum([split.amount_satang for split in splits]),
    )
    fees = [
        HistoryLine(
            line_no=line_no,
            kind=LineKind.FEE,
            account=split.account,
            amount_satang=split.amount_satang,
            fee_kind=split.kind,
        )
        for line_no, split in enumerate(splits, start=1)
    ]
    if psp_fee_satang is None:
        return (principal, *fees)
    psp_fee = HistoryLine(
        line_no=len(fees) + 1,
        kind=LineKind.PSP_FEE,
        account=psp_fee_account,
        amount_satang=psp_fee_satang,
    )
    return (principal, *fees, psp_fee)


def are_numbered(lines: Sequence[RecordedLine]) -> bool:
    """Is each line there once, from 0 on, in whatever order?"""
    return sorted([line.line_no for line in lines]) == list(range(len(lines)))


def parts_satang(lines: Iterable[RecordedLine]) -> int:
    """Return what *lines* say was posted: the principal and the fees that are parts of it."""
    return _sum_of(lines, LineKind.PRINCIPAL, LineKind.FEE)


def psp_fee_satang(lines: Iterable[RecordedLine]) -> int:
    """Return what *lines* say the PSP got."""
    return _sum_of(lines, LineKind.PSP_FEE)


def _sum_of(lines: Iterable[RecordedLine], *kinds: LineKind) -> int:
    return sum([line.amount_satang for line in lines if line.kind in kinds])
