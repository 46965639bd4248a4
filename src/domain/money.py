"""Amounts as people read them. Everything else keeps the integer."""

from typing import Final

_SYMBOLS: Final = {"THB": "฿"}


def format_amount(amount_satang: int, currency: str) -> str:
    """Return *amount_satang* (1/100 of the currency) for display: ``฿1,234.50``, ``1,234.50 USD``.

    Integers only: a float could show an amount that nobody paid.
    """
    sign = "-" if amount_satang < 0 else ""
    whole, hundredths = divmod(abs(amount_satang), 100)
    number = f"{whole:,}.{hundredths:02d}"
    symbol = _SYMBOLS.get(currency)
    return f"{sign}{number} {currency}" if symbol is None else f"{sign}{symbol}{number}"
