"""What the adapter needs of a TigerBeetle client, in the domain's terms where that is quick."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from tigerbeetle import Account, AccountFilter, QueryFilter

from domain.transfer_status import AnyStatus
from domain.transfers import Transfer


class Client(Protocol):
    """The synchronous client: every call blocks until the cluster answers or ``close``.

    Values must fit their fields (``chain_fault``, ``is_u128``): some that do not are bent.

    Calls may come from several threads at once. ``close`` may be called once, also while
    calls are in flight: they end with ``ClientClosedError``.
    """

    def create_transfers(self, transfers: Sequence[Transfer], /) -> list[AnyStatus]:
        """Return one status a transfer, by position."""
        ...

    def lookup_transfers(self, ids: Sequence[int], /) -> list[Transfer]:
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


ANY_ID: Final = 1
"""Looked up to see whether the cluster answers: whether anything has this id does not matter."""

Send = Callable[[Callable[[Client], list[Transfer]]], list[Transfer]]
"""Sends one request that reads transfers, and returns its answer."""

ClientFactory = Callable[[int, str], Client]
"""Makes a client of a cluster id and the cluster's addresses, ``10.0.0.1:3000,[::1]:3001``."""
