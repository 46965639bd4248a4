"""What a server of one's own needs from the machine: a port, a folder, a program."""

import contextlib
import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from application.errors import OutboxError
from entrypoints.sandbox.reaper import reaper

HOST = "127.0.0.1"
# Below the ports that the kernel gives to outgoing connections. While a server is down nobody is
# given its port, and no client that keeps trying can end up connected to itself.
PORT_MIN, PORT_MAX = 20_000, 32_000
MEMORY_FOLDER = "/dev/shm"
SOCKET_PATH_LENGTH_MAX = 60  # the kernel allows 107 for the socket file, whose name comes on top


class ServerFailedError(OutboxError):
    """A server cannot be had, or did not start; the message says why."""


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    # Unseeded on purpose: runs at once, and a seed that a test set, must not give equal ports.
    for port in random.SystemRandom().sample(range(PORT_MIN, PORT_MAX), k=100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise ServerFailedError(f"no free port from {PORT_MIN} to {PORT_MAX}")


def program_named_by(variable: str) -> Path | None:
    """Return the program that the environment variable names, or None when it is not set.

    Raises:
        ServerFailedError: it is set, to something that cannot be run.
    """
    named = os.environ.get(variable)
    if not named:
        return None
    found = shutil.which(named)
    if found is None:
        raise ServerFailedError(f"{variable}={named} is no program")
    return Path(found).absolute()  # it is run from another folder


def make_folder(name: str, *, user: str | None, memory_bytes_min: int | None) -> Path:
    """Make a folder of one's own that *user* owns and can reach, and that dies with the run."""
    bases = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    if memory_bytes_min is not None and _free_bytes(MEMORY_FOLDER) >= memory_bytes_min:
        bases.insert(0, MEMORY_FOLDER)
    for base in dict.fromkeys(bases):
        if len(base) > SOCKET_PATH_LENGTH_MAX or not Path(base).is_dir():
            continue
        folder = Path(tempfile.mkdtemp(prefix=f"pm-outbox-{name}-", dir=base))
        reaper().watch_folder(folder)
        if user is None:
            return folder
        shutil.chown(folder, user=user)
        if _can_enter(folder, user):
            return folder
        folder.rmdir()
        reaper().forget_folder(folder)
    raise ServerFailedError(f"no temporary folder that {user or 'we'} can use; set TMPDIR")


def _free_bytes(folder: str) -> int:
    return shutil.disk_usage(folder).free if os.access(folder, os.W_OK) else 0


def group_of(user: str | None) -> int | None:
    """Return the main group of *user*, or None for ourselves."""
    return None if user is None else pwd.getpwnam(user).pw_gid


def _can_enter(folder: Path, user: str) -> bool:
    try:
        subprocess.run(["true"], cwd=folder, user=user, extra_groups=[], check=True)
    except PermissionError:
        return False
    return True
