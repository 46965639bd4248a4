"""What the adapter needs of a TigerBeetle client; the official one fits."""

from collections.abc import Callable
from typing import Protocol

from tigerbeetle import Account, AccountFilter, CreateTransferResult, QueryFilter, Transfer


class Client(Protocol):
    """The synchronous client: every call blocks until the cluster answers or ``close``.

    Calls may come from several threads at once. ``close`` may be called once, also while
    calls are in flight: they end with ``ClientClosedError``.
    """

    def create_transfers(self, transfers: list[Transfer], /) -> list[CreateTransferResult]:
        """Return one result a transfer, by position."""
        ...

    def lookup_transfers(self, transfers: list[int], /) -> list[Transfer]:
        """Return those transfers that exist."""
        ...

    def lookup_accounts(self, accounts: list[int], /) -> list[Account]:
        """Return those accounts that exist."""
        ...

    def query_transfers(self, query_filter: QueryFilter, /) -> list[Transfer]:
        """Return a page of the transfers that match, by timestamp."""
        ...

    def get_account_transfers(self, account_filter: AccountFilter, /) -> list[Transfer]:
        """Return a page of an account's transfers that match, by timestamp."""
        ...

    def close(self) -> None:
        """Release the client's thread, memory and connections."""
        ...


ClientFactory = Callable[[int, str], Client]
"""Makes a client of a cluster id and the cluster's addresses, ``10.0.0.1:3000,[::1]:3001``."""
