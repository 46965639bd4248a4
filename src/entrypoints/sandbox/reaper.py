"""Ends servers and removes their folders when the run that started them cannot.

A second process (this file, run as a script) reads from a pipe that only the run writes to. However
the run ends, SIGKILL included, the kernel closes the pipe, and the reaper ends what is still
registered. Linux's parent-death signal would not do: it fires when the *thread* that started the
server ends, and a test may start one from any thread.
"""

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

GRACE_S = 5.0


class Reaper:
    """The run's end of the pipe: it says what to end and remove, and what no longer."""

    def __init__(self) -> None:
        # A session of its own, so that Ctrl-C in the terminal does not reach it. No inherited
        # output, so that nobody waits for it who waits for the run's output to end.
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._pipe = cast(IO[bytes], self._process.stdin)
        self._lock = threading.Lock()

    def watch_process(self, pid: int, death_signal: signal.Signals) -> None:
        """End *pid* with *death_signal*, after a grace period with SIGKILL, when the run dies."""
        self._tell("process", pid, int(death_signal))

    def forget_process(self, pid: int) -> None:
        """Leave *pid* alone from now on: it is gone, and its number may come to be another's."""
        self._tell("forget_process", pid)

    def watch_folder(self, folder: Path) -> None:
        """Remove *folder* when the run dies."""
        self._tell("folder", str(folder))

    def forget_folder(self, folder: Path) -> None:
        """Leave *folder* alone from now on."""
        self._tell("forget_folder", str(folder))

    def close(self) -> None:
        """Let the reaper end; what is still registered ends with it."""
        self._pipe.close()
        self._process.wait(timeout=2 * GRACE_S)

    def _tell(self, *message: str | int) -> None:
        with self._lock:
            self._pipe.write(json.dumps(message).encode() + b"\n")
            self._pipe.flush()


@functools.cache
def reaper() -> Reaper:
    """Return the one reaper of this process, started at the first call."""
    instance = Reaper()
    atexit.register(instance.close)
    return instance


def _follow(lines: Iterable[str]) -> tuple[dict[int, int], set[str]]:
    processes: dict[int, int] = {}
    folders: set[str] = set()
    for line in lines:
        match json.loads(line):
            case ["process", int(pid), int(signal_number)]:
                processes[pid] = signal_number
            case ["forget_process", int(pid)]:
                processes.pop(pid, None)
            case ["folder", str(folder)]:
                folders.add(folder)
            case ["forget_folder", str(folder)]:
                folders.discard(folder)
            case unknown:
                raise ValueError(unknown)
    return processes, folders


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _main() -> None:
    processes, folders = _follow(sys.stdin)
    for pid, signal_number in processes.items():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)
            os.kill(pid, signal.SIGCONT)  # a paused server would never see its signal
    deadline_s = time.monotonic() + GRACE_S
    while any(map(_exists, processes)) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main()
