"""Which payloads are read, and how a bad one is refused: plainly, and without its content."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.payloads import FeeSplit, InvalidPayloadError, parse_fee_splits

AMOUNT_SATANG = 10_000
BIGINT_MAX = 2**63 - 1
MESSAGE_CHARS_MAX = 200


def a_split(**changes: Any) -> dict[str, Any]:
    return {"account": "revenue.THB", "amountSatang": 150, "kind": "PLATFORM_FEE", **changes}


def with_splits(*splits: object, **others: object) -> str:
    return json.dumps({"feeSplits": splits, **others})


def with_amount(amount_json: str) -> str:
    split = f'{{"account":"revenue.THB","amountSatang":{amount_json},"kind":"PLATFORM_FEE"}}'
    return f'{{"feeSplits":[{split}]}}'


def parse(payload_json: str | None, *, amount_satang: int = AMOUNT_SATANG) -> tuple[FeeSplit, ...]:
    return parse_fee_splits(payload_json, amount_satang=amount_satang)


def refusal_of(payload_json: str, *, amount_satang: int = AMOUNT_SATANG) -> str:
    with pytest.raises(InvalidPayloadError) as raised:
        parse(payload_json, amount_satang=amount_satang)
    message = str(raised.value)
    assert 0 < len(message) <= MESSAGE_CHARS_MAX
    assert message.isprintable()
    return message


# Read.


@pytest.mark.parametrize(
    "payload_json",
    [None, "null", " null\n", "{}", '{"feeSplits":null}', '{"feeSplits":[]}', '{"traceId":"t"}'],
)
def test_a_payload_without_splits_has_none(payload_json: str | None) -> None:
    assert parse(payload_json) == ()


def test_splits_are_read_in_their_order() -> None:
    payload_json = with_splits(
        a_split(), a_split(account="tax.THB", amountSatang="7", kind="VAT"), a_split()
    )

    platform = FeeSplit(account="revenue.THB", amount_satang=150, kind="PLATFORM_FEE")
    vat = FeeSplit(account="tax.THB", amount_satang=7, kind="VAT")
    assert parse(payload_json) == (platform, vat, platform)


def test_unknown_keys_are_left_alone() -> None:
    payload_json = with_splits(a_split(note=[1, {"a": None}]), traceId="t", other={"x": 1.5})

    assert len(parse(payload_json)) == 1


@pytest.mark.parametrize(
    ("amount_json", "amount_satang"),
    [
        ("0", 0),
        ("1", 1),
        ('"0"', 0),
        ('"150"', 150),
        ('"007"', 7),
        ("9007199254740993", 2**53 + 1),
        ('"9007199254740993"', 2**53 + 1),
        ("9223372036854775807", BIGINT_MAX),
        ('"9223372036854775807"', BIGINT_MAX),
    ],
)
def test_an_amount_is_read_exactly(amount_json: str, amount_satang: int) -> None:
    [split] = parse(with_amount(amount_json), amount_satang=BIGINT_MAX)

    assert split.amount_satang == amount_satang
    assert type(split.amount_satang) is int


@pytest.mark.parametrize("chars", [1, 100])
def test_an_account_of_a_sensible_length_is_read(chars: int) -> None:
    assert parse(with_splits(a_split(account="x" * chars)))[0].account == "x" * chars


@pytest.mark.parametrize("chars", [1, 50])
def test_a_kind_of_a_sensible_length_is_read(chars: int) -> None:
    assert parse(with_splits(a_split(kind="ค" * chars)))[0].kind == "ค" * chars


def test_splits_may_be_all_of_the_amount_and_not_one_satang_more() -> None:
    just = with_splits(a_split(amountSatang=9_850), a_split())
    more = with_splits(a_split(amountSatang=9_851), a_split())

    assert sum(split.amount_satang for split in parse(just)) == AMOUNT_SATANG
    assert "10000" in refusal_of(more)


# Refused.


@pytest.mark.parametrize(
    ("payload_json", "said"),
    [
        ("[]", "payload is an array"),
        ('"x"', "payload is a string"),
        ("0", "payload is an integer"),
        ("-1", "payload is a negative integer"),
        ("1.5", "payload is a number with a fraction"),
        ("true", "payload is a boolean"),
        ('{"feeSplits":"x"}', "feeSplits is a string of 1 characters"),
        ('{"feeSplits":{}}', "feeSplits is an object"),
        ('{"feeSplits":false}', "feeSplits is a boolean"),
        ('{"feeSplits":0}', "feeSplits is an integer"),
        ('{"feeSplits":""}', "feeSplits is a string of 0 characters"),
        ('{"feeSplits":[null]}', "feeSplits[0] is missing or null"),
        ('{"feeSplits":["x"]}', "feeSplits[0] is a string"),
        ('{"feeSplits":[[]]}', "feeSplits[0] is an array"),
        ('{"feeSplits":[{}]}', "feeSplits[0].account"),
        (with_splits(a_split(), a_split(kind=None)), "feeSplits[1].kind"),
    ],
)
def test_a_payload_of_the_wrong_shape_is_refused_by_name(payload_json: str, said: str) -> None:
    assert said in refusal_of(payload_json)


@pytest.mark.parametrize(
    "amount_json",
    [
        "null",
        "true",
        "false",
        "-1",
        "-0.0",
        "0.0",
        "1.0",
        "1.5",
        "1e2",
        "1E400",
        "NaN",
        "Infinity",
        "-Infinity",
        "9007199254740993.0",
        "[]",
        "[1]",
        "{}",
        '""',
        '" "',
        '"-1"',
        '"+1"',
        '" 1"',
        '"1 "',
        '"1\\n"',
        '"1_000"',
        '"1,000"',
        '"1.0"',
        '"1e2"',
        '"0x10"',
        '"x"',
        '"true"',
        '"\\u0661"',
        '"\\u00b2"',
        '"\\u0000"',
        '"1\\u0000"',
        '"12345678901234567890"',
    ],
)
def test_an_amount_that_is_not_plainly_an_integer_is_refused(amount_json: str) -> None:
    assert "feeSplits[0].amountSatang" in refusal_of(
        with_amount(amount_json), amount_satang=BIGINT_MAX
    )


def test_a_missing_amount_is_refused() -> None:
    split = a_split()
    del split["amountSatang"]

    assert "feeSplits[0].amountSatang" in refusal_of(with_splits(split))


@pytest.mark.parametrize("key", ["account", "kind"])
@pytest.mark.parametrize(
    "text", [None, 1, True, [], {}, "", "\x00", "a\x00b", "a\nb", "\x1b[2J", "\ud800", "x" * 101]
)
def test_a_text_that_no_column_or_screen_should_hold_is_refused(key: str, text: object) -> None:
    assert f"feeSplits[0].{key}" in refusal_of(with_splits(a_split(**{key: text})))


def test_the_limits_of_the_texts_are_those_of_the_columns() -> None:
    assert "1 to 100" in refusal_of(with_splits(a_split(account="x" * 101)))
    assert "1 to 50" in refusal_of(with_splits(a_split(kind="x" * 51)))


@pytest.mark.parametrize(
    "payload_json",
    [
        "",
        "{",
        "{'a':1}",
        '{"a":}',
        "nul",
        "\x00",
        '{"a":"\x00"}',
        "[" * 100_000 + "]" * 100_000,
        '{"feeSplits":' * 100_000 + "1" + "}" * 100_000,
        "9" * 10_000,
        '{"n":' + "9" * 10_000 + "}",
        with_amount("9" * 10_000),
        with_amount("-" + "9" * 10_000),
    ],
    ids=[
        "empty",
        "cut off",
        "single quotes",
        "no value",
        "cut word",
        "NUL alone",
        "raw NUL in a string",
        "deep arrays",
        "deep objects",
        "a long number",
        "a long number under another key",
        "a long amount",
        "a long negative amount",
    ],
)
def test_json_that_python_cannot_hold_is_refused(payload_json: str) -> None:
    assert "payload cannot be read" in refusal_of(payload_json)


def test_deep_nesting_under_a_key_that_is_not_ours_is_no_fault_as_long_as_it_can_be_read() -> None:
    nested = "[" * 100 + "]" * 100

    assert parse(f'{{"other":{nested},"feeSplits":[]}}') == ()


@pytest.mark.parametrize("digits", [400, pytest.param(4_300, id="4300, the most Python reads")])
def test_a_long_amount_is_refused_in_few_words(digits: int) -> None:
    refusal_of(with_amount("9" * digits), amount_satang=BIGINT_MAX)


def test_amounts_whose_sum_python_cannot_print_are_refused() -> None:
    long = f'{{"account":"a","amountSatang":{"9" * 4_300},"kind":"k"}}'

    refusal_of(f'{{"feeSplits":[{long},{long}]}}', amount_satang=BIGINT_MAX)


def test_a_refusal_shows_nothing_of_the_payload() -> None:
    secret = "4111111111111111"
    for payload_json in (
        json.dumps(secret),
        f'{{"feeSplits":"{secret}"}}',
        f'{{"card":"{secret}"',
        with_splits(a_split(account=secret + "\n")),
        with_splits(a_split(kind=secret * 9)),
        with_amount(f'"{secret}x"'),
        with_amount(f"{secret}.5"),
        with_amount(f"-{secret}"),
        with_amount(secret),
    ):
        assert secret not in refusal_of(payload_json)


# Anything.

any_text = st.text(st.characters(codec=None))
amounts_json = st.integers() | st.integers(min_value=0, max_value=200) | st.floats() | any_text
split_like = st.fixed_dictionaries(
    {},
    optional={
        "account": any_text | st.just("revenue.THB"),
        "amountSatang": amounts_json | st.from_regex(r"[0-9]{1,4}", fullmatch=True),
        "kind": any_text | st.just("FEE"),
    },
)
good_split = st.fixed_dictionaries(
    {
        "account": st.just("revenue.THB"),
        "amountSatang": st.integers(0, 200) | st.integers(0, 200).map(str),
        "kind": st.just("FEE"),
    }
)
json_values = st.recursive(
    st.none() | st.booleans() | amounts_json,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=5,
)
payload_like = st.fixed_dictionaries(
    {}, optional={"feeSplits": st.lists(good_split | split_like | json_values, max_size=3)}
)
texts = (json_values | payload_like).map(json.dumps) | any_text


@settings(max_examples=300)
@given(texts, st.integers(min_value=0, max_value=BIGINT_MAX) | st.integers(0, 300))
def test_whatever_comes_in_either_splits_or_one_kind_of_error_come_out(
    payload_json: str, amount_satang: int
) -> None:
    try:
        splits = parse(payload_json, amount_satang=amount_satang)
    except InvalidPayloadError:
        refusal_of(payload_json, amount_satang=amount_satang)
        return
    assert all(split.amount_satang >= 0 for split in splits)
    assert sum(split.amount_satang for split in splits) <= amount_satang
    assert all(0 < len(split.account) <= 100 and split.account.isprintable() for split in splits)
    assert all(0 < len(split.kind) <= 50 and split.kind.isprintable() for split in splits)


@given(st.lists(good_split, max_size=5))
def test_good_splits_come_out_as_they_went_in(splits: list[dict[str, Any]]) -> None:
    parsed = parse(with_splits(*splits), amount_satang=1_000)

    assert [(s.account, s.amount_satang, s.kind) for s in parsed] == [
        (split["account"], int(split["amountSatang"]), split["kind"]) for split in splits
    ]


@pytest.mark.parametrize("count", [100, 101, 100_000])
def test_splits_are_bounded_in_number(count: int) -> None:
    splits = ",".join(['{"account":"a","kind":"K","amountSatang":0}'] * count)
    payload_json = f'{{"feeSplits":[{splits}]}}'

    if count <= 100:
        assert len(parse_fee_splits(payload_json, amount_satang=0)) == count
    else:
        assert "more than 100" in refusal_of(payload_json)
