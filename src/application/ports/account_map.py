"""Where PM keeps which ledger account a code stands for."""

from collections.abc import Collection, Mapping
from typing import Protocol

from domain.fees import AccountCode, MappedAccount


class AccountMap(Protocol):
    """``pm.tb_account_map``, read-only."""

    def read(
        self, *, first: Collection[AccountCode], limit: int
    ) -> Mapping[AccountCode, MappedAccount]:
        """Return up to *limit* rows: those of the codes *first*, then others by their codes.

        Raises:
            DatabaseUnavailableError: Postgres is away or did not answer in time.
            MisconfiguredError: wrong password, database, schema or rights.
        """
        ...
