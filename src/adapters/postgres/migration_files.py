"""The files of the migrations, and the log of them: for those who apply none.

Apart from ``migrations``, since the library that applies them takes a while to import.
"""

from pathlib import Path
from typing import Final

LOG_TABLE: Final = "outbox_migration"
"""Where, in schema pm, it is noted which were applied."""


def migrations_folder() -> Path:
    """Return the folder in an installed package, or that at the top of a checkout."""
    here = Path(__file__).resolve()
    installed = here.with_name("migrations")
    return installed if installed.is_dir() else here.parents[3] / "migrations"
