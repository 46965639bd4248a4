"""All PSP fees that the ledger has charged in a time, for ``duplicate_fees``."""

from collections.abc import Iterator
from typing import Protocol

from domain.transfers import Transfer


class FeeScan(Protocol):
    """Reads the ledger from one end to the other; read-only."""

    def transfers_of_code(self, code: int, *, since_ns: int) -> Iterator[Transfer]:
        """Yield every transfer of *code* with a timestamp from *since_ns* on, oldest first.

        It is read page by page while it is consumed, so it never is in memory as a whole.
        What is created meanwhile may or may not be among it.

        Raises, while iterating:
            LedgerUnavailableError, LedgerMisconfiguredError: as ``Ledger``.
        """
        ...
