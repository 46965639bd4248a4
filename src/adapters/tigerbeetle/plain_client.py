"""``PlainClient``: the adapter's client by the official client's public methods alone."""

from collections.abc import Sequence

import tigerbeetle as tb

from adapters.tigerbeetle.conversion import from_client, status_from_client, to_client
from domain.transfer_status import AnyStatus
from domain.transfers import Transfer, TransferId


class PlainClient:
    """Fulfils ``Client``. The official client converts each transfer, whatever its layout."""

    def __init__(self, official: tb.ClientSync) -> None:
        self._official = official

    def create_transfers(self, transfers: Sequence[Transfer], /) -> Sequence[AnyStatus]:
        """See ``Client.create_transfers``."""
        results = self._official.create_transfers(list(map(to_client, transfers)))
        return list(map(status_from_client, results))

    def lookup_transfers(self, ids: Sequence[TransferId], /) -> Sequence[Transfer]:
        """See ``Client.lookup_transfers``."""
        return list(map(from_client, self._official.lookup_transfers(list[int](ids))))

    def lookup_accounts(self, accounts: list[int], /) -> list[tb.Account]:
        """See ``Client.lookup_accounts``."""
        return self._official.lookup_accounts(accounts)

    def query_transfers(self, query_filter: tb.QueryFilter, /) -> Sequence[Transfer]:
        """See ``Client.query_transfers``."""
        return list(map(from_client, self._official.query_transfers(query_filter)))

    def get_account_transfers(self, account_filter: tb.AccountFilter, /) -> Sequence[Transfer]:
        """See ``Client.get_account_transfers``."""
        return list(map(from_client, self._official.get_account_transfers(account_filter)))

    def close(self) -> None:
        """See ``Client.close``."""
        self._official.close()
