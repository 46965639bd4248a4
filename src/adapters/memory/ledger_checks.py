"""How the rules are written down: as tables of conditions, in TigerBeetle's order."""

from typing import TypeVar

S = TypeVar("S")


def first_failure(*checks: tuple[bool, S]) -> S | None:
    """Return the status of the first check whose condition holds."""
    return next((status for failed, status in checks if failed), None)
