"""What is printed or logged is so once, whenever somebody presses Ctrl-C."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from entrypoints.output import checked_stdout, lossy_stderr


@contextmanager
def right_after_a_write(
    monkeypatch: pytest.MonkeyPatch, signal: type[BaseException]
) -> Iterator[None]:
    """Let *signal* come as soon as the block has written something."""
    write = os.write

    def write_and_interrupt(file: int, data: bytes) -> int:
        write(file, data)
        raise signal

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_and_interrupt)
        yield


def test_what_ctrl_c_comes_right_after_is_not_printed_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = checked_stdout()
    assert stdout is not None
    stdout.write("line\n")
    with right_after_a_write(monkeypatch, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        stdout.flush()

    stdout.flush()

    assert capfd.readouterr().out == "line\n"


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_what_a_signal_comes_right_after_is_not_logged_again(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    signal: type[BaseException],
) -> None:
    stderr = lossy_stderr()
    with right_after_a_write(monkeypatch, signal), pytest.raises(signal):
        stderr.write("line\n")

    stderr.write("the next\n")
    stderr.flush()

    assert capfd.readouterr().err == "line\nthe next\n"


def test_a_line_that_is_taken_in_parts_is_logged_whole(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    stderr = lossy_stderr()

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[:3]))
        stderr.write("a longer line\n")

    assert capfd.readouterr().err == "a longer line\n"
