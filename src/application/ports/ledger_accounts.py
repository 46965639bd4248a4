"""The ledger's accounts, for whoever has to check them and moves nothing."""

from collections.abc import Collection, Mapping
from typing import Protocol

from domain.transfers import Account, AccountId


class LedgerAccounts(Protocol):
    """Looks accounts up; read-only."""

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        """Return those accounts of *ids* that exist; ids out of range are not found.

        Raises:
            LedgerUnavailableError: no answer within the deadline.
            LedgerMisconfiguredError: addresses, release or the machine do not fit.
        """
        ...

    def close(self) -> None:
        """End what waits, and refuse further calls. Returns within seconds. Idempotent."""
        ...
