"""English."""

from typing import Final

from domain.texts.phrases import Phrases, Text

PHRASES: Final = Phrases(
    failed=Text(
        "Payment failed",
        "Your payment of {amount} did not go through. The money is available to you again.",
    ),
    completed=Text("Payment completed", "Your payment of {amount} is complete."),
    invoice_paid=Text("Invoice paid", "You paid an invoice of {amount}."),
    invoice_settled=Text("Payment received", "Your invoice of {amount} has been paid."),
    money_sent=Text("Transfer completed", "Your transfer of {amount} is complete."),
    money_received=Text("Money received", "A transfer of {amount} to you is complete."),
)
