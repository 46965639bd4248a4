"""What a language must have a text for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Title and body of a push message."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Every text of a language. ``{amount}`` is the only thing that a body can hold."""

    failed: Text
    completed: Text
    invoice_paid: Text
    invoice_settled: Text
    money_sent: Text
    money_received: Text
