"""What a language must have a text for."""

from domain.values import value


@value(kw_only=False)
class Text:
    """Title and body of a push message."""

    title: str
    body: str


@value
class Phrases:
    """Every text of a language. ``{amount}`` is the only thing that a body can hold."""

    failed: Text
    completed: Text
    invoice_paid: Text
    invoice_settled: Text
    money_sent: Text
    money_received: Text
