"""``TigerBeetleLedger``: the ledger's ports on the official client."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from tigerbeetle import TooMuchDataError

from adapters.tigerbeetle.addresses import resolve_addresses
from adapters.tigerbeetle.client import ANY_ID, Client, ClientFactory
from adapters.tigerbeetle.client_holder import ClientHolder, KeepAlive
from adapters.tigerbeetle.conversion import account_from_client, is_u128
from adapters.tigerbeetle.errors import NoAnswerError, translated
from adapters.tigerbeetle.fee_scan import transfers_of_code
from adapters.tigerbeetle.ledger_client import ledger_client
from adapters.tigerbeetle.packing import RequestLimit, leading_pack
from adapters.tigerbeetle.resolution_search import find_resolutions
from application.errors import LedgerMisconfiguredError
from domain.chains import REQUEST_EVENTS_MAX, chain_fault
from domain.ledger_requests import ChainAnswer, ChainRefused, ResolutionSearch, SearchAnswer
from domain.transfer_status import AnyStatus
from domain.transfers import Account, AccountId, Transfer, TransferId

T = TypeVar("T")


class TigerBeetleLedger:
    """Fulfils the ports ``Ledger`` and ``FeeScan``. Thread-safe: lanes share one.

    Constructing it does nothing; the client is made at the first call, in whichever
    process makes it. Each call comes back within ``deadline_s`` seconds, whatever the cluster
    does.
    ``request_events_max`` is where packing starts; the cluster's own limit is learned.
    A client that was not used for ``keep_alive_s`` seconds looks something up, lest the cluster
    evict it when others come; 0 switches that off.
    """

    def __init__(
        self,
        *,
        addresses: str,
        cluster_id: int,
        deadline_s: float = 10.0,
        request_events_max: int = REQUEST_EVENTS_MAX,
        close_timeout_s: float = 5.0,
        keep_alive_s: float = 10.0,
        client_factory: ClientFactory = ledger_client,
    ):
        self._addresses = addresses
        self._cluster_id = cluster_id
        self._deadline_s = deadline_s
        self._client_factory = client_factory
        self._clients = ClientHolder(
            self._make_client,
            close_timeout_s=close_timeout_s,
            keep_alive=KeepAlive(idle_s=keep_alive_s, timeout_s=deadline_s),
        )
        self._create_limit = RequestLimit(request_events_max, requests="create")
        self._lookup_limit = RequestLimit(request_events_max, requests="lookup")
        self._query_limit = RequestLimit(request_events_max, requests="query")

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """See ``Ledger.create_chains``."""
        faults = [chain_fault(chain) for chain in chains]
        sendable = [chain for chain, fault in zip(chains, faults, strict=True) if fault is None]
        answers = iter(self._create_all(sendable))
        return [next(answers) if fault is None else ChainRefused(fault) for fault in faults]

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """See ``Ledger.lookup``."""
        found = self._look_up(ids, lambda client, asked: client.lookup_transfers(asked))
        return {transfer.id: transfer for transfer in found}

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        """See ``LedgerAccounts.lookup_accounts``."""
        found = self._look_up(ids, lambda client, asked: client.lookup_accounts(asked))
        return {account.id: account for account in map(account_from_client, found)}

    def takes_lookups_of(self, events: int) -> bool:
        """Say whether the cluster takes look-ups of that many; raises like ``lookup``."""
        asked = [ANY_ID] * events
        try:
            self._send(lambda client: client.lookup_accounts(asked), _Deadline(self._deadline_s))
        except TooMuchDataError:
            return False
        return True

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """See ``Ledger.find_resolutions``.

        A search ends early once half of the deadline is over. So each of its requests has the
        other half, and one that is not answered by then means that the ledger is away.
        """
        deadline = _Deadline(self._deadline_s)
        try:
            return find_resolutions(
                search,
                lambda request: self._send(request, deadline),
                has_time=lambda: not deadline.is_half_over,
            )
        except TooMuchDataError as error:
            raise translated(error) from error

    def transfers_of_code(self, code: int, *, since_ns: int) -> Iterator[Transfer]:
        """See ``FeeScan.transfers_of_code``; the deadline is for each of its pages."""

        def send(request: Callable[[Client], list[Transfer]]) -> list[Transfer]:
            return self._send(request, _Deadline(self._deadline_s))

        return transfers_of_code(code, since_ns=since_ns, send=send, limit=self._query_limit)

    def close(self) -> None:
        """End waiting calls with ``LedgerUnavailableError``; later calls end so at once.

        Waits for the client's close, at most ``close_timeout_s`` seconds. May be repeated.
        """
        self._clients.close()

    def _create_all(self, chains: Sequence[tuple[Transfer, ...]]) -> list[ChainAnswer]:
        answers: list[ChainAnswer] = []
        deadline = _Deadline(self._deadline_s)
        while rest := chains[len(answers) :]:
            sizes = [len(chain) for chain in rest]
            pack = rest[: leading_pack(sizes, events_max=self._create_limit.events)]
            try:
                answers += self._create(pack, deadline)
            except TooMuchDataError:
                if len(pack) > 1:
                    self._create_limit.lower_to(sum(sizes[: len(pack)]) // 2)
                else:
                    # No request holds it. Of the limit this tells only that it is below.
                    self._create_limit.lower_to(sizes[0] - 1)
                    answers.append(ChainRefused(f"{sizes[0]} transfers exceed a request"))
        return answers

    def _create(
        self, chains: Sequence[tuple[Transfer, ...]], deadline: "_Deadline"
    ) -> list[ChainAnswer]:
        events = [member for chain in chains for member in chain]

        def request(client: Client) -> list[AnyStatus]:
            statuses = client.create_transfers(events)
            if len(statuses) != len(events):
                # Answers go by position: with one missing, none can be trusted.
                raise NoAnswerError(f"{len(statuses)} results for {len(events)} transfers")
            return statuses

        statuses = iter(self._send(request, deadline))
        return [tuple(islice(statuses, len(chain))) for chain in chains]

    def _look_up(
        self, ids: Collection[int], ask: Callable[[Client, list[int]], list[T]]
    ) -> Iterator[T]:
        """Yield what *ask* finds of *ids*, in as many requests as it takes."""
        rest = list(dict.fromkeys(filter(is_u128, ids)))
        deadline = _Deadline(self._deadline_s)
        while rest:
            asked = rest[: self._lookup_limit.events]
            try:
                found = self._ask(ask, asked, deadline)
            except TooMuchDataError as error:
                if len(asked) == 1:
                    raise translated(error) from error
                self._lookup_limit.lower_to(len(asked) // 2)
                continue
            yield from found
            rest = rest[len(asked) :]

    def _ask(
        self,
        ask: Callable[[Client, list[int]], list[T]],
        ids: list[int],
        deadline: "_Deadline",
    ) -> list[T]:
        return self._send(lambda client: ask(client, ids), deadline)

    def _send(self, request: Callable[[Client], T], deadline: "_Deadline") -> T:
        """Send one request.

        Raises:
            TooMuchDataError: nothing was sent.
            LedgerUnavailableError, LedgerMisconfiguredError: all else.
        """
        try:
            return self._clients.call(request, timeout_s=deadline.left_s())
        except TooMuchDataError:
            raise
        except Exception as error:
            problem = translated(error)
            if problem is error:
                raise
            raise problem from error

    def _make_client(self) -> Client:
        if not is_u128(self._cluster_id):
            raise LedgerMisconfiguredError("TIGERBEETLE_CLUSTER_ID must be an integer of 128 bits")
        return self._client_factory(self._cluster_id, resolve_addresses(self._addresses))


class _Deadline:
    def __init__(self, timeout_s: float):
        self._at_s = time.monotonic() + timeout_s
        self._half_s = timeout_s / 2

    @property
    def is_half_over(self) -> bool:
        """Has half of the time passed?"""
        return time.monotonic() >= self._at_s - self._half_s

    def left_s(self) -> float:
        """Seconds until the deadline.

        Raises:
            NoAnswerError: it passed between two requests; the client is not to blame.
        """
        left_s = self._at_s - time.monotonic()
        if left_s <= 0:
            raise NoAnswerError("the deadline passed between two requests")
        return left_s
