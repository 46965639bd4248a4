"""How a diagnosis is shown: a line a finding, its remedy below, and JSON for programs."""

import io
import json
from collections.abc import Sequence

import pytest
from rich.console import Console

from domain.findings import Examined, Finding
from entrypoints.doctor import exit_code, print_table, to_json

EXAMINED = Examined("Postgres")
GREEN = EXAMINED.ok("version", "Postgres 18")
YELLOW = EXAMINED.warning("connections", "2 of 100 free", "end idle sessions")
RED = EXAMINED.red("schema", "missing: pm.intent", "run `outbox-worker migrate`")


def shown(findings: Sequence[Finding], *, width: int = 200, terminal: bool = False) -> str:
    output = io.StringIO()
    console = Console(file=output, width=width, force_terminal=terminal, color_system=None)
    print_table(findings, console)
    return output.getvalue()


@pytest.mark.parametrize(
    ("findings", "code"), [([], 0), ([GREEN], 0), ([GREEN, YELLOW], 0), ([RED, GREEN], 1)]
)
def test_only_red_is_a_failure(findings: Sequence[Finding], code: int) -> None:
    assert exit_code(findings) == code


def test_a_green_finding_is_one_line() -> None:
    _, line, summary = shown([GREEN]).splitlines()

    assert line.split() == ["Postgres", "version", "ok", "Postgres", "18"]
    assert summary == "All 1 green."


def test_a_fault_is_followed_by_its_remedy() -> None:
    _, _, fault, remedy, _ = shown([GREEN, RED]).splitlines()

    assert "RED" in fault
    assert "missing: pm.intent" in fault
    assert remedy.strip().startswith("→")
    assert "run `outbox-worker migrate`" in remedy


@pytest.mark.parametrize(
    ("findings", "end"),
    [
        ([GREEN, RED, YELLOW], "1 red: the worker cannot do its work, or not all of it."),
        ([GREEN, YELLOW], "Nothing red, 1 to look at."),
    ],
)
def test_the_last_line_sums_up(findings: Sequence[Finding], end: str) -> None:
    assert shown(findings).splitlines()[-1] == end


def test_what_looks_like_markup_is_shown_as_it_is() -> None:
    tricky = EXAMINED.ok("name", "[bold]x[/bold] [link=evil]")

    assert "[bold]x[/bold] [link=evil]" in shown([tricky])


def test_on_a_narrow_terminal_only_what_was_found_is_wrapped() -> None:
    lines = shown([RED], width=40, terminal=True).splitlines()

    assert max(map(len, lines)) <= 40
    assert any(line.split()[:3] == ["Postgres", "schema", "RED"] for line in lines)
    assert [line.split()[-1] for line in lines if "migrate`" in line] == ["migrate`"]


def test_json_has_every_finding_and_the_worst_verdict() -> None:
    body = json.loads(to_json([GREEN, YELLOW, RED]))

    assert body["verdict"] == "red"
    assert body["findings"][1] == {
        "subject": "Postgres",
        "what": "connections",
        "verdict": "warning",
        "detail": "2 of 100 free",
        "remedy": "end idle sessions",
    }
    assert len(body["findings"]) == 3
    assert json.loads(to_json([GREEN]))["verdict"] == "ok"
    assert json.loads(to_json([GREEN, YELLOW]))["verdict"] == "warning"
