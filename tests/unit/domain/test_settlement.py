"""The lines of the history: the parts add up to what moved."""

from hypothesis import given
from hypothesis import strategies as st

from domain.conclusions import HistoryLine, LineKind
from domain.payloads import FeeSplit
from domain.settlement import settlement_lines


@st.composite
def amounts_with_splits(draw: st.DrawFn) -> tuple[int, tuple[FeeSplit, ...]]:
    amount_satang = left = draw(st.integers(min_value=0, max_value=2**63 - 1))
    splits = []
    for number in range(draw(st.integers(min_value=0, max_value=5))):
        part = draw(st.integers(min_value=0, max_value=left))
        splits.append(FeeSplit(account=f"a{number}", amount_satang=part, kind=f"k{number}"))
        left -= part
    return amount_satang, tuple(splits)


psp_fees = st.none() | st.integers(min_value=1, max_value=2**63 - 1)


def test_without_fees_the_principal_is_the_amount() -> None:
    lines = settlement_lines(
        amount_satang=10_000, splits=(), psp_fee_satang=None, psp_fee_account="nostro.ipps.THB"
    )

    assert lines == (
        HistoryLine(line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=10_000),
    )


def test_the_psp_fee_is_the_last_line_and_comes_on_top() -> None:
    lines = settlement_lines(
        amount_satang=10_000,
        splits=(
            FeeSplit(account="revenue.THB", amount_satang=150, kind="PLATFORM_FEE"),
            FeeSplit(account="tax.THB", amount_satang=7, kind="VAT"),
        ),
        psp_fee_satang=25,
        psp_fee_account="nostro.ipps.THB",
    )

    assert lines == (
        HistoryLine(line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=9_843),
        HistoryLine(
            line_no=1,
            kind=LineKind.FEE,
            account="revenue.THB",
            amount_satang=150,
            fee_kind="PLATFORM_FEE",
        ),
        HistoryLine(
            line_no=2, kind=LineKind.FEE, account="tax.THB", amount_satang=7, fee_kind="VAT"
        ),
        HistoryLine(line_no=3, kind=LineKind.PSP_FEE, account="nostro.ipps.THB", amount_satang=25),
    )


@given(amounts_with_splits(), psp_fees)
def test_principal_and_fees_add_up_to_the_amount(
    amount_and_splits: tuple[int, tuple[FeeSplit, ...]], psp_fee_satang: int | None
) -> None:
    amount_satang, splits = amount_and_splits
    lines = settlement_lines(
        amount_satang=amount_satang,
        splits=splits,
        psp_fee_satang=psp_fee_satang,
        psp_fee_account="nostro.ipps.THB",
    )

    parts = [line for line in lines if line.kind in (LineKind.PRINCIPAL, LineKind.FEE)]
    assert sum(line.amount_satang for line in parts) == amount_satang
    assert all(line.amount_satang >= 0 for line in lines)
    assert [line.line_no for line in lines] == list(range(len(lines)))
    psp_lines = [line.amount_satang for line in lines if line.kind is LineKind.PSP_FEE]
    assert psp_lines == ([] if psp_fee_satang is None else [psp_fee_satang])


def test_the_kinds_are_the_words_of_the_table() -> None:
    assert [kind.value for kind in LineKind] == ["PRINCIPAL", "FEE", "PSP_FEE"]
