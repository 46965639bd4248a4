"""Text of unknown origin becomes fit for a column and a screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.sanitising import ERROR_CHARS_MAX, sanitise


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""),
        ("plain", "plain"),
        ("  two  words \n", "two  words"),
        ("a\nb\tc", "a b c"),
        ("a\x00b", "a b"),
        ("\x1b[31mred", "[31mred"),
        ("a\ud800b", "a b"),
        ("ชำระเงิน", "ชำระเงิน"),
        ("x" * 501, "x" * 500),
    ],
)
def test_text_is_cleaned(text: str, clean: str) -> None:
    assert sanitise(text) == clean


@given(st.text(st.characters(codec=None), max_size=2_000))
def test_whatever_comes_in_is_one_printable_line_within_bounds(text: str) -> None:
    clean = sanitise(text)

    assert clean.isprintable()
    assert len(clean) <= ERROR_CHARS_MAX == 500
    clean.encode("utf-8")
    assert sanitise(clean) == clean


@given(st.text(max_size=400).filter(str.isprintable))
def test_printable_text_is_kept(text: str) -> None:
    assert sanitise(text) == text.strip()
