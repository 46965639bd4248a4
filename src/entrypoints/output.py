"""Standard output and standard error, which take whatever text there is.

A failure to write to the first has a name; one to write to the second does not count.
"""

import errno
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from entrypoints.log_file import LogFile

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT: Final = 1
_STDERR: Final = 2


class OutputLostError(Exception):
    """Standard output took no more; *is_unread*: whoever read it is gone, which is their right.

    Not an ``OSError``: click would end with 1 for a pipe that is closed, as if it were an answer.
    """

    def __init__(self, reason: str, *, is_unread: bool = False) -> None:
        super().__init__(f"standard output cannot be written: {reason}")
        self.is_unread = is_unread


class _CheckedFile(io.FileIO):
    """A file that says once that it takes no more, and drops what still comes.

    So that the interpreter, which flushes at its end, has nothing to add.
    """

    _is_lost = False

    def write(self, data: "ReadableBuffer", /) -> int:
        if self._is_lost:
            return memoryview(data).nbytes
        try:
            return os.write(self.fileno(), data)
        except OSError as error:
            self._is_lost = True
            reason = error.strerror or str(error)
            raise OutputLostError(reason, is_unread=error.errno == errno.EPIPE) from error
        except BaseException:
            # Ctrl-C comes after the write as a rule: the buffer does not know, and would repeat it.
            self._is_lost = True
            raise


def checked_stdout() -> TextIO | None:
    """Open stdout such that writing to it raises OutputLostError, and nothing else.

    A character that its encoding lacks is written as an escape. None where it was closed when
    we were started; its number may be that of a connection by now.
    """
    stdout: TextIO | None = sys.__stdout__
    if stdout is None:
        return None
    return io.TextIOWrapper(
        io.BufferedWriter(_CheckedFile(_STDOUT, "w", closefd=False)),
        encoding=stdout.encoding,
        errors="backslashreplace",
        line_buffering=stdout.isatty(),
    )


def require_stdout() -> TextIO:
    """Return stdout, for what makes no sense without; raise OutputLostError if it was closed."""
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        raise OutputLostError("it is closed")
    return stdout


class _LossyFile(io.FileIO):
    """A file that takes all of what it is given, and drops what it cannot take."""

    def write(self, data: "ReadableBuffer", /) -> int:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self.fileno(), rest) :]
        except OSError:
            pass
        return memoryview(data).nbytes


def lossy_stderr() -> LogFile:
    """Open stderr such that writing never fails.

    Its reader may be gone, its disk full: that is no reason to stop settling. Since nothing
    stays behind in a buffer, the interpreter neither fails nor repeats anything at its end.
    """
    if sys.__stderr__ is None:
        # It was closed when we were started; its number may be that of a connection by now.
        return LogFile(Path(os.devnull).open("wb", buffering=0))
    return LogFile(_LossyFile(_STDERR, "w", closefd=False))
