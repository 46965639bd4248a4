"""Where io_uring is refused, the library would abort the process: we are told before that."""

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.tigerbeetle.io_uring import io_uring_fault

REPOSITORY = Path(__file__).parents[3]
ASK = "from adapters.tigerbeetle.io_uring import io_uring_fault; print(io_uring_fault())"
MAKE_CLIENT = (
    "from adapters.tigerbeetle.official_client import official_client\n"
    "from application.errors import LedgerMisconfiguredError\n"
    "try:\n"
    "    official_client(0, '127.0.0.1:1')\n"
    "except LedgerMisconfiguredError as error:\n"
    "    print(error)\n"
)


def run_without_io_uring(action: str, script: str) -> str:
    """Run *script* where io_uring_setup is refused, or kills; it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.seccomp", action, sys.executable, "-c", script],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("action", "words"),
    [("refuse", "io_uring is refused: Operation not permitted"), ("kill", "kills whoever uses")],
)
def test_a_filter_of_system_calls_is_found_out(action: str, words: str) -> None:
    assert words in run_without_io_uring(action, ASK)


@pytest.mark.parametrize("action", ["refuse", "kill"])
def test_no_client_is_made_where_it_would_abort_the_process(action: str) -> None:
    message = run_without_io_uring(action, MAKE_CLIENT)

    assert "io_uring" in message
    assert "seccomp" in message


def test_what_cannot_be_tried_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    assert io_uring_fault() is None
