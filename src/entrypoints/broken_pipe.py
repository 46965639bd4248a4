"""How a command ends whose output nobody reads any more: as if by the signal for that."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def ending_with_the_reader() -> Iterator[None]:
    """Exit with 141 once nobody reads stdout, as ``head`` leaves it.

    Left alone it would be 1, by which a comparison says that something differs. After Ctrl-C it
    is 130 anyway.
    """
    try:
        yield
    except BrokenPipeError:
        # What is left in the buffer would fail once more at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(128 + signal.SIGPIPE) from None
