"""Nothing is changed unless a person says yes."""

import io

import pytest

from entrypoints.asking import is_confirmed


@pytest.mark.parametrize("answer", ["y\n", "Y\n", "yes\n", " YES \n", "y"])
def test_a_yes_is_a_yes(answer: str) -> None:
    assert is_confirmed("Order 2?", answers=io.StringIO(answer), output=io.StringIO())


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yeah\n", "\ny\n"])
def test_anything_else_is_a_no(answer: str) -> None:
    assert not is_confirmed("Order 2?", answers=io.StringIO(answer), output=io.StringIO())


def test_without_anybody_to_ask_it_is_a_no() -> None:
    output = io.StringIO()

    assert not is_confirmed("Order 2?", answers=None, output=output)
    assert output.getvalue() == "Order 2? [y/N] \n"


def test_an_interrupt_is_a_no() -> None:
    class Interrupted(io.BytesIO):
        def read1(self, *_: object) -> bytes:
            raise KeyboardInterrupt

    answers = io.TextIOWrapper(Interrupted(b"y\n"))

    assert not is_confirmed("Order 2?", answers=answers, output=io.StringIO())
