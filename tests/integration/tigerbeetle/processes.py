"""Modules of these tests, each run in a process of its own, which may abort."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

REPOSITORY: Final = Path(__file__).parents[3]
TIMEOUT_S: Final = 60.0


def run_module(module: ModuleType, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run *module* as a program to its end."""
    return subprocess.run(
        # As of Python 3.12 a fork beside threads is warned of; some cases do just that.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", module.__name__, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
