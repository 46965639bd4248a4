"""Run a program without io_uring, as a container's default filter leaves it.

``python -m tests.helpers.seccomp refuse PROGRAM ARGUMENTS…``: io_uring_setup is refused
(EPERM); with ``kill`` in place of ``refuse``, whoever calls it is killed (SIGSYS).
"""

import ctypes
import errno
import os
import struct
import sys

ACTIONS = {"refuse": 0x0005_0000 | errno.EPERM, "kill": 0x8000_0000}
ALLOW = 0x7FFF_0000
IO_URING_SETUP = 425

PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
SYSCALL_NUMBER_OFFSET = 0


class Filter(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid_io_uring(action: int) -> None:
    """Let *action* happen to this process, and to all that it starts, on io_uring_setup."""
    instructions = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in (
            (LOAD_WORD, 0, 0, SYSCALL_NUMBER_OFFSET),
            (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP),
            (RETURN, 0, 0, action),
            (RETURN, 0, 0, ALLOW),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    program = Filter(length=4, instructions=instructions)
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forbid_io_uring(ACTIONS[sys.argv[1]])
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606  # the program is the test's own
