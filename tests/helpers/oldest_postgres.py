"""The oldest Postgres that the worker supports, from where Debian puts it."""

from pathlib import Path
from typing import Final

from adapters.postgres.probe_server import VERSION_MIN

HOW_TO_GET_ONE: Final = f"on Debian: apt-get install postgresql-{VERSION_MIN}"

_BINARIES: Final = Path(f"/usr/lib/postgresql/{VERSION_MIN}/bin")


def find_binaries() -> Path | None:
    """Return the folder of its programs, or None where there is none."""
    return _BINARIES if (_BINARIES / "initdb").exists() else None
