"""What processes use, as the kernel counts it."""

import os
from pathlib import Path
from typing import Final

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
# In /proc/PID/stat, counted from the field behind the command's name.
_CPU_TIMES: Final = slice(11, 15)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of *pid*, its children, and theirs, those that have ended included."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # it has ended, and its parent has what it used
    times = stat.rpartition(")")[2].split()[_CPU_TIMES]
    return sum(map(int, times)) / _TICKS_PER_S + sum(map(cpu_s, _children(pid)))


def resident_bytes(pid: int) -> int:
    """Return how much memory *pid* has in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
