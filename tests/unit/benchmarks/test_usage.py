"""What the kernel counts of processes."""

import mmap
import os
import subprocess
import sys

from benchmarks.usage import cpu_s, resident_bytes

BYTES = 64 * 2**20
WORK = "import time\nwhile time.process_time() < 0.2: pass\n"


def test_work_of_a_child_that_has_ended_counts_for_its_parent() -> None:
    before = cpu_s(os.getpid())
    subprocess.run([sys.executable, "-c", WORK], check=True)

    assert cpu_s(os.getpid()) - before >= 0.1


def test_work_of_a_child_that_lives_counts_for_its_parent() -> None:
    waits = [sys.executable, "-c", WORK + "print(flush=True)\ninput()"]
    before = cpu_s(os.getpid())
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        used = cpu_s(os.getpid()) - before
        child.communicate(b"\n")

    assert used >= 0.1


def test_a_process_that_is_gone_uses_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()

    assert cpu_s(child.pid) == 0.0


def test_memory_that_is_touched_is_resident() -> None:
    before = resident_bytes(os.getpid())
    with mmap.mmap(-1, BYTES) as room:
        room.write(b"x" * BYTES)

        assert resident_bytes(os.getpid()) - before > BYTES // 2
