"""Replay recorded ledger programs on the in-memory ledger and count where they part.

``python -m tests.replay_ledger FILE`` prints each difference, then one line
``N programs, N statuses, N differ``. Exit status: 0 when nothing differs, 1 when
something does, 2 when the file cannot be read or understood.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.ledger_differences import Difference, differences
from tests.ledger_programs import Recording
from tests.ledger_recordings import MalformedProgramError, read_recordings
from tests.ledger_runs import run_in_memory


def replay(recording: Recording) -> list[Difference]:
    """Run the recorded program on a new ledger and return all differences, the end's last."""
    return differences(recording, run_in_memory(recording.program))


def main(arguments: Sequence[str]) -> int:
    """Replay the file that *arguments* names; return the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tests.replay_ledger FILE", file=sys.stderr)
        return 2
    programs = statuses = differ = 0
    try:
        for recording in read_recordings(Path(arguments[0])):
            programs += 1
            statuses += sum(map(len, recording.statuses))
            for difference in replay(recording):
                differ += 1
                print(difference)
    except MalformedProgramError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{arguments[0]}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{programs} programs, {statuses} statuses, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
