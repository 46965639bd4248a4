"""The worker as a server of one's own: a process that is started, watched and ended."""

import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from entrypoints.sandbox.local_server import LocalServer

OUTBOX_WORKER: Final = (sys.executable, "-m", "entrypoints", "run")
_PROBE_TIMEOUT_S: Final = 1.0


class WorkerProcess(LocalServer):
    """``outbox-worker run``, or a *command* that does as it does; ready when it can settle."""

    name: ClassVar[str] = "worker"
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(
        self, settings: Mapping[str, str], *, command: Sequence[str] = OUTBOX_WORKER
    ) -> None:
        super().__init__()
        self._settings = settings
        self._command = command

    def command(self) -> list[str]:
        """Return the worker, in the foreground."""
        return list(self._command)

    def environment(self) -> dict[str, str]:
        """Return the worker's settings."""
        return {**self._settings, "OUTBOX_HEALTH_PORT": str(self.port)}

    def is_ready(self) -> bool:
        """Say whether ``/readyz`` is green."""
        url = f"http://{self.address}/readyz"
        try:
            with urllib.request.urlopen(url, timeout=_PROBE_TIMEOUT_S) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
