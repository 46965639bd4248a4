"""What every server that we start has in common: its folder, its port, its life and death.

Two runs at once never meet: each server has a folder and a loopback port of its own.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from entrypoints.sandbox.reaper import reaper
from entrypoints.sandbox.resources import HOST, ServerFailedError, free_port, group_of, make_folder
from entrypoints.sandbox.waiting import POLL_INTERVAL_S, wait_until

START_ATTEMPTS_MAX = 5


class LocalServer(ABC):
    """A server program that one run owns.

    As a context manager it is started on entry, and gone with its folder on exit. The port stays
    the same over ``stop`` and ``start``.
    """

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    # What ends the server when the run died and nobody is left to wait for it.
    death_signal: ClassVar[signal.Signals] = signal.SIGKILL
    start_timeout_s: ClassVar[float] = 60.0
    stop_timeout_s: ClassVar[float] = 20.0

    def __init__(self, *, user: str | None = None) -> None:
        """Make the folder; *user* is who the program runs as, when it is not us."""
        self.user = user
        self._folders: list[Path] = []
        self.folder = self.own_folder()
        self.port = free_port()
        self._log_path = self.folder / "server.log"
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._was_ready = False

    @abstractmethod
    def command(self) -> list[str]:
        """Return the program and its arguments, in the foreground, on ``self.port``."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Say whether the server answers now; asked again and again while it starts."""

    def environment(self) -> dict[str, str]:
        """Return the program's settings; nothing else of ours reaches it."""
        return {}

    def own_folder(self, *, memory_bytes_min: int | None = None) -> Path:
        """Make a folder that goes with the server.

        It lies in memory when that has *memory_bytes_min* to spare.
        """
        folder = make_folder(self.name, user=self.user, memory_bytes_min=memory_bytes_min)
        self._folders.append(folder)
        return folder

    @property
    def address(self) -> str:
        """The TCP address, as ``host:port``."""
        return f"{HOST}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether the program runs; a paused one does."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The program's process.

        Raises:
            ServerFailedError: it was not started.
        """
        if self._process is None:
            raise ServerFailedError(f"{self.name} does not run")
        return self._process.pid

    @property
    def log(self) -> str:
        """What the program wrote since it was last started."""
        with self._log_path.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def start(self) -> None:
        """Start the program and return when it answers; nothing happens when it already runs.

        Raises:
            ServerFailedError: it ended, or did not answer in time.
        """
        if self.is_running:
            return
        for _ in range(START_ATTEMPTS_MAX):
            self._launch()
            if self._becomes_ready():
                self._was_ready = True
                return
            if not self._was_ready:
                # Perhaps somebody took the port since we chose it. Later, clients rely on it.
                self.port = free_port()
        raise ServerFailedError(f"{self.name} does not start:\n{self.log[-4000:]}")

    def stop(self) -> None:
        """End the program in order; connections are closed, data is kept."""
        if self._process is None:
            return
        self._signal_family(signal.SIGCONT)
        self._process.send_signal(self.stop_signal)
        try:
            self._process.wait(self.stop_timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            self._forget()

    def kill(self) -> None:
        """End the program and its children at once, as a crash of the machine would.

        What it acknowledged is kept, since the kernel still writes out what the program wrote.
        """
        if self._process is None:
            return
        family = self._signal_family(signal.SIGSTOP)
        for pid in family:
            _send(pid, signal.SIGKILL)
        self._process.wait(self.stop_timeout_s)
        wait_until(
            lambda: not any(map(_is_alive, family)) and not self._accepts(),
            what=f"{self.name} is gone",
        )
        self._forget()

    def pause(self) -> None:
        """Freeze the program: connections stay and can be made, but nothing answers."""
        self._signal_family(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused program go on."""
        self._signal_family(signal.SIGCONT)

    def close(self) -> None:
        """End the program without waiting for anybody, and remove its folders.

        Not by SIGKILL at once: Postgres would leave its shared memory to the machine.
        """
        if self._process is not None and self._process.poll() is None:
            self._signal_family(signal.SIGCONT)
            self._process.send_signal(self.death_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(self.stop_timeout_s)
        self.kill()
        for folder in self._folders:
            shutil.rmtree(folder)
            reaper().forget_folder(folder)
        self._folders.clear()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, command: list[str], *, timeout_s: float = 60.0) -> str:
        """Run a helper program of the server's to its end, as the server's user.

        Return what it wrote.

        Raises:
            ServerFailedError: it failed, and the message holds its output; or it is not there.
        """
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                check=False,
                user=self.user,
                group=group_of(self.user),
                extra_groups=None if self.user is None else [],
            )
        except OSError as error:
            raise ServerFailedError(f"{command[0]} cannot be run: {error}") from error
        output = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            raise ServerFailedError(f"{command[0]}:\n{output}")
        return output

    def _launch(self) -> None:
        with self._log_path.open("ab") as log:
            self._log_start = log.tell()
            # A session of its own: Ctrl-C reaches the run alone, which then ends the server.
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                env=_environment() | self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.user,
                group=group_of(self.user),
                extra_groups=None if self.user is None else [],
            )
        reaper().watch_process(self._process.pid, self.death_signal)

    def _becomes_ready(self) -> bool:
        deadline_s = time.monotonic() + self.start_timeout_s
        while time.monotonic() < deadline_s:
            if not self.is_running:
                self._forget()
                return False
            if self.is_ready():
                return True
            time.sleep(POLL_INTERVAL_S)
        self.kill()
        return False

    def _signal_family(self, number: signal.Signals) -> list[int]:
        """Signal the program first, so that it starts no more children, and then its children."""
        if self._process is None or self._process.poll() is not None:
            return []
        self._process.send_signal(number)
        children = _children(self._process.pid)
        for pid in children:
            _send(pid, number)
        return [self._process.pid, *children]

    def _forget(self) -> None:
        if self._process is not None:
            reaper().forget_process(self._process.pid)
            self._process = None

    def _accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0


def _environment() -> dict[str, str]:
    """Nothing of the developer's own settings reaches a server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except FileNotFoundError:
        return []


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
