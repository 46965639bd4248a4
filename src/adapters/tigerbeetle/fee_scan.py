"""Read all transfers of a code, page by page, as ``FeeScan`` promises."""

from collections.abc import Callable, Iterator
from typing import Final

import tigerbeetle as tb
from tigerbeetle import TooMuchDataError

from adapters.tigerbeetle.client import Client, Send
from adapters.tigerbeetle.errors import translated
from adapters.tigerbeetle.packing import RequestLimit
from domain.transfers import Transfer

TIMESTAMP_NS_MAX: Final = 2**63 - 1


def transfers_of_code(
    code: int, *, since_ns: int, send: Send, limit: RequestLimit
) -> Iterator[Transfer]:
    """Yield what ``FeeScan.transfers_of_code`` promises, in pages of at most *limit* transfers.

    A page that the cluster cannot answer at once is asked for again, half as long.
    """
    if code == 0:
        return  # as a filter, 0 would match every transfer there is; none has it
    next_ns = max(since_ns, 0)
    while next_ns <= TIMESTAMP_NS_MAX:
        page = _page(code, next_ns, send, limit)
        yield from page
        # A page may be shorter than it was asked to be: only an empty one is the end.
        if not page:
            return
        next_ns = page[-1].timestamp_ns + 1


def _page(code: int, since_ns: int, send: Send, limit: RequestLimit) -> list[Transfer]:
    while True:
        asked = limit.events
        try:
            return send(_query(code, since_ns, asked))
        except TooMuchDataError as error:
            if asked == 1:
                raise translated(error) from error
            limit.lower_to(asked // 2)


def _query(code: int, since_ns: int, events: int) -> Callable[[Client], list[Transfer]]:
    query = tb.QueryFilter(
        user_data_128=0,
        user_data_64=0,
        user_data_32=0,
        ledger=0,
        code=code,
        timestamp_min=since_ns,
        timestamp_max=0,
        limit=events,
        flags=tb.QueryFilterFlags.NONE,
    )
    return lambda client: client.query_transfers(query)
