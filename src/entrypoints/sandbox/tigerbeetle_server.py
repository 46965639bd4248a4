"""A TigerBeetle of one's own, when the machine has a server binary.

No package registry has the server, so there must be a way to do without.
"""

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from entrypoints.sandbox.local_server import LocalServer
from entrypoints.sandbox.resources import HOST, ServerFailedError, program_named_by

CLUSTER_ID = 0
Release = tuple[int, ...]


class TigerBeetleServer(LocalServer):
    """A cluster of one replica, with the small limits of ``--development`` unless told otherwise.

    With them it takes eight clients at a time. A ninth is not refused: it hangs until another is
    closed, so everybody closes theirs. Accounts and transfers cannot be removed: who shares a
    server uses random ids.

    It takes about 1.1 GiB of disk and 1.7 GiB of memory.
    """

    name = "tigerbeetle"
    start_timeout_s: ClassVar[float] = 120.0

    def __init__(self, *, development: bool = True) -> None:
        """Make the folder and format the data file; the server is not started yet.

        Raises:
            ServerFailedError: there is no server binary, or it is older than our client.
        """
        program = find_tigerbeetle()
        if program is None:
            raise ServerFailedError(how_to_get_one())
        self._program = str(program)
        _require_no_older_than_client(self._program)
        super().__init__()
        self._limits = ["--development"] if development else []
        self._data = self.folder / "0_0.tigerbeetle"
        self.run(
            [
                self._program,
                "format",
                f"--cluster={CLUSTER_ID}",
                "--replica=0",
                "--replica-count=1",
                *self._limits,
                str(self._data),
            ]
        )

    def command(self) -> list[str]:
        """Return the replica, in the foreground."""
        return [
            self._program,
            "start",
            f"--addresses={HOST}:{self.port}",
            *self._limits,
            "--cache-grid=256MiB",
            str(self._data),
        ]

    def is_ready(self) -> bool:
        """Say whether it listens; requests that arrive from then on are answered.

        Asking the port would not do: a killed replica's port accepts for a moment longer.
        """
        return "listening on" in self.log


def find_tigerbeetle() -> Path | None:
    """Return the server binary that TIGERBEETLE_BIN or PATH names, or None.

    Raises:
        ServerFailedError: TIGERBEETLE_BIN names something that cannot be run.
    """
    if named := program_named_by("TIGERBEETLE_BIN"):
        return named
    found = shutil.which("tigerbeetle")
    return None if found is None else Path(found)


def how_to_get_one() -> str:
    """Return one sentence for people whose machine has no server binary."""
    return (
        f"no TigerBeetle server: put the binary of release {metadata.version('tigerbeetle')} or "
        "later on PATH, or name it in TIGERBEETLE_BIN"
    )


def _require_no_older_than_client(program: str) -> None:
    # A newer client is told nothing that it could show: it would hang or be evicted.
    output = subprocess.run(
        [program, "version"], capture_output=True, check=True, timeout=30
    ).stdout
    server, client = _release(output.decode()), _release(metadata.version("tigerbeetle"))
    if server < client:
        raise ServerFailedError(f"TigerBeetle {server} is older than our client {client}")


def _release(text: str) -> Release:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        raise ServerFailedError(f"no release in {text!r}")
    return tuple(int(part) for part in found.groups())
