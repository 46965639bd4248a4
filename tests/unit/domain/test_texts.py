"""What push messages say."""

import dataclasses

import pytest

from domain import texts
from domain.audience import OperationType, Role
from domain.intents import IntentStatus
from domain.texts import Phrases, Text, push_text

PHRASE_NAMES = [field.name for field in dataclasses.fields(Phrases)]


def english(status: IntentStatus, operation_type: str | None, role: Role) -> str:
    return push_text(status, operation_type, role, amount="฿1.00", locale=None).title


@pytest.mark.parametrize(
    ("operation_type", "role", "title"),
    [
        (OperationType.INVOICE_PAYMENT, Role.INITIATOR, "Invoice paid"),
        (OperationType.INVOICE_PAYMENT, Role.MERCHANT, "Payment received"),
        (OperationType.INTERNAL_P2P, Role.INITIATOR, "Transfer completed"),
        (OperationType.SERVICE_TRANSFER, Role.INITIATOR, "Transfer completed"),
        (OperationType.ADMIN, Role.INITIATOR, "Transfer completed"),
        (OperationType.INTERNAL_P2P, Role.RECIPIENT, "Money received"),
        ("QR_PAYMENT", Role.INITIATOR, "Payment completed"),
        (None, Role.INITIATOR, "Payment completed"),
    ],
)
def test_a_settled_intent_tells_each_role_its_side_of_it(
    operation_type: str | None, role: Role, title: str
) -> None:
    assert english(IntentStatus.SETTLED, operation_type, role) == title


@pytest.mark.parametrize("operation_type", [*OperationType, "QR_PAYMENT", None])
def test_a_failed_intent_is_told_as_failed_whatever_it_was(operation_type: str | None) -> None:
    assert english(IntentStatus.FAILED, operation_type, Role.INITIATOR) == "Payment failed"


@pytest.mark.parametrize("locale", ["th", "TH", "th-TH", "th_TH", "th-Thai-TH"])
def test_the_language_of_a_locale_decides_the_language_of_the_text(locale: str) -> None:
    text = push_text(IntentStatus.SETTLED, None, Role.INITIATOR, amount="฿1.00", locale=locale)

    assert text.title == "ชำระเงินสำเร็จ"


@pytest.mark.parametrize("locale", [None, "", "-", "xx", "english", "thx", "\ud800"])
def test_a_language_that_we_do_not_have_falls_back_to_english(locale: str | None) -> None:
    text = push_text(IntentStatus.SETTLED, None, Role.INITIATOR, amount="฿1.00", locale=locale)

    assert text == Text("Payment completed", "Your payment of ฿1.00 is complete.")


@pytest.mark.parametrize("language", texts._PHRASES)
@pytest.mark.parametrize("name", PHRASE_NAMES)
def test_every_body_states_the_amount_and_no_title_does(language: str, name: str) -> None:
    template: Text = getattr(texts._PHRASES[language], name)

    assert template.body.count("{amount}") == 1
    assert "{" not in template.title
    assert "{" not in template.body.format(amount="")


def test_braces_in_an_amount_are_only_text() -> None:
    text = push_text(IntentStatus.SETTLED, None, Role.INITIATOR, amount="1.00 {x}", locale=None)

    assert text.body == "Your payment of 1.00 {x} is complete."
