"""How far reconciling is, on a terminal and elsewhere."""

import io
from collections.abc import Iterator

import pytest

from application.use_cases.reconcile import Checked
from entrypoints.reconcile_progress import Progress, shown
from entrypoints.reconcile_text import TextReport


class Terminal(io.StringIO):
    """What is written to it is for a person."""

    def isatty(self) -> bool:
        return True


def test_before_the_first_page_it_says_what_takes_so_long() -> None:
    terminal, report = Terminal(), TextReport(io.StringIO())

    def steps() -> Iterator[Checked]:
        assert "reading through pm.intent" in terminal.getvalue()
        yield Checked(1_000, ())
        assert terminal.getvalue().endswith("\r1,000 intents checked \N{HORIZONTAL ELLIPSIS}")
        yield Checked(500, ())
        assert terminal.getvalue().endswith("\r1,500 intents checked \N{HORIZONTAL ELLIPSIS}")

    list(shown(steps(), report, Progress(terminal)))

    assert terminal.getvalue().endswith("\r\x1b[K"), "the line is free again"


def test_a_line_about_a_fault_finds_the_terminal_clear() -> None:
    terminal = Terminal()

    def steps() -> Iterator[Checked]:
        yield Checked(1_000, ())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(shown(steps(), TextReport(io.StringIO()), Progress(terminal)))

    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("steps", [[], [Checked(3, ())]])
def test_elsewhere_it_says_nothing(steps: list[Checked]) -> None:
    output = io.StringIO()

    assert list(shown(steps, TextReport(io.StringIO()), Progress(output))) == steps

    assert output.getvalue() == ""
