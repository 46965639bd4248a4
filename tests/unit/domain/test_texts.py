"""What push messages say."""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from domain.audience import OperationType, Role
from domain.intents import IntentStatus
from domain.texts import PHRASES, languages, phrases_in, push_text
from domain.texts.phrases import Phrases, Text

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


@pytest.mark.parametrize("language", PHRASES)
@pytest.mark.parametrize("name", PHRASE_NAMES)
def test_every_body_states_the_amount_and_no_title_does(language: str, name: str) -> None:
    template: Text = getattr(PHRASES[language], name)

    assert template.body.count("{amount}") == 1
    assert "{" not in template.title
    assert "{" not in template.body.format(amount="")


def test_braces_in_an_amount_are_only_text() -> None:
    text = push_text(IntentStatus.SETTLED, None, Role.INITIATOR, amount="1.00 {x}", locale=None)

    assert text.body == "Your payment of 1.00 {x} is complete."


class TestLanguages:
    """One file is one language."""

    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
        """The languages that there are, with room for one more."""
        monkeypatch.setattr(languages, "__path__", [*languages.__path__, str(tmp_path)])
        yield languages
        sys.modules.pop(f"{languages.__name__}.xx", None)

    def test_english_and_thai_are_there(self) -> None:
        assert PHRASES.keys() == {"en", "th"}

    def test_a_file_more_is_a_language_more(self, package: ModuleType, tmp_path: Path) -> None:
        (tmp_path / "xx.py").write_text("from domain.texts.languages.th import PHRASES\n")

        assert phrases_in(package) == {**PHRASES, "xx": PHRASES["th"]}

    @pytest.mark.parametrize("content", ["", "PHRASES = {}\n"])
    def test_a_file_without_phrases_is_told_by_its_name(
        self, package: ModuleType, tmp_path: Path, content: str
    ) -> None:
        (tmp_path / "xx.py").write_text(content)

        with pytest.raises(TypeError, match=r"domain\.texts\.languages\.xx has no PHRASES"):
            phrases_in(package)
