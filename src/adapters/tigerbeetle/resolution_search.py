"""Find who resolved pending transfers, when the ids are not ours.

A pending transfer's record never tells. A post or void inherits the ``user_data_128`` of
its pending transfer (the intent's id, if the producer set it), its debit account and its
code; so it is looked for by the first, and failing that in the account's later transfers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import structlog
import tigerbeetle as tb

from adapters.tigerbeetle.client import Send
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfers import Transfer

log = structlog.get_logger(__name__)

PAGE_EVENTS: Final = 1_000
"""Transfers asked for at a time: below what any configuration of a cluster answers at once."""

PAGES_MAX: Final = 20
"""Pages read of one intent or account; a search that ends there says so, and in the log."""

HasTime = Callable[[], bool]
"""May a search begin another request?"""


def find_resolutions(search: ResolutionSearch, send: Send, *, has_time: HasTime) -> SearchAnswer:
    """Return what ``Ledger.find_resolutions`` promises, by timestamp."""
    pending_ids = {pending.id for pending in search.pendings}
    pages = _of_intent(search, send, has_time)
    related = [one for one in pages if one.pending_id in pending_ids or one.code == search.fee_code]
    resolvers = [one for one in related if one.pending_id in pending_ids]
    # Before the accounts are read, which may take up all of the time.
    fees, has_all_fees = _fees_beside(resolvers, search, send, has_time)
    resolved = {resolver.pending_id for resolver in resolvers}
    rest = [pending for pending in search.pendings if pending.id not in resolved]
    others, has_all_resolvers = _by_accounts(rest, send, has_time)
    more_fees, has_all_more = _fees_beside(others, search, send, has_time)
    found = {one.id: one for one in (*related, *fees, *others, *more_fees)}
    return SearchAnswer(
        tuple(sorted(found.values(), key=lambda transfer: transfer.timestamp_ns)),
        has_all_resolvers=has_all_resolvers,
        has_all_fees=has_all_fees and has_all_more and not pages.ended_early,
    )


@dataclass(slots=True)
class _Pages:
    """The transfers that *page* returns from a timestamp on, read as far as they are used.

    ``ended_early``: there may be more of them than were read.
    """

    page: Callable[[int], list[Transfer]]
    since_ns: int
    of: str
    has_time: HasTime
    ended_early: bool = False

    def __iter__(self) -> Iterator[Transfer]:
        read, since_ns = 0, self.since_ns
        for _ in range(PAGES_MAX):
            if not self.has_time():
                break
            transfers = self.page(since_ns)
            read += len(transfers)
            yield from transfers
            if len(transfers) < PAGE_EVENTS:
                return
            since_ns = transfers[-1].timestamp_ns + 1
        self.ended_early = True
        log.warning("ledger_search_cut_short", of=self.of, transfers=read)


def _of_intent(search: ResolutionSearch, send: Send, has_time: HasTime) -> _Pages:
    user_data_128 = search.intent_id.int

    def page(since_ns: int) -> list[Transfer]:
        if user_data_128 == 0:
            return []  # as a filter, 0 would match every transfer there is
        query = tb.QueryFilter(
            user_data_128=user_data_128,
            user_data_64=0,
            user_data_32=0,
            ledger=0,
            # Where nothing but fees is wanted, nothing else can hide them behind many pages.
            code=0 if search.pendings else search.fee_code,
            timestamp_min=since_ns,
            timestamp_max=0,
            limit=PAGE_EVENTS,
            flags=tb.QueryFilterFlags.NONE,
        )
        return send(lambda client: client.query_transfers(query))

    return _Pages(page, since_ns=0, of=f"intent {search.intent_id}", has_time=has_time)


def _by_accounts(
    pendings: Iterable[Transfer], send: Send, has_time: HasTime
) -> tuple[list[Transfer], bool]:
    """Find the resolvers of *pendings* among the later transfers of their debit accounts.

    Return them, and whether none can have been missed.
    """

    def place(pending: Transfer) -> tuple[int, int]:
        return pending.debit_account_id, pending.code

    found: list[Transfer] = []
    has_all = True
    for (account_id, code), group in groupby(sorted(pendings, key=place), key=place):
        members = list(group)
        open_ids = {pending.id for pending in members}
        since_ns = 1 + min(pending.timestamp_ns for pending in members)
        debits = _debits(account_id, code, since_ns, send, has_time)
        for transfer in debits:
            if transfer.pending_id in open_ids:
                found.append(transfer)
                open_ids.remove(transfer.pending_id)
            if not open_ids:
                break
        has_all = has_all and not debits.ended_early
    return found, has_all


def _debits(account_id: int, code: int, since_ns: int, send: Send, has_time: HasTime) -> _Pages:
    def page(since_ns: int) -> list[Transfer]:
        return _account_transfers(
            send,
            account_id=account_id,
            code=code,
            since_ns=since_ns,
            until_ns=0,
            limit=PAGE_EVENTS,
            flags=tb.AccountFilterFlags.DEBITS,
        )

    return _Pages(page, since_ns=since_ns, of=f"account {account_id}", has_time=has_time)


def _fees_beside(
    resolvers: Iterable[Transfer], search: ResolutionSearch, send: Send, has_time: HasTime
) -> tuple[list[Transfer], bool]:
    """Find the fees at the very next timestamp after one of *resolvers*.

    One request's timestamps are consecutive, and the fee was sent right after its chain.
    Return them, and whether none can have been missed.
    """
    account_id = search.fee_credit_account_id
    if account_id is None or search.fee_code == 0:
        return [], True
    taken = {resolver.timestamp_ns for resolver in resolvers}
    fees: list[Transfer] = []
    for next_ns in sorted({timestamp_ns + 1 for timestamp_ns in taken} - taken):
        if not has_time():
            return fees, False
        fees += _account_transfers(
            send,
            account_id=account_id,
            code=search.fee_code,
            since_ns=next_ns,
            until_ns=next_ns,
            limit=1,
            flags=tb.AccountFilterFlags.CREDITS,
        )
    return fees, True


def _account_transfers(
    send: Send,
    *,
    account_id: int,
    code: int,
    since_ns: int,
    until_ns: int,
    limit: int,
    flags: tb.AccountFilterFlags,
) -> list[Transfer]:
    query = tb.AccountFilter(
        account_id=account_id,
        user_data_128=0,
        user_data_64=0,
        user_data_32=0,
        code=code,
        timestamp_min=since_ns,
        timestamp_max=until_ns,
        limit=limit,
        flags=flags,
    )
    return send(lambda client: client.get_account_transfers(query))
