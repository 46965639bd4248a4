"""Lines that are written together: few writes, whole lines, at once where it is not asked for."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from select import PIPE_BUF
from typing import TYPE_CHECKING

import pytest

from entrypoints.log_file import LogFile, together

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LINE = '{"event": "outbox: intent settled ฿"}\n'


class Recorder(io.RawIOBase):
    """Takes down each write."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.may_write = threading.Event()
        self.may_write.set()

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        assert self.may_write.wait(60)
        self.writes.append(bytes(data))
        return memoryview(data).nbytes


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def file(recorder: Recorder) -> LogFile:
    return LogFile(recorder)


@contextmanager
def another_thread_writing_together(file: LogFile) -> Iterator[None]:
    """Run the block while a thread holds a line of its own."""
    holds, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with together():
            file.write("theirs\n")
            holds.set()
            may_end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(60)
    try:
        yield
    finally:
        may_end.set()
        thread.join()


def test_a_line_alone_is_written_at_once(file: LogFile, recorder: Recorder) -> None:
    file.write(LINE)

    assert recorder.writes == [LINE.encode()]


def test_lines_together_take_few_writes_and_none_is_torn(file: LogFile, recorder: Recorder) -> None:
    with together():
        for number in range(1_000):
            file.write(f"{number} {LINE}")
            file.flush()

    written = b"".join(recorder.writes).decode().splitlines(keepends=True)
    assert written == [f"{number} {LINE}" for number in range(1_000)]
    assert all(write.endswith(b"\n") and len(write) <= PIPE_BUF for write in recorder.writes)
    assert len(recorder.writes) <= 1.1 * len(b"".join(recorder.writes)) / PIPE_BUF + 1


def test_a_long_line_is_written_whole(file: LogFile, recorder: Recorder) -> None:
    long = "x" * 3 * PIPE_BUF + "\n"

    with together():
        for line in (LINE, long, LINE):
            file.write(line)

    assert b"".join(recorder.writes).decode() == LINE + long + LINE


def test_lines_are_out_when_the_block_ends_badly(file: LogFile, recorder: Recorder) -> None:
    def write_and_fail() -> None:
        with together():
            file.write(LINE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()

    assert recorder.writes == [LINE.encode()]
    file.write("after\n")
    assert recorder.writes == [LINE.encode(), b"after\n"]


def test_threads_that_end_at_once_share_no_write(file: LogFile, recorder: Recorder) -> None:
    lines = [f"{number:0{PIPE_BUF // 2}}\n" for number in range(40)]

    def log(line: str) -> None:
        with together():
            file.write(line)

    # Like a pipe that is full, until they queue up.
    recorder.may_write.clear()
    threads = [threading.Thread(target=log, args=[line]) for line in lines]
    for thread in threads:
        thread.start()
    recorder.may_write.set()
    for thread in threads:
        thread.join(60)

    assert sorted(recorder.writes) == [line.encode() for line in lines]


def test_a_line_of_another_thread_does_not_wait(file: LogFile, recorder: Recorder) -> None:
    with another_thread_writing_together(file):
        file.write(LINE)
        assert recorder.writes == [LINE.encode()]

    assert recorder.writes == [LINE.encode(), b"theirs\n"]


def test_together_within_together_writes_at_its_own_end(file: LogFile, recorder: Recorder) -> None:
    with together():
        file.write("outer\n")
        with together():
            file.write("inner\n")
        assert recorder.writes == [b"inner\n"]

    assert recorder.writes == [b"inner\n", b"outer\n"]


def test_what_is_no_character_is_escaped(file: LogFile, recorder: Recorder) -> None:
    file.write("\ud800\n")
    with together():
        file.write("\ud800\n")

    assert recorder.writes == [rb"\ud800" + b"\n"] * 2
