"""Find who resolved pending transfers, when the ids are not ours.

A pending transfer's record never tells. A post or void inherits the ``user_data_128`` of
its pending transfer (the intent's id, if the producer set it), its debit account and its
code; so it is looked for by the first, and failing that in the account's later transfers.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

import structlog
import tigerbeetle as tb

from adapters.tigerbeetle.client import Send
from domain.ledger_requests import ResolutionSearch
from domain.transfers import Transfer, TransferId

log = structlog.get_logger(__name__)

PAGE_EVENTS: Final = 1_000
"""Transfers asked for at a time: below what any configuration of a cluster answers at once."""

PAGES_MAX: Final = 20
"""Pages read of one intent or account; a search that ends there says so in the log."""


def find_resolutions(search: ResolutionSearch, send: Send) -> tuple[Transfer, ...]:
    """Return what ``Ledger.find_resolutions`` promises for one *search*, by timestamp."""
    pending_ids = {pending.id for pending in search.pendings}
    found: dict[TransferId, Transfer] = {}

    def keep(transfers: Iterable[Transfer]) -> None:
        found.update((transfer.id, transfer) for transfer in transfers)

    keep(
        transfer
        for transfer in _of_intent(search, send)
        if transfer.pending_id in pending_ids or transfer.code == search.fee_code
    )
    resolved = {transfer.pending_id for transfer in found.values()}
    keep(_by_accounts([p for p in search.pendings if p.id not in resolved], send))
    keep(_fees_beside([t for t in found.values() if t.pending_id in pending_ids], search, send))
    return tuple(sorted(found.values(), key=lambda transfer: transfer.timestamp_ns))


def _of_intent(search: ResolutionSearch, send: Send) -> Iterator[Transfer]:
    user_data_128 = search.intent_id.int
    if user_data_128 == 0:
        return  # as a filter, 0 would match every transfer there is

    def page(since_ns: int) -> list[Transfer]:
        query = tb.QueryFilter(
            user_data_128=user_data_128,
            user_data_64=0,
            user_data_32=0,
            ledger=0,
            code=0,
            timestamp_min=since_ns,
            timestamp_max=0,
            limit=PAGE_EVENTS,
            flags=tb.QueryFilterFlags.NONE,
        )
        return send(lambda client: client.query_transfers(query))

    yield from _all_pages(page, since_ns=0, of=f"intent {search.intent_id}")


def _by_accounts(pendings: Iterable[Transfer], send: Send) -> Iterator[Transfer]:
    """Yield the resolvers of *pendings* among the later transfers of their debit accounts."""

    def place(pending: Transfer) -> tuple[int, int]:
        return pending.debit_account_id, pending.code

    for (account_id, code), group in groupby(sorted(pendings, key=place), key=place):
        members = list(group)
        open_ids = {pending.id for pending in members}
        since_ns = 1 + min(pending.timestamp_ns for pending in members)
        for transfer in _debits(account_id, code, since_ns, send):
            if transfer.pending_id in open_ids:
                yield transfer
                open_ids.remove(transfer.pending_id)
            if not open_ids:
                break


def _debits(account_id: int, code: int, since_ns: int, send: Send) -> Iterator[Transfer]:
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

    yield from _all_pages(page, since_ns=since_ns, of=f"account {account_id}")


def _fees_beside(
    resolvers: Iterable[Transfer], search: ResolutionSearch, send: Send
) -> Iterator[Transfer]:
    """Yield the fees at the very next timestamp after one of *resolvers*.

    One request's timestamps are consecutive, and the fee was sent right after its chain.
    """
    account_id = search.fee_credit_account_id
    if account_id is None or search.fee_code == 0:
        return
    taken = {resolver.timestamp_ns for resolver in resolvers}
    for next_ns in sorted({timestamp_ns + 1 for timestamp_ns in taken} - taken):
        fee = _account_transfers(
            send,
            account_id=account_id,
            code=search.fee_code,
            since_ns=next_ns,
            until_ns=next_ns,
            limit=1,
            flags=tb.AccountFilterFlags.CREDITS,
        )
        yield from fee


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


def _all_pages(
    page: Callable[[int], list[Transfer]], *, since_ns: int, of: str
) -> Iterator[Transfer]:
    for _ in range(PAGES_MAX):
        transfers = page(since_ns)
        yield from transfers
        if len(transfers) < PAGE_EVENTS:
            return
        since_ns = transfers[-1].timestamp_ns + 1
    log.warning("ledger_search_cut_short", of=of, transfers=PAGES_MAX * PAGE_EVENTS)
