"""The adapter's client by the official client's own conversion of each transfer."""

from collections.abc import Sequence
from typing import cast

import tigerbeetle as tb
from tigerbeetle import bindings

from adapters.tigerbeetle.conversion import from_client, status_from_client, to_client
from domain.transfer_status import AnyStatus
from domain.transfers import Transfer


class PlainClient:
    """Fulfils ``Client`` by public methods alone, so in every release.

    A status of a newer server never comes back: the official client raises in its callback.
    """

    def __init__(self, official: tb.ClientSync) -> None:
        self._official = official

    def create_transfers(self, transfers: Sequence[Transfer], /) -> list[AnyStatus]:
        """See ``Client.create_transfers``."""
        results = self._official.create_transfers(list(map(to_client, transfers)))
        return list(map(status_from_client, results))

    def lookup_transfers(self, ids: Sequence[int], /) -> list[Transfer]:
        """See ``Client.lookup_transfers``."""
        return list(map(from_client, self._official.lookup_transfers(list(ids))))

    def lookup_accounts(self, accounts: list[int], /) -> list[tb.Account]:
        """See ``Client.lookup_accounts``."""
        return self._official.lookup_accounts(accounts)

    def query_transfers(self, query_filter: tb.QueryFilter, /) -> list[Transfer]:
        """See ``Client.query_transfers``."""
        return list(map(from_client, self._official.query_transfers(query_filter)))

    def get_account_transfers(self, account_filter: tb.AccountFilter, /) -> list[Transfer]:
        """See ``Client.get_account_transfers``."""
        return list(map(from_client, self._official.get_account_transfers(account_filter)))

    def close(self) -> None:
        """See ``Client.close``."""
        self._official.close()


class MendedClient(PlainClient):
    """Fulfils ``Client``, and hands over statuses of newer servers.

    It leans on the same ``_submit`` as ``PackedClient``, yet on less of what lies behind it:
    events are of the client's own types, one for each transfer, and only the result's class is
    another. So it may still be right in a release whose conversion or whose layout of a transfer
    has changed; where ``_submit`` itself has, only the plain way is left.
    """

    def create_transfers(self, transfers: Sequence[Transfer], /) -> list[AnyStatus]:
        """See ``Client.create_transfers``."""
        results = self._official._submit(
            tb.Operation.CREATE_TRANSFERS,
            list(map(to_client, transfers)),
            bindings.CTransfer,
            _AnyStatusResult,
        )
        return list(map(status_from_client, results))


class _AnyStatusResult(bindings.CCreateTransferResult):
    def to_python(self) -> tb.CreateTransferResult:
        return tb.CreateTransferResult(
            timestamp=self.timestamp, status=cast(tb.CreateTransferStatus, self.status)
        )
