"""``outbox_event.payload``: the fee splits that the producer resolved.

Producers own the payload; unknown keys are theirs. What is read here is read strictly:
an amount that is not plainly an integer is refused, never rounded.
"""

import json
import re
from typing import Final

from domain.values import value

ACCOUNT_CHARS_MAX: Final = 100
KIND_CHARS_MAX: Final = 50
SPLITS_MAX: Final = 100
"""Each becomes a row; no payment is shared among more."""
_AMOUNT: Final = re.compile(r"[0-9]{1,19}", re.ASCII)


class InvalidPayloadError(ValueError):
    """The payload does not parse; the message says where and why, within bounds."""


@value
class FeeSplit:
    """A part of the intent's amount that goes to ``account``; already posted with it."""

    account: str
    amount_satang: int
    kind: str


def parse_fee_splits(payload_json: str | None, *, amount_satang: int) -> tuple[FeeSplit, ...]:
    """Return the fee splits in *payload_json*; none where it is SQL or JSON null.

    *amount_satang* is the intent's amount, of which the splits are parts.

    Raises:
        InvalidPayloadError: not an object, ``feeSplits`` not an array of
            ``{"account", "amountSatang", "kind"}``, an amount that is neither an integer
            nor a string of digits, or splits that add up to more than the amount.
    """
    payload = _parse(payload_json)
    if payload is None:
        return ()
    if not isinstance(payload, dict):
        raise InvalidPayloadError(f"payload is {_kind_of(payload)}, not an object")
    splits = payload.get("feeSplits")
    if splits is None:
        return ()
    if not isinstance(splits, list):
        raise InvalidPayloadError(f"feeSplits is {_kind_of(splits)}, not an array")
    if len(splits) > SPLITS_MAX:
        raise InvalidPayloadError(f"feeSplits has {len(splits)} entries, more than {SPLITS_MAX}")
    parsed = [_parse_split(split, f"feeSplits[{i}]") for i, split in enumerate(splits)]
    if sum([split.amount_satang for split in parsed]) > amount_satang:
        raise InvalidPayloadError(
            f"feeSplits add up to more than the intent's {amount_satang} satang"
        )
    return tuple(parsed)


def _parse(payload_json: str | None) -> object:
    if payload_json is None:
        return None
    try:
        return json.loads(payload_json)
    except (ValueError, RecursionError) as error:
        # Valid JSON in the database's eyes: a number of 5,000 digits, 100,000 brackets.
        raise InvalidPayloadError(f"payload cannot be read: {type(error).__name__}") from error


def _parse_split(split: object, where: str) -> FeeSplit:
    if not isinstance(split, dict):
        raise InvalidPayloadError(f"{where} is {_kind_of(split)}, not an object")
    return FeeSplit(
        account=_parse_text(split.get("account"), f"{where}.account", ACCOUNT_CHARS_MAX),
        amount_satang=_parse_amount(split.get("amountSatang"), f"{where}.amountSatang"),
        kind=_parse_text(split.get("kind"), f"{where}.kind", KIND_CHARS_MAX),
    )


def _parse_amount(value: object, where: str) -> int:
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InvalidPayloadError(
        f"{where} must be an integer of satang, 0 or more, or a string of digits; "
        f"it is {_kind_of(value)}"
    )


def _parse_text(value: object, where: str, chars_max: int) -> str:
    if isinstance(value, str) and 0 < len(value) <= chars_max and value.isprintable():
        return value
    raise InvalidPayloadError(
        f"{where} must be a string of 1 to {chars_max} printable characters; "
        f"it is {_kind_of(value)}"
    )


def _kind_of(value: object) -> str:
    """Name the JSON type of *value*; its content may be long, hostile or private."""
    match value:
        case None:
            return "missing or null"
        case bool():
            return "a boolean"
        case int() if value < 0:
            return "a negative integer"
        case int():
            return "an integer"
        case float():
            return "a number with a fraction or exponent"
        case str():
            return f"a string of {len(value)} characters"
        case list():
            return "an array"
        case _:
            return "an object"
