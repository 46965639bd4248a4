"""Where the files of the migrations are, for those who only read some of them."""

from pathlib import Path


def migrations_folder() -> Path:
    """Return the folder in an installed package, or that at the top of a checkout."""
    here = Path(__file__).resolve()
    installed = here.with_name("migrations")
    return installed if installed.is_dir() else here.parents[3] / "migrations"
