"""``outbox-worker`` as a process: started, listened to, signalled and, in any case, ended."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from entrypoints.sandbox.reaper import reaper
from entrypoints.sandbox.resources import HOST
from entrypoints.sandbox.waiting import wait_until

REPOSITORY: Final = Path(__file__).parents[2]
CONSOLE_SCRIPT: Final = str(Path(sys.executable).with_name("outbox-worker"))
PATIENCE_S: Final = 30.0
"""How long a test waits for anything before it fails; nothing that works takes as long."""
TAIL_LINES: Final = 30
TCP_LISTEN: Final = "0A"

LogLine = dict[str, Any]


def run_command(
    *arguments: str, environment: Mapping[str, str], stdin: str | None = ""
) -> subprocess.CompletedProcess[str]:
    """Run ``outbox-worker`` with *arguments* to its end.

    *stdin* is what it is answered; None: its stdin is closed.
    """
    command = [CONSOLE_SCRIPT, *arguments]
    if stdin is None:
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=_environment(environment),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def start_command(*arguments: str, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start ``outbox-worker`` with *arguments*; whoever calls reads what it writes."""
    process = subprocess.Popen(
        [CONSOLE_SCRIPT, *arguments],
        cwd=REPOSITORY,
        env=_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    reaper().watch_process(process.pid, signal.SIGKILL)
    return process


class WorkerProcess:
    """A running worker. As a context manager it is gone on exit, killed if need be.

    What it writes to stderr is read all the time, so that it never waits for us.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        command: Sequence[str] = (CONSOLE_SCRIPT, "run"),
    ) -> None:
        """Start *command* with nothing but *environment* for settings."""
        self._health_port = int(environment.get("OUTBOX_HEALTH_PORT", "0"))
        self._lines: list[str] = []
        self._process = subprocess.Popen(
            list(command),
            cwd=REPOSITORY,
            env=_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        reaper().watch_process(self._process.pid, signal.SIGKILL)
        assert self._process.stderr is not None
        self._reading = threading.Thread(
            target=self._read, args=(self._process.stderr,), name="worker-log", daemon=True
        )
        self._reading.start()

    @property
    def lines(self) -> list[str]:
        """Everything written to stderr so far, line by line."""
        return list(self._lines)

    @property
    def log(self) -> list[LogLine]:
        """The log lines so far."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]

    @property
    def stray_lines(self) -> list[str]:
        """Lines that are no log lines: a traceback, a library's chatter."""
        return [line for line in self.lines if not line.startswith("{")]

    def logged(self, event: str, **fields: object) -> list[LogLine]:
        """Return the log lines of *event* so far that have all of *fields*."""
        return [line for line in self.log if line.items() >= {"event": event, **fields}.items()]

    def wait_for(self, event: str, **fields: object) -> LogLine:
        """Wait for a log line of *event* that has all of *fields*, and return it."""
        self.wait_until(
            lambda: bool(self.logged(event, **fields)), what=f"log line {event!r} {fields}"
        )
        return self.logged(event, **fields)[0]

    def wait_until(self, condition: Callable[[], bool], *, what: str) -> None:
        """Wait for *condition*, which must come true while the process lives.

        Raises:
            AssertionError: the process has ended.
            TimeoutError: the wait was too long.
        """

        def holds() -> bool:
            ended = self._process.poll()
            if condition():
                return True
            assert ended is None, f"exit {ended} before: {what}\n{self._tail()}"
            return False

        try:
            wait_until(holds, timeout_s=PATIENCE_S, what=what)
        except TimeoutError as error:
            error.add_note(self._tail())
            raise

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The IPv4 addresses and ports that the process listens on."""
        descriptors = Path(f"/proc/{self._process.pid}/fd").iterdir()
        own = {str(descriptor.readlink()) for descriptor in descriptors}
        sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return [
            _ipv4_address(fields[1])
            for fields in sockets
            if fields[3] == TCP_LISTEN and f"socket:[{fields[9]}]" in own
        ]

    def probe(self, path: str) -> tuple[int, dict[str, Any]]:
        """GET *path* from the health server: the status code, and the body."""
        connection = http.client.HTTPConnection(HOST, self._health_port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self, *, timeout_s: float = PATIENCE_S) -> int:
        """Wait for the end and return the exit code; negative: the signal that killed it."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            error.add_note(self._tail())
            raise
        self._reading.join()
        return code

    def stop(self) -> int:
        """End it in order and return the exit code."""
        self.send(signal.SIGTERM)
        return self.wait()

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        reaper().forget_process(self._process.pid)
        self._reading.join()

    def _tail(self) -> str:
        return "\n".join(self.lines[-TAIL_LINES:])

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._lines.append(line.rstrip("\n"))


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the developer's own settings reaches a worker."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **settings}


def _ipv4_address(kernels: str) -> tuple[str, int]:
    """Read an address and a port as the kernel prints them, ``0100007F:1F90``."""
    address, _, port = kernels.partition(":")
    return socket.inet_ntoa(int(address, 16).to_bytes(4, sys.byteorder)), int(port, 16)
