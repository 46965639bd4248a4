"""``TigerBeetleAccounts``: looking accounts up on the official client."""

from collections.abc import Collection, Mapping
from typing import Final

import tigerbeetle as tb
from tigerbeetle import TooMuchDataError

from adapters.tigerbeetle.addresses import resolve_addresses
from adapters.tigerbeetle.client import Client, ClientFactory
from adapters.tigerbeetle.client_holder import ClientHolder
from adapters.tigerbeetle.conversion import account_from_client, is_u128
from adapters.tigerbeetle.errors import translated
from adapters.tigerbeetle.ledger_client import ledger_client
from adapters.tigerbeetle.packing import RequestLimit
from domain.chains import REQUEST_EVENTS_MAX
from domain.transfers import Account, AccountId

_ANY_ACCOUNT: Final = AccountId(1)
_CLOSE_TIMEOUT_S: Final = 2.0


class TigerBeetleAccounts:
    """Fulfils ``application.ports.ledger_accounts.LedgerAccounts``. Thread-safe.

    Constructing it does nothing; the client is made at the first call, and it is the only
    one that this process should have. Each request is given up after ``deadline_s`` seconds.
    """

    def __init__(
        self,
        *,
        addresses: str,
        cluster_id: int,
        deadline_s: float,
        client_factory: ClientFactory = ledger_client,
    ):
        self._deadline_s = deadline_s
        self._limit = RequestLimit(REQUEST_EVENTS_MAX)
        self._clients = ClientHolder(
            lambda: client_factory(cluster_id, resolve_addresses(addresses)),
            close_timeout_s=_CLOSE_TIMEOUT_S,
        )

    def look_up(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        """See ``LedgerAccounts.look_up``."""
        rest = list(dict.fromkeys(filter(is_u128, ids)))
        found: dict[AccountId, Account] = {}
        while rest:
            asked = rest[: self._limit.events]
            try:
                answer = self._look_up(asked)
            except TooMuchDataError as error:
                if len(asked) == 1:
                    raise translated(error) from error
                self._limit.lower_to(len(asked) // 2)
                continue
            found.update((account.id, account) for account in map(account_from_client, answer))
            rest = rest[len(asked) :]
        return found

    def takes_requests_of(self, events: int) -> bool:
        """Say whether the cluster takes look-ups of that many; raises like ``look_up``."""
        try:
            self._look_up([_ANY_ACCOUNT] * events)
        except TooMuchDataError:
            return False
        return True

    def close(self) -> None:
        """See ``LedgerAccounts.close``."""
        self._clients.close()

    def _look_up(self, ids: list[AccountId]) -> list[tb.Account]:
        def request(client: Client) -> list[tb.Account]:
            return client.lookup_accounts(list[int](ids))

        try:
            return self._clients.call(request, timeout_s=self._deadline_s)
        except TooMuchDataError:
            raise
        except Exception as error:
            problem = translated(error)
            if problem is error:
                raise
            raise problem from error
