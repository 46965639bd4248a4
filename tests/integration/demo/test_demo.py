"""``outbox-worker demo``: what it shows, and that nothing of it stays behind."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.helpers.worker_process import CONSOLE_SCRIPT

pytestmark = pytest.mark.integration

PATIENCE_S = 120.0


@contextmanager
def a_demo(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a demo that finds no TigerBeetle; killed at the end if it still runs."""
    process = subprocess.Popen(
        [CONSOLE_SCRIPT, "demo", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        # Whoever runs the tests may ignore Ctrl-C, as nohup does.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "COLUMNS": "200"},
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_demo_shows_every_fault_and_every_invariant_and_leaves_nothing() -> None:
    with a_demo("--intents", "200", "--seed", "7", "--faults") as demo:
        shown, _ = demo.communicate(timeout=PATIENCE_S)

    assert demo.returncode == 0, shown
    assert "ledger: in memory" in shown
    assert shown.count("fault:") == 4
    assert shown.count("over:") == 3
    assert shown.count("holds") == 9  # each invariant's line, and the last one
    assert "Every invariant holds, and the money adds up." in shown
    ports = [int(port) for port in re.findall(r"(?:port |127\.0\.0\.1:)(\d+)", shown)]
    assert len(ports) == 3
    assert not any(map(is_open, ports))


@pytest.mark.parametrize(
    ("moment", "number", "exit_code"),
    [
        ("Postgres on port", signal.SIGINT, 130),
        ("worker started", signal.SIGINT, 130),
        ("export DATABASE_URL", signal.SIGINT, 130),
        ("worker started", signal.SIGTERM, 143),
    ],
)
def test_ctrl_c_at_any_moment_ends_everything(
    moment: str, number: signal.Signals, exit_code: int
) -> None:
    with a_demo("--intents", "200", "--keep") as demo:
        assert demo.stdout is not None
        shown = ""
        for line in demo.stdout:
            shown += line
            if moment in line:
                break
        demo.send_signal(number)
        rest, _ = demo.communicate(timeout=PATIENCE_S)

    assert demo.returncode == exit_code, shown + rest
    assert "Traceback" not in shown + rest
    ports = [int(port) for port in re.findall(r"(?:port |127\.0\.0\.1:)(\d+)", shown)]
    assert ports
    assert not any(map(is_open, ports))
