"""How a transaction begins: with all that it relies on, in one message to the server.

Settings of a session would not do. A pooler in transaction mode refuses them when the session
starts, and lends each transaction another one; so every transaction brings its own.
"""

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Final, Literal

STATEMENT_TIMEOUT_MS: Final = 30_000
LOCK_TIMEOUT_MS: Final = 5_000
IDLE_TIMEOUT_MS: Final = 120_000
"""Longer than the ledger may take within a claim. A frozen worker must give its locks back."""

# ``-c name=value`` or ``--name=value``, as libpq's ``options`` and PGOPTIONS have it.
_OPTION: Final = re.compile(r"(?:-c\s*|--)([\w.-]+)\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What one kind of transaction relies on.

    READ COMMITTED is what the claim's fresh statement needs, whatever the database's own
    default is. ``compiles`` is whether the server may compile statements that look dear.
    """

    isolation: Literal["READ COMMITTED", "REPEATABLE READ"] = "READ COMMITTED"
    is_read_only: bool = False
    compiles: bool = True
    statement_timeout_ms: int = STATEMENT_TIMEOUT_MS

    def message(self, options: str) -> str:
        """Return the statements; what *options* of the connection set is left as it is."""
        given = _names(options)
        settings = {
            "lock_timeout": f"{LOCK_TIMEOUT_MS}ms",
            "statement_timeout": f"{self.statement_timeout_ms}ms",
            "idle_in_transaction_session_timeout": f"{IDLE_TIMEOUT_MS}ms",
            # The driver reads times in this form only, whatever the role's own is.
            "datestyle": "iso",
            "timezone": "utc",
        }
        if not self.compiles:
            settings["jit"] = "off"
        mode = " READ ONLY" if self.is_read_only else ""
        return f"BEGIN ISOLATION LEVEL {self.isolation}{mode}" + "".join(
            f"; SET LOCAL {name} = '{value}'"
            for name, value in settings.items()
            if name not in given
        )


def _names(options: str) -> Set[str]:
    return {name.lower().replace("-", "_") for name in _OPTION.findall(options)}
