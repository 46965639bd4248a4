"""What push messages say, in every language that has a file in ``languages``.

Nothing that a user wrote ever gets into a text: it holds the amount and nothing else.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Final

from domain.audience import USER_TO_USER, OperationType, Role
from domain.intents import IntentStatus
from domain.texts import languages
from domain.texts.phrases import Phrases, Text


def phrases_in(package: ModuleType) -> Mapping[str, Phrases]:
    """Return the phrases of each language that has a module in *package*, by its code.

    Raises:
        TypeError: a module has no ``PHRASES``.
    """
    found: dict[str, Phrases] = {}
    for module in pkgutil.iter_modules(package.__path__):
        phrases = getattr(import_module(f"{package.__name__}.{module.name}"), "PHRASES", None)
        if not isinstance(phrases, Phrases):
            raise TypeError(f"{package.__name__}.{module.name} has no PHRASES")
        found[module.name] = phrases
    return found


# Read when the program starts: a faulty file must not wait for the first payment in its language.
PHRASES: Final = phrases_in(languages)
DEFAULT_LANGUAGE: Final = "en"


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
    return PHRASES.get(language, PHRASES[DEFAULT_LANGUAGE])


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
