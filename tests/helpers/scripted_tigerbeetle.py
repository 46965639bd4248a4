"""A scripted stand-in for the adapter's client, to put under the real adapter.

It keeps the official client's manners, the bad ones included: a blocked call ends by nothing
but an answer or ``close`` from another thread, a second ``close`` raises KeyError, and no
process but the one that made it may touch it.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import tigerbeetle as tb
from tigerbeetle import ClientClosedError, TooMuchDataError

from domain.transfer_status import AnyStatus, TransferStatus
from domain.transfers import Transfer

T = TypeVar("T")

WAIT_S = 10.0
"""How long a test waits for something that must come."""


class Step(Protocol):
    """What one call does; *answer* gives what a healthy cluster would say."""

    def __call__(self, client: "ScriptedClient", answer: Callable[[], Any]) -> Any:
        """Return the call's result, or raise."""
        ...


def answers(client: "ScriptedClient", answer: Callable[[], Any]) -> Any:
    """The step of a healthy cluster."""
    return answer()


def raises(error: Exception) -> Step:
    """Return the step that raises *error*; the cluster did nothing."""

    def step(client: "ScriptedClient", answer: Callable[[], Any]) -> Any:
        raise error

    return step


def replies(result: object) -> Step:
    """Return the step that answers *result*, whatever was asked."""

    def step(client: "ScriptedClient", answer: Callable[[], Any]) -> Any:
        return result

    return step


class Hang:
    """The step that blocks until ``release`` (then it answers) or the client's ``close``."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self._woken = threading.Event()

    def __call__(self, client: "ScriptedClient", answer: Callable[[], Any]) -> Any:
        """Block."""
        client.hangs.append(self)
        self.entered.set()
        self._woken.wait()
        if client.is_closed:
            raise ClientClosedError
        return answer()

    def wait_entered(self) -> None:
        """Return once a call is blocked here."""
        assert self.entered.wait(WAIT_S), "no call came"

    def release(self) -> None:
        """Let the blocked call go on."""
        self._woken.set()


class ScriptedTigerBeetle:
    """A cluster as its clients see it; ``make_client`` is the adapter's client factory.

    Each call, of whichever client, takes the next of ``steps``; when there are none left the
    cluster answers: creates are ``CREATED``, look-ups and queries find ``transfers`` and
    ``accounts``.
    """

    def __init__(self, *, create_events_max: int = 8189, lookup_events_max: int = 8189) -> None:
        self.create_events_max = create_events_max
        self.lookup_events_max = lookup_events_max
        self.clients: list[ScriptedClient] = []
        self.addresses: list[str] = []
        self.steps: deque[Step] = deque()
        self.init_errors: deque[Exception] = deque()
        self.requests: list[tuple[str, list[Any]]] = []
        self.call_threads: set[str] = set()
        self.transfers: list[Transfer] = []
        self.accounts: list[tb.Account] = []
        self.close_entered = threading.Event()
        self.close_may_go_on = threading.Event()
        self.close_may_go_on.set()
        self.close_error: Exception | None = None
        self._lock = threading.Lock()

    def script(self, *steps: Step) -> None:
        """Add *steps* for the next calls."""
        self.steps.extend(steps)

    def make_client(self, cluster_id: int, addresses: str) -> "ScriptedClient":
        """Make a client, or raise the next of ``init_errors``."""
        with self._lock:
            self.addresses.append(addresses)
            if self.init_errors:
                raise self.init_errors.popleft()
            client = ScriptedClient(self)
            self.clients.append(client)
            return client

    @property
    def closes(self) -> list[int]:
        """How often each client was closed."""
        return [client.closes for client in self.clients]

    def sent(self, operation: str) -> list[list[Any]]:
        """Return what the requests of *operation* asked, those refused as too much included."""
        return [events for name, events in self.requests if name == operation]

    def run(
        self, client: "ScriptedClient", operation: str, events: list[Any], answer: Callable[[], T]
    ) -> T:
        """Carry out one call by the script."""
        with self._lock:
            self.requests.append((operation, events))
            self.call_threads.add(threading.current_thread().name)
            step = self.steps.popleft() if self.steps else answers
        result: T = step(client, answer)
        return result


class ScriptedClient:
    """One client of a ``ScriptedTigerBeetle``."""

    def __init__(self, cluster: ScriptedTigerBeetle) -> None:
        self.closes = 0
        self.is_closed = False
        self.hangs: list[Hang] = []
        self._cluster = cluster
        self._pid = os.getpid()

    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        """Answer ``CREATED`` for each transfer."""

        def answer() -> list[AnyStatus]:
            if len(transfers) > self._cluster.create_events_max:
                raise TooMuchDataError
            return [TransferStatus.CREATED for _ in transfers]

        return self._call("create_transfers", list(transfers), answer)

    def lookup_transfers(self, ids: Sequence[int]) -> list[Transfer]:
        """Answer the cluster's transfers of these ids."""

        def answer() -> list[Transfer]:
            if len(ids) > self._cluster.lookup_events_max:
                raise TooMuchDataError
            return [found for found in self._cluster.transfers if found.id in ids]

        return self._call("lookup_transfers", list(ids), answer)

    def lookup_accounts(self, accounts: list[int]) -> list[tb.Account]:
        """Answer the cluster's accounts of these ids."""

        def answer() -> list[tb.Account]:
            if len(accounts) > self._cluster.lookup_events_max:
                raise TooMuchDataError
            return [found for found in self._cluster.accounts if found.id in accounts]

        return self._call("lookup_accounts", accounts, answer)

    def query_transfers(self, query_filter: tb.QueryFilter) -> list[Transfer]:
        """Answer a page of the cluster's transfers."""

        def answer() -> list[Transfer]:
            return self._page(
                query_filter,
                lambda found: query_filter.user_data_128 in (0, found.user_data_128),
            )

        return self._call("query_transfers", [query_filter], answer)

    def get_account_transfers(self, account_filter: tb.AccountFilter) -> list[Transfer]:
        """Answer a page of an account's transfers."""
        wants_debits = bool(account_filter.flags & tb.AccountFilterFlags.DEBITS)
        wants_credits = bool(account_filter.flags & tb.AccountFilterFlags.CREDITS)

        def concerns_account(found: Transfer) -> bool:
            return (wants_debits and found.debit_account_id == account_filter.account_id) or (
                wants_credits and found.credit_account_id == account_filter.account_id
            )

        def answer() -> list[Transfer]:
            return self._page(account_filter, concerns_account)

        return self._call("get_account_transfers", [account_filter], answer)

    def close(self) -> None:
        """End blocked calls with ``ClientClosedError``."""
        self._check_process()
        self.closes += 1
        if self.closes > 1:
            raise KeyError(self)
        self._cluster.close_entered.set()
        self._cluster.close_may_go_on.wait()
        self.is_closed = True
        for hang in self.hangs:
            hang.release()
        if self._cluster.close_error is not None:
            raise self._cluster.close_error

    def _call(self, operation: str, events: list[Any], answer: Callable[[], T]) -> T:
        self._check_process()
        if self.is_closed:
            raise ClientClosedError
        return self._cluster.run(self, operation, events, answer)

    def _page(
        self,
        query: tb.QueryFilter | tb.AccountFilter,
        matches: Callable[[Transfer], bool],
    ) -> list[Transfer]:
        found = [
            transfer
            for transfer in sorted(self._cluster.transfers, key=lambda found: found.timestamp_ns)
            if matches(transfer)
            and query.code in (0, transfer.code)
            and query.timestamp_min <= transfer.timestamp_ns
            and (query.timestamp_max == 0 or transfer.timestamp_ns <= query.timestamp_max)
        ]
        return found[: query.limit]

    def _check_process(self) -> None:
        assert os.getpid() == self._pid, "a forked child touched its parent's client"
