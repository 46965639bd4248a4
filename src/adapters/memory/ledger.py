"""A ledger in memory that answers as a TigerBeetle 0.17.9 server would.

Time is the ledger's own: events are stamped with consecutive nanoseconds within a
request and never across two, and a pending transfer expires by these stamps.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from adapters.memory.ledger_account_status import AccountStatus
from adapters.memory.ledger_accounts import ACCOUNT_RULES
from adapters.memory.ledger_ranges import misfits
from adapters.memory.ledger_request import execute
from adapters.memory.ledger_state import LedgerState
from adapters.memory.ledger_transfers import TRANSFER_RULES
from domain.chains import REQUEST_EVENTS_MAX, chain_fault, is_unsigned
from domain.ledger_requests import ChainAnswer, ChainRefused, ResolutionSearch, SearchAnswer
from domain.transfer_status import AnyStatus
from domain.transfers import Account, AccountId, Transfer, TransferId

R = TypeVar("R", Account, Transfer)


class InMemoryLedger:
    """Implements the ports ``Ledger`` and ``FeeScan``, and under them TigerBeetle's requests.

    ``now_ns`` is the clock, in ns since the epoch. Threads may share a ledger: requests
    are carried out one after the other, each as a whole.
    """

    def __init__(
        self,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        request_events_max: int = REQUEST_EVENTS_MAX,
    ) -> None:
        self._now_ns = now_ns
        self._request_events_max = request_events_max
        self._skipped_ns = 0
        self._last_ns = 0
        self._state = LedgerState()
        self._lock = threading.Lock()

    def advance_ns(self, duration_ns: int) -> None:
        """Let *duration_ns* pass at once; what expires by it is released at the next request.

        It counts from the last event, whose timestamp may be ahead of ``now_ns``.
        """
        with self._lock:
            ahead_ns = max(self._last_ns - self._clock_ns(), 0)
            self._skipped_ns += ahead_ns + duration_ns

    # The port.

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """See the port. Chains are packed into as few requests as their order allows."""
        answers: list[ChainAnswer] = [ChainRefused("not sent")] * len(chains)
        sendable: list[int] = []
        for position, chain in enumerate(chains):
            refusal = self._refusal_of(chain)
            if refusal is None:
                sendable.append(position)
            else:
                answers[position] = ChainRefused(refusal)
        for request in self._pack(sendable, chains):
            statuses = iter(
                self.create_transfers([member for at in request for member in chains[at]])
            )
            for at in request:
                answers[at] = tuple(next(statuses) for _ in chains[at])
        return answers

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """See the port."""
        return {transfer.id: transfer for transfer in self.lookup_transfers(ids)}

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """See the port. The answer is in order of time, and holds all that is asked for, only."""
        with self._lock:
            self._begin_request(events=0)
            return SearchAnswer(self._found(search))

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        """See the port."""
        with self._lock:
            self._begin_request(events=0)
            accounts = self._state.accounts
            return {id_: accounts[id_] for id_ in ids if is_unsigned(id_, 128) and id_ in accounts}

    def transfers_of_code(self, code: int, *, since_ns: int) -> Iterator[Transfer]:
        """See ``FeeScan``."""
        transfers = self.all_transfers()
        return (one for one in transfers if one.code == code and one.timestamp_ns >= since_ns)

    def close(self) -> None:
        """See the port. Nothing ever waits here, and a test may look at the end: it stays open."""

    # TigerBeetle's requests.

    def create_accounts(self, accounts: Sequence[Account]) -> list[AccountStatus]:
        """Create accounts as one request; a status for each, by position.

        Raises:
            ValueError: too many accounts for a request, or a value that cannot be sent.
        """
        self._check_request(accounts)
        with self._lock:
            first_ns = self._begin_request(events=len(accounts))
            return execute(self._state, ACCOUNT_RULES, accounts, first_ns=first_ns)

    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        """Create transfers as one request; a status for each, by position.

        Raises:
            ValueError: too many transfers for a request, or a value that cannot be sent.
        """
        self._check_request(transfers)
        with self._lock:
            first_ns = self._begin_request(events=len(transfers))
            return list(execute(self._state, TRANSFER_RULES, transfers, first_ns=first_ns))

    def lookup_transfers(self, ids: Sequence[TransferId]) -> list[Transfer]:
        """Return those transfers of *ids* that exist, in the order of *ids*."""
        with self._lock:
            self._begin_request(events=0)
            transfers = self._state.transfers
            return [transfers[id_] for id_ in ids if is_unsigned(id_, 128) and id_ in transfers]

    def all_accounts(self) -> list[Account]:
        """Return every account, in order of time."""
        with self._lock:
            self._begin_request(events=0)
            return list(self._state.accounts.values())

    def all_transfers(self) -> list[Transfer]:
        """Return every transfer, in order of time."""
        with self._lock:
            self._begin_request(events=0)
            return list(self._state.transfers.values())

    def _clock_ns(self) -> int:
        return self._now_ns() + self._skipped_ns

    def _begin_request(self, *, events: int) -> int:
        """Let time pass, expire what is due, and return the first event's timestamp in ns.

        The nanosecond before the first event belongs to no event, which keeps the
        events of two requests apart.
        """
        begin_ns = max(self._last_ns + 1, self._clock_ns())
        self._last_ns = begin_ns + events
        self._state.expire(begin_ns)
        return begin_ns + 1

    def _check_request(self, records: Sequence[R]) -> None:
        if len(records) > self._request_events_max:
            raise ValueError(
                f"{len(records)} events, a request takes {self._request_events_max} at most"
            )
        for record in records:
            if names := misfits(record):
                raise ValueError(f"out of range: {', '.join(names)}")

    def _refusal_of(self, chain: tuple[Transfer, ...]) -> str | None:
        if len(chain) > self._request_events_max:
            return (
                f"a chain of {len(chain)} transfers,"
                f" a request takes {self._request_events_max} at most"
            )
        return chain_fault(chain)

    def _pack(
        self, positions: Sequence[int], chains: Sequence[tuple[Transfer, ...]]
    ) -> Iterator[list[int]]:
        request: list[int] = []
        events = 0
        for position in positions:
            if request and events + len(chains[position]) > self._request_events_max:
                yield request
                request, events = [], 0
            request.append(position)
            events += len(chains[position])
        if request:
            yield request

    def _found(self, search: ResolutionSearch) -> tuple[Transfer, ...]:
        state = self._state
        found: dict[TransferId, Transfer] = {}
        for pending in search.pendings:
            resolving_id = state.resolved_by.get(pending.id)
            if resolving_id is None:
                continue
            resolving = state.transfers[resolving_id]
            found[resolving.id] = resolving
            next_id = state.transfers_by_timestamp.get(resolving.timestamp_ns + 1)
            if next_id is None:
                continue
            neighbour = state.transfers[next_id]
            if (neighbour.code, neighbour.credit_account_id) == (
                search.fee_code,
                search.fee_credit_account_id,
            ):
                found[neighbour.id] = neighbour
        for transfer in state.transfers.values():
            if (transfer.code, transfer.user_data_128) == (
                search.fee_code,
                search.intent_id.int,
            ):
                found[transfer.id] = transfer
        return tuple(sorted(found.values(), key=lambda transfer: transfer.timestamp_ns))
