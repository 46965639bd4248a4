"""A text file for log lines, of which a thread may write many together.

A write a line costs as much as encoding it. Those that a thread writes ``together`` are packed into
as few writes as keep each line whole: up to ``PIPE_BUF`` bytes, the kernel mixes nothing of
another process into a write to a pipe.
"""

import io
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from select import PIPE_BUF
from typing import BinaryIO, cast


class LogFile(io.TextIOWrapper):
    """UTF-8, and an escape for what is none. Within ``together``, each write is of whole lines.

    *file* has no buffer: threads would mix what they write in it into writes that are too long, and
    what a signal interrupts would be written once more at the end.
    """

    def __init__(self, file: io.RawIOBase) -> None:
        super().__init__(
            # As the interpreter does it for standard output that has no buffer.
            cast(BinaryIO, file),
            encoding="utf-8",
            errors="backslashreplace",
            write_through=True,
        )

    def write(self, text: str, /) -> int:
        """Write *text* at once; within ``together``, at the end of its block at the latest."""
        if _thread.held is None:
            return super().write(text)
        data = _thread.held[self]
        lines = text.encode("utf-8", "backslashreplace")
        if len(data) + len(lines) > PIPE_BUF:
            self.write_out(data)
        data += lines
        return len(text)

    def flush(self) -> None:
        """Do nothing within ``together``, whose end does it."""
        if _thread.held is None:
            super().flush()

    def write_out(self, data: bytearray) -> None:
        """Write *data* at once and empty it."""
        self.buffer.write(bytes(data))
        data.clear()


class _Thread(threading.local):
    held: defaultdict[LogFile, bytearray] | None = None


_thread = _Thread()


@contextmanager
def together() -> Iterator[None]:
    """Write what this thread logs in the block in few writes, however the block ends.

    Only a process that is killed within it loses lines: those of the last ``PIPE_BUF`` bytes.
    """
    outer, held = _thread.held, defaultdict[LogFile, bytearray](bytearray)
    _thread.held = held
    try:
        yield
    finally:
        _thread.held = outer
        for file, data in held.items():
            file.write_out(data)
