"""What this process holds of the machine, to see that clients give back what they took."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from tigerbeetle.client import Client

from entrypoints.sandbox.waiting import wait_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """Threads, those of foreign code included, descriptors, and clients the library knows."""

    threads: int
    descriptors: int
    clients: int

    @classmethod
    def now(cls) -> "Holdings":
        """Count."""
        return cls(
            threads=_entries("/proc/self/task"),
            descriptors=_entries("/proc/self/fd"),
            clients=len(Client._clients),
        )

    def cover(self, others: "Holdings") -> bool:
        """Whether *others* is nowhere more."""
        pairs = zip(astuple(self), astuple(others), strict=True)
        return all(mine >= theirs for mine, theirs in pairs)


def resident_bytes() -> int:
    """Return how much memory the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@contextmanager
def nothing_left() -> Iterator[None]:
    """After a block that succeeded, nothing more may be held than before it."""
    before = Holdings.now()
    yield
    try:
        wait_until(lambda: before.cover(Holdings.now()), what=f"no more is held than {before}")
    except TimeoutError as error:
        error.add_note(f"held: {Holdings.now()}")
        raise


def _entries(folder: str) -> int:
    return len(list(Path(folder).iterdir()))
