"""Compare the in-memory ledger with a real TigerBeetle server on random programs.

``python -m tests.parity [--events N] [--seed S] [--out FILE]`` starts a server of its own and
ends with one line ``N programs, N transfer events, N account events, N look-ups, N differ``.
A program that differs is shrunk, shown, and written to FILE as a recording. Exit status: 0 when
nothing differs, 1 when something does, 2 when there is no server, or none any more.
"""

import argparse
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from entrypoints.sandbox.resources import ServerFailedError
from entrypoints.sandbox.tigerbeetle_server import TigerBeetleServer
from tests.ledger_programs import Answers, Program
from tests.ledger_recording_lines import line_of
from tests.ledger_runs import run_in_memory
from tests.parity.comparing import Runner
from tests.parity.long_run import BATCHES_AT_ONCE, Finding, run_for, told
from tests.parity.server import ServerLostError, ServerTooSlowError, server_at

EVENTS_MIN: Final = 50_000
OUT: Final = Path("build", "ledger_difference.jsonl")


def in_memory(programs: Sequence[Program]) -> list[Answers]:
    """Run each program on an in-memory ledger of its own."""
    return [run_in_memory(program) for program in programs]


@contextmanager
def own_server() -> Iterator[Runner]:
    """Start a server and stop it at the end."""
    with TigerBeetleServer() as server, server_at(server.address) as runner:
        yield runner


def main(
    arguments: Sequence[str],
    *,
    open_server: Callable[[], AbstractContextManager[Runner]] = own_server,
    other: Runner = in_memory,
    batches_at_once: int = BATCHES_AT_ONCE,
) -> int:
    """Run as *arguments* say; return the exit status."""
    chosen = _parsed(arguments)
    print(f"seed {chosen.seed}, at least {chosen.events} transfer events", flush=True)
    try:
        with open_server() as real:
            totals, finding = run_for(
                chosen.events,
                chosen.seed,
                real,
                other,
                lambda line: print(line, flush=True),
                batches_at_once=batches_at_once,
            )
    except (ServerFailedError, ServerTooSlowError) as error:
        print(error, file=sys.stderr)
        return 2
    except ServerLostError as error:
        lines = told(error.program) if error.program else ()
        print(error, *lines, sep="\n", file=sys.stderr)
        return 2
    if finding is None:
        return 0
    _tell(finding)
    _write(finding, chosen.out)
    print(f"{chosen.out}: the recording, to be added to tests/data/ledger_programs.jsonl")
    print(totals)
    return 1


def _tell(finding: Finding) -> None:
    comparison = finding.comparison
    print(finding.name)
    print(*told(comparison.program, comparison.answers.statuses), sep="\n")
    print(*comparison.differences, sep="\n")


def _write(finding: Finding, path: Path) -> None:
    comparison = finding.comparison
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line_of(finding.name, comparison.program, comparison.answers) + "\n")


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity")
    parser.add_argument("--events", type=int, default=EVENTS_MIN)
    parser.add_argument("--seed", default=str(secrets.randbelow(1_000_000)))
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
