"""Which intents have paid more than one fee, among all fees of a period, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final
from uuid import UUID

from domain.intents import IntentId
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.wording import id_text
from domain.transfers import Transfer

SEEN_MAX: Final = 1_000_000
"""Intent ids held at a time, in about 100 MB."""


def duplicate_fees(
    fees: Callable[[], Iterable[Transfer]], *, since_ns: int, seen_max: int = SEEN_MAX
) -> Iterator[Transfer]:
    """Yield, once an intent, the first fee from *since_ns* on that is not its first one.

    *fees* begins anew at each call, in order of time. Those that carry no intent's id are
    passed over. No more than *seen_max* ids are held: where there are more, those of one
    remainder are kept, of a number that doubles as often as it must, and *fees* is read again
    for the others.
    """
    parts = [(0, 1)]
    while parts:
        remainder, modulus = parts.pop()
        seen: set[int] = set()
        again: dict[int, Transfer] = {}
        for fee in fees():
            intent = fee.user_data_128
            if intent == 0 or intent % modulus != remainder:
                continue
            if intent in seen:
                if fee.timestamp_ns >= since_ns:
                    again.setdefault(intent, fee)
                continue
            seen.add(intent)
            while len(seen) > seen_max:
                parts.append((remainder + modulus, 2 * modulus))
                modulus *= 2
                seen = {one for one in seen if one % modulus == remainder}
                again = {one: again[one] for one in again.keys() & seen}
        yield from again.values()


def fee_charged_again(fee: Transfer) -> Difference:
    """Return the difference that *fee* is, of which its intent had paid one before."""
    return Difference(
        intent_id=IntentId(UUID(int=fee.user_data_128)),
        kind=DifferenceKind.FEE_TWICE,
        detail=f"{fee.amount} satang charged again by {id_text(fee.id)}",
    )
