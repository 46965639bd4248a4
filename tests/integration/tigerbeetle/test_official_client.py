"""The adapter on the official client where no server is needed."""

import signal

import pytest

from tests.integration.tigerbeetle import official_client_cases
from tests.integration.tigerbeetle.processes import run_module


@pytest.fixture(scope="module")
def io_uring() -> None:
    """Skip where the kernel refuses the client what it needs, as containers often do."""
    name = official_client_cases.a_client_can_be_made.__name__
    done = run_module(official_client_cases, name)
    if done.returncode == -signal.SIGABRT:
        pytest.skip(f"the TigerBeetle client cannot run here (io_uring?): {done.stderr[:300]}")


@pytest.mark.usefixtures("io_uring")
@pytest.mark.parametrize("case", official_client_cases.CASES)
def test_with_the_official_client(case: str) -> None:
    done = run_module(official_client_cases, case)

    # structlog, not set up in there, prints to stdout too.
    assert (done.returncode, done.stdout.splitlines()[-1:], done.stderr) == (0, ["held"], "")
