"""The whole command, on its own servers and with few events."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.worker_process import REPOSITORY

pytestmark = pytest.mark.integration


def test_a_run_ends_with_the_ratios_and_says_under_which_conditions(tmp_path: Path) -> None:
    results = tmp_path / "results.json"

    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks", "--only", "headline"),
            *("--events", "100", "--rounds", "1", "--json", str(results)),
        ],
        cwd=REPOSITORY,
        # No settings of the developer's, and no TIGERBEETLE_BIN.
        env={"PATH": os.environ.get("PATH", os.defpath)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "fsync on" in done.stdout
    assert "ledger: " in done.stdout
    literal, floor = done.stdout.splitlines()[-2:]
    assert literal.startswith("ratio literal: ")
    assert floor.startswith("ratio floor: ")
    written = json.loads(results.read_text())
    assert written["sections"][0]["ratios"]["literal"] > 0
