"""How amounts are shown."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.money import format_amount


@pytest.mark.parametrize(
    ("amount_satang", "currency", "shown"),
    [
        (123_450, "THB", "฿1,234.50"),
        (0, "THB", "฿0.00"),
        (5, "THB", "฿0.05"),
        (-5, "THB", "-฿0.05"),
        (-123_450, "THB", "-฿1,234.50"),
        (2**63 - 1, "THB", "฿92,233,720,368,547,758.07"),
        (123_450, "USD", "1,234.50 USD"),
        (-99, "USD", "-0.99 USD"),
    ],
)
def test_an_amount_is_shown_as_people_write_it(
    amount_satang: int, currency: str, shown: str
) -> None:
    assert format_amount(amount_satang, currency) == shown


@given(st.integers(min_value=-(10**24), max_value=10**24))
def test_the_number_shown_is_exactly_the_amount(amount_satang: int) -> None:
    exact = format(Decimal(amount_satang).scaleb(-2), ",.2f")

    assert format_amount(amount_satang, "USD") == f"{exact} USD"
    assert format_amount(amount_satang, "THB").replace("฿", "") == exact
