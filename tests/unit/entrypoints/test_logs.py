"""A log that nobody takes: whoever logs never notices, and the exit code does not either."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.helpers.worker_process import CONSOLE_SCRIPT

PYTHON = sys.executable
LOGS = """
import logging, structlog
from entrypoints.logs import configure_logs
configure_logs(format="{format}", level="info")
for _ in range(1_000):
    structlog.get_logger("ours").info("outbox: intent settled", intent_id="0" * 36, event_id=1)
    logging.getLogger("theirs").warning("%s", "line " * 20)
try:
    raise ZeroDivisionError
except ZeroDivisionError:
    structlog.get_logger("ours").exception("outbox: unforeseen error")
print("went on")
"""

READER_GONE = """
import os, sys
reading, writing = os.pipe()
os.dup2(writing, 2)
os.close(reading)
os.close(writing)
os.execv(sys.argv[1], sys.argv[1:])
"""


def full_disk(*command: str) -> list[str]:
    """Return *command* with its stderr on a disk that is full."""
    return ["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *command]


def closed(*command: str) -> list[str]:
    """Return *command* without a stderr."""
    return ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]


def reader_gone(*command: str) -> list[str]:
    """Return *command* with its stderr in a pipe that nobody reads."""
    return [PYTHON, "-c", READER_GONE, *command]


Broken = Callable[..., list[str]]
every_way = pytest.mark.parametrize("broken", [full_disk, closed, reader_gone])


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@every_way
@pytest.mark.parametrize("format", ["json", "console", "auto"])
def test_logging_goes_on_when_the_log_cannot_be_written(broken: Broken, format: str) -> None:
    done = run(broken(PYTHON, "-c", LOGS.format(format=format)))

    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_every_line_is_there_when_the_log_can_be_written() -> None:
    done = run([PYTHON, "-c", LOGS.format(format="json")])

    lines = done.stderr.splitlines()
    assert len(lines) == 2_001
    assert all(line.startswith("{") and line.endswith("}") for line in lines)


def test_a_line_tells_its_facts_first_and_then_what_when_and_how_bad() -> None:
    before = datetime.now(UTC)
    done = run([PYTHON, "-c", LOGS.format(format="json")])

    ours, *_, failure = map(json.loads, done.stderr.splitlines())
    assert list(ours) == ["intent_id", "event_id", "event", "level", "timestamp"]
    assert ours["event"] == "outbox: intent settled"
    assert ours["level"] == "info"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", ours["timestamp"])
    assert before <= datetime.fromisoformat(ours["timestamp"]) <= datetime.now(UTC)
    assert failure["level"] == "error"
    assert failure["exception"].endswith("ZeroDivisionError")


@every_way
def test_exit_code_is_kept_when_the_reason_cannot_be_told(broken: Broken) -> None:
    assert run(broken(CONSOLE_SCRIPT, "run")).returncode == 78
