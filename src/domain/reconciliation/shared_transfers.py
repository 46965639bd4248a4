"""Which intents claim the same frozen money."""

from typing import Final

from domain.intents import IntentId
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.wording import id_text
from domain.transfers import TransferId
from domain.values import value

_OTHERS_SHOWN_MAX: Final = 2
FIRST_LISTERS: Final = _OTHERS_SHOWN_MAX + 1
"""Of so many intents that list a transfer enough are left to show, whoever of them is told."""


@value
class SharedTransfer:
    """An intent lists a pending transfer ``times`` times, as one of ``listers`` intents.

    ``first_listers`` are the first of those in the order of their ids, ``FIRST_LISTERS`` at most:
    any number of intents may list one transfer.
    """

    transfer_id: TransferId
    intent_id: IntentId
    times: int
    listers: int
    first_listers: tuple[IntentId, ...]


def sharing(shared: SharedTransfer) -> Difference:
    """Return what the intent is told."""
    texts = [f"listed {shared.times} times"] if shared.times > 1 else []
    if shared.listers > 1:
        texts.append(f"{_others(shared)} too")
    return Difference(
        intent_id=shared.intent_id,
        kind=DifferenceKind.TRANSFER_SHARED,
        detail=f"pending transfer {id_text(shared.transfer_id)}: {', '.join(texts)}",
    )


def _others(shared: SharedTransfer) -> str:
    others = [str(other) for other in shared.first_listers if other != shared.intent_id]
    shown = others[:_OTHERS_SHOWN_MAX]
    rest = shared.listers - 1 - len(shown)
    listed = " and ".join(shown) if rest <= 0 else f"{', '.join(shown)} and {rest:,} more"
    return f"listed by {listed}"
