"""Can this process use io_uring? Where it cannot, making a TigerBeetle client aborts it.

Docker (25 and later) and containerd refuse io_uring by default, as do some kernels' settings.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from adapters.tigerbeetle import io_uring_check

IO_URING_REMEDY: Final = (
    "allow io_uring_setup, io_uring_enter and io_uring_register: in a container by"
    " security_opt seccomp=ops/seccomp.json (or seccomp=unconfined), on the host by"
    " sysctl kernel.io_uring_disabled=0"
)
_TIMEOUT_S: Final = 10.0


def io_uring_fault() -> str | None:
    """Return why io_uring cannot be used; None when it can, or when nobody can tell.

    It is tried in a child process, which a strict filter may kill. The child inherits every
    restriction of this process, so what it may do, we may.
    """
    program = [sys.executable, "-I", "-S", str(Path(io_uring_check.__file__))]
    try:
        code = subprocess.run(  # noqa: S603  # our own program
            program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        ).returncode
    except (OSError, subprocess.SubprocessError):
        return None
    if code == -signal.SIGSYS:
        return "a filter of system calls kills whoever uses io_uring"
    if code > io_uring_check.REFUSED_BASE:
        return f"io_uring is refused: {os.strerror(code - io_uring_check.REFUSED_BASE)}"
    return None
