"""``outbox-worker doctor``: the diagnosis, made of its parts, and shown."""

import json
import sys
from collections.abc import Sequence
from typing import Final

from dependency_injector import providers
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.findings import Finding, Verdict
from entrypoints.container import Container
from entrypoints.logs import configure_logs
from entrypoints.rendering import stdout_console
from entrypoints.settings import load_settings

_STYLES: Final = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.RED: "bold red"}
_MARKS: Final = {Verdict.OK: "ok", Verdict.WARNING: "warning", Verdict.RED: "RED"}


def run_doctor(*, as_json: bool) -> int:
    """Diagnose what the environment names, print what was found, and return the exit code.

    Raises:
        SettingsError: a setting is missing or bad.
    """
    settings = load_settings()
    configure_logs(format=settings.log_format, level="error")
    container = Container(settings=providers.Object(settings))
    try:
        findings = container.diagnose()()
    finally:
        container.ledger().close()
    if as_json:
        sys.stdout.write(to_json(findings) + "\n")
    else:
        print_table(findings, stdout_console())
    return exit_code(findings)


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 when any of *findings* is red, else 0."""
    return int(any(finding.verdict is Verdict.RED for finding in findings))


def print_table(findings: Sequence[Finding], console: Console) -> None:
    """Print *findings* for people: a line each, and below a fault its remedy."""
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for column in ("part", "what", "verdict"):
        table.add_column(column, no_wrap=True)
    table.add_column("finding", overflow="fold")
    for finding in findings:
        # As text: what servers say may look like markup.
        table.add_row(
            Text(finding.subject),
            Text(finding.what),
            Text(_MARKS[finding.verdict], style=_STYLES[finding.verdict]),
            Text(finding.detail),
        )
        if finding.remedy:
            table.add_row("", "", Text("→", style="bold"), Text(finding.remedy, style="bold"))
    console.print(table)
    console.print(Text(_summary(findings)))


def to_json(findings: Sequence[Finding]) -> str:
    """Return *findings* for programs: ``{"verdict": …, "findings": [{…}, …]}``."""
    body = {
        "verdict": _worst(findings),
        "findings": [
            {
                "subject": finding.subject,
                "what": finding.what,
                "verdict": finding.verdict,
                "detail": finding.detail,
                "remedy": finding.remedy,
            }
            for finding in findings
        ],
    }
    return json.dumps(body, indent=2)


def _worst(findings: Sequence[Finding]) -> Verdict:
    verdicts = {finding.verdict for finding in findings}
    return next((bad for bad in (Verdict.RED, Verdict.WARNING) if bad in verdicts), Verdict.OK)


def _summary(findings: Sequence[Finding]) -> str:
    counts = {
        verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict
    }
    match _worst(findings):
        case Verdict.RED:
            return f"{counts[Verdict.RED]} red: the worker cannot do its work, or not all of it."
        case Verdict.WARNING:
            return f"Nothing red, {counts[Verdict.WARNING]} to look at."
        case Verdict.OK:
            return f"All {counts[Verdict.OK]} green."
