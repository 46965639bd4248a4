"""A command imports what it needs, and not what others need: each driver takes a while."""

import subprocess
import sys

import pytest

HEAVY = {
    "dependency_injector",
    "psycopg",
    "pydantic_settings",
    "redis",
    "structlog",
    "tigerbeetle",
    "yoyo",
}
NOT_FOR_POSTGRES = {"dependency_injector", "redis", "tigerbeetle", "yoyo"}

RUN = """
import sys
from entrypoints.cli import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def modules_imported_by(*arguments: str) -> set[str]:
    """Run the command in an interpreter of its own, to where it would connect to Postgres."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        env={"DATABASE_URL": "nowhere"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]], ids=" ".join)
def test_whoever_only_reads_waits_for_no_driver(arguments: list[str]) -> None:
    assert modules_imported_by(*arguments) & HEAVY == set()


@pytest.mark.parametrize("command", ["queue", "requeue 1 --yes", "wake-up status"])
def test_what_touches_only_postgres_waits_for_no_other_driver(command: str) -> None:
    imported = modules_imported_by(*command.split())

    assert "psycopg" in imported, "it got as far as the database"
    assert imported & NOT_FOR_POSTGRES == set()


def test_a_worker_does_not_wait_for_what_migrates() -> None:
    imported = modules_imported_by("run")

    assert {"redis", "tigerbeetle"} <= imported
    assert "yoyo" not in imported
