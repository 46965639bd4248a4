"""What is printed is printed once, whenever somebody presses Ctrl-C."""

import os

import pytest

from entrypoints.output import checked_stdout


def test_what_ctrl_c_comes_right_after_is_not_printed_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def write_and_interrupt(file: int, data: bytes) -> int:
        write(file, data)
        raise KeyboardInterrupt

    stdout = checked_stdout()
    assert stdout is not None
    stdout.write("line\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            stdout.flush()

    stdout.flush()

    assert capfd.readouterr().out == "line\n"
