"""What push messages say, in every language we have.

A new language is one more entry of ``_PHRASES``. ``{amount}`` is the only thing a text can
hold: nothing that a user wrote ever gets into one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from domain.audience import USER_TO_USER, OperationType, Role
from domain.intents import IntentStatus


@dataclass(frozen=True, slots=True)
class Text:
    """Title and body of a push message."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Every text that a language must have."""

    failed: Text
    completed: Text
    invoice_paid: Text
    invoice_settled: Text
    money_sent: Text
    money_received: Text


_ENGLISH: Final = Phrases(
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

_THAI: Final = Phrases(
    failed=Text(
        "ชำระเงินไม่สำเร็จ",
        "รายการชำระเงิน {amount} ไม่สำเร็จ ระบบคืนเงินจำนวนนี้ให้คุณแล้ว",
    ),
    completed=Text("ชำระเงินสำเร็จ", "รายการชำระเงิน {amount} ของคุณสำเร็จแล้ว"),
    invoice_paid=Text("ชำระใบแจ้งหนี้สำเร็จ", "คุณชำระใบแจ้งหนี้ {amount} เรียบร้อยแล้ว"),
    invoice_settled=Text("ได้รับชำระเงินแล้ว", "ใบแจ้งหนี้ {amount} ของคุณได้รับการชำระแล้ว"),
    money_sent=Text("โอนเงินสำเร็จ", "คุณโอนเงิน {amount} เรียบร้อยแล้ว"),
    money_received=Text("ได้รับเงินโอน", "มีเงินโอนเข้าบัญชีของคุณ {amount}"),
)

_PHRASES: Final[Mapping[str, Phrases]] = {"en": _ENGLISH, "th": _THAI}


def push_text(
    status: IntentStatus,
    operation_type: str | None,
    role: Role,
    *,
    amount: str,
    locale: str | None,
) -> Text:
    """Return what to tell a person of *role*; *amount* is ready for display.

    *locale* is a language tag (``th``, ``th-TH``, ``th_TH``) of which the language counts;
    without one, or in a language that we do not have, the text is English.
    """
    template = _template(_phrases_for(locale), status, operation_type, role)
    return Text(template.title, template.body.format(amount=amount))


def _phrases_for(locale: str | None) -> Phrases:
    language = (locale or "").replace("_", "-").partition("-")[0].strip().lower()
    return _PHRASES.get(language, _ENGLISH)


def _template(
    phrases: Phrases, status: IntentStatus, operation_type: str | None, role: Role
) -> Text:
    if status is IntentStatus.FAILED:
        return phrases.failed
    match role:
        case Role.MERCHANT:
            return phrases.invoice_settled
        case Role.RECIPIENT:
            return phrases.money_received
        case Role.INITIATOR if operation_type == OperationType.INVOICE_PAYMENT:
            return phrases.invoice_paid
        case Role.INITIATOR if operation_type in USER_TO_USER:
            return phrases.money_sent
        case Role.INITIATOR:
            return phrases.completed
