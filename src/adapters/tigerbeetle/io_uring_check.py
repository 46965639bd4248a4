"""A program that tells by its exit code whether io_uring can be used: 0, or why not.

Run it in a process of its own. Where a seccomp filter kills instead of refusing, that is all
that dies. It needs nothing but the standard library.
"""

import ctypes
import errno
import os
import sys
from typing import Final

# The same numbers on every architecture.
_IO_URING_SETUP: Final = 425
_IO_URING_ENTER: Final = 426

REFUSED_BASE: Final = 100
"""A refusal is told as this plus its errno, so that no failure of Python's looks like one."""

_ENTRIES: Final = 32
_PARAMS_BYTES: Final = 120


def main() -> int:
    """Make a ring, enter it once without work, and close it."""
    libc = ctypes.CDLL(None, use_errno=True)
    params = ctypes.create_string_buffer(_PARAMS_BYTES)
    ring = libc.syscall(_IO_URING_SETUP, _ENTRIES, params)
    if ring < 0:
        return _refused()
    try:
        entered = libc.syscall(_IO_URING_ENTER, ring, 0, 0, 0, None, 0)
        return 0 if entered >= 0 else _refused()
    finally:
        os.close(ring)


def _refused() -> int:
    return REFUSED_BASE + (ctypes.get_errno() or errno.EPERM)


if __name__ == "__main__":
    sys.exit(main())
