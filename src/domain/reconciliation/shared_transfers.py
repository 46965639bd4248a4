"""Which intents claim the same frozen money."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from domain.intents import IntentId
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.wording import id_text
from domain.transfers import TransferId

_OTHERS_SHOWN_MAX: Final = 2


def sharing(transfer_id: TransferId, intent_ids: Sequence[IntentId]) -> Iterator[Difference]:
    """Yield a difference for each of *intent_ids*, all of which list the transfer.

    One that lists it twice is there twice.
    """
    times = Counter(intent_ids)
    for intent_id, listed in times.items():
        texts = [f"listed {listed} times"] if listed > 1 else []
        if len(times) > 1:
            texts.append(f"{_others(intent_id, times)} too")
        yield Difference(
            intent_id=intent_id,
            kind=DifferenceKind.TRANSFER_SHARED,
            detail=f"pending transfer {id_text(transfer_id)}: {', '.join(texts)}",
        )


def _others(intent_id: IntentId, times: Counter[IntentId]) -> str:
    shown: list[str] = []
    for other in times:
        if other != intent_id and len(shown) < _OTHERS_SHOWN_MAX:
            shown.append(str(other))
    rest = len(times) - 1 - len(shown)
    listed = " and ".join(shown) if rest <= 0 else f"{', '.join(shown)} and {rest} more"
    return f"listed by {listed}"
