"""Nothing is changed unless a person says yes."""

import io

import pytest

from entrypoints.asking import is_confirmed


def is_answered(monkeypatch: pytest.MonkeyPatch, stdin: object) -> bool:
    monkeypatch.setattr("sys.stdin", stdin)
    return is_confirmed("Order 2?")


@pytest.mark.parametrize("answer", ["y\n", "Y\n", "yes\n", " YES \n", "y"])
def test_a_yes_is_a_yes(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    assert is_answered(monkeypatch, io.StringIO(answer))


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yeah\n", "\ny\n"])
def test_anything_else_is_a_no(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    assert not is_answered(monkeypatch, io.StringIO(answer))


def test_without_anybody_to_ask_it_is_a_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not is_answered(monkeypatch, None)
    assert capsys.readouterr() == ("", "Order 2? [y/N] \n")


def test_an_interrupt_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.BytesIO):
        def read1(self, *_: object) -> bytes:
            raise KeyboardInterrupt

    assert not is_answered(monkeypatch, io.TextIOWrapper(Interrupted(b"y\n")))
