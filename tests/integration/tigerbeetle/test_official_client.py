"""The adapter on the official client where no server is needed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.tigerbeetle import official_client_cases

REPOSITORY = Path(__file__).parents[3]
TIMEOUT_S = 60.0


def run_case(name: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        # As of Python 3.12 a fork beside threads is warned of; one case does just that.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", *_module(), name],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def _module() -> list[str]:
    return [official_client_cases.__name__]


@pytest.fixture(scope="module")
def io_uring() -> None:
    """Skip where the kernel refuses the client what it needs, as containers often do."""
    done = run_case(official_client_cases.a_client_can_be_made.__name__)
    if done.returncode == -signal.SIGABRT:
        pytest.skip(f"the TigerBeetle client cannot run here (io_uring?): {done.stderr[:300]}")


@pytest.mark.usefixtures("io_uring")
@pytest.mark.parametrize("case", official_client_cases.CASES)
def test_with_the_official_client(case: str) -> None:
    done = run_case(case)

    # structlog, not set up in there, prints to stdout too.
    assert (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, ["held"], "")
