"""The operator's commands before they reach any database, and what they print."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from domain.intents import EventId, IntentId
from domain.waiting import ListedEvent, Page, RetryNote
from entrypoints import cli
from entrypoints.ordering_commands import operator_name
from entrypoints.output import OutputLostError
from entrypoints.rendering import print_json, print_queue, print_retried, stdout_console, why

AN_ID = str(UUID(int=4711))
EVENT = ListedEvent(
    id=EventId(12),
    intent_id=IntentId(UUID("550e8400-e29b-41d4-a716-446655440000")),
    action="post_pending",
    status="pending",
    retry_count=3,
    created_at="2026-01-01T00:00:00.000Z",
    age_s=3_700,
    intent_status="AUTHORIZED",
)
RETRY = RetryNote(
    reason="ledger_refused",
    last_error="the ledger refused",
    next_attempt_at="2026-01-01T01:05:00.000Z",
    is_over=False,
)


def printed(*events: ListedEvent, width: int, terminal: bool = False) -> list[str]:
    output = io.StringIO()
    console = Console(file=output, width=width, force_terminal=terminal, color_system=None)
    print_queue(Page(events=events, total=len(events)), console)
    return output.getvalue().splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "no-uuid"],
        ["show", AN_ID, "--event", "1"],
        ["show", "--event", str(2**31)],
        ["stuck", "--older-than", "5"],
        ["stats", "--since", "soon"],
        ["queue", "--limit", "0"],
        ["retries", "--more-than", "-1"],
        ["requeue"],
        ["requeue", "1", "--intent", AN_ID],
        ["requeue", "0"],
        ["fail"],
        ["watch"],
        ["watch", "no-uuid"],
        ["watch", AN_ID, "--timeout", "5"],
        ["watch", AN_ID, "--poll", "0s"],
        ["prune"],
        ["prune", "--older-than", "23h"],
        ["prune", "--older-than", "90d", "--json"],
        ["prune", "--older-than", "90d", "--batch", "0"],
    ],
    ids=" ".join,
)
def test_a_bad_argument_is_a_usage_error(arguments: Sequence[str]) -> None:
    done = CliRunner().invoke(cli.app, arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Usage" in done.stderr


def test_a_duration_that_is_none_names_its_option() -> None:
    done = CliRunner().invoke(cli.app, ["stuck", "--older-than", "soon"])

    assert "--older-than" in done.stderr
    assert "90s, 15m, 24h or 7d" in done.stderr.replace("\n", " ")


def test_an_event_is_one_line_below_the_header() -> None:
    header, line, summary = printed(EVENT, width=10_000)
    assert line.endswith(" due")

    assert header.split() == [
        *("id", "intent", "action", "retries", "age", "created", "why", "it", "waits")
    ]
    assert line.split() == [
        *("12", str(EVENT.intent_id), "post_pending", "3", "1h", "1m"),
        *("2026-01-01T00:00:00.000Z", "due"),
    ]
    assert summary == "1 pending."


def test_columns_are_aligned_whatever_is_in_them() -> None:
    header, *lines, _ = printed(
        EVENT, replace(EVENT, id=EventId(1_234_567), action="void", age_s=None), width=10_000
    )

    for column in ("intent", "created", "why"):
        at = header.index(column)
        assert all(line[at - 1] == " " and line[at] != " " for line in lines)


def test_a_row_is_one_line_however_long_it_is() -> None:
    long = replace(EVENT, action="a" * 20_000)

    assert len(printed(long, EVENT, width=100)) == 4


def test_wide_letters_move_no_column() -> None:
    header, *lines, _ = printed(EVENT, replace(EVENT, action="支払い"), width=10_000)

    at = header.index("retries")
    assert [cell_len(line[: line.index(" 3 ") + 1]) for line in lines] == [at, at]


def test_what_cannot_be_written_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)

    for write in (stdout_console, lambda: print_json({})):
        with pytest.raises(OutputLostError):
            write()


def test_nothing_is_lost_on_a_narrow_terminal() -> None:
    text = "".join(printed(replace(EVENT, retry=RETRY), width=60, terminal=True))

    assert "ledger_refused" in text.replace("\n", "").replace(" ", "").replace("│", "")


def test_no_text_moves_a_cursor_or_is_taken_for_markup() -> None:
    output = io.StringIO()
    console = Console(file=output, width=10_000)
    hostile = replace(RETRY, reason="[red]", last_error="[/]\x1b[2J\nend \x9b1m")
    page = Page(events=(replace(EVENT, retry=hostile),), total=1)

    print_retried(page, console, more_than=0)

    assert "[red]" in output.getvalue()
    assert "[/] [2J end  1m" in output.getvalue()
    assert len(output.getvalue().splitlines()) == 3


def test_json_is_ascii_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "สมชาย \x1b[2J"})

    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "\x1b" not in printed
    assert json.loads(printed) == {"name": "สมชาย \x1b[2J"}


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (EVENT, "due"),
        (replace(EVENT, intent_status=None), "due; there is no such intent"),
        (
            replace(EVENT, retry=RETRY),
            "backoff until 2026-01-01T01:05:00.000Z (ledger_refused)",
        ),
        (replace(EVENT, retry=RETRY, head_id=EventId(7)), "behind event 7"),
        (
            replace(EVENT, head_id=EventId(7), intent_status="MANUAL_REVIEW"),
            "intent in MANUAL_REVIEW",
        ),
        (replace(EVENT, status="failed", retry=RETRY), "given up (ledger_refused)"),
        (replace(EVENT, status="failed"), "given up"),
        (replace(EVENT, status="processed"), ""),
    ],
)
def test_each_wait_has_its_words(event: ListedEvent, words: str) -> None:
    assert why(event) == words


def test_a_user_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 987_654)

    assert operator_name() == "uid 987654"
