"""What can differ between the database and the ledger, and whether the worker can put it right."""

from dataclasses import replace
from enum import StrEnum
from typing import Final

from domain.intents import Action, IntentId
from domain.values import value


class DifferenceKind(StrEnum):
    """One way in which an intent and its money do not agree."""

    SETTLED_NOT_POSTED = "settled_not_posted"
    """``SETTLED``, and money is still frozen."""
    SETTLED_BUT_RELEASED = "settled_but_released"
    """``SETTLED``, and money was voided or has expired."""
    FAILED_NOT_RELEASED = "failed_not_released"
    """``FAILED``, and money is still frozen."""
    FAILED_BUT_POSTED = "failed_but_posted"
    POSTED_NOT_SETTLED = "posted_not_settled"
    RELEASED_NOT_FAILED = "released_not_failed"
    RESOLVED_IN_PART = "resolved_in_part"
    """Not final, and some of the money is posted, some is not; or part of a transfer."""
    TRANSFER_MISSING = "transfer_missing"
    """A pending transfer of the intent is not in the ledger, or is no pending transfer."""
    TRANSFER_SHARED = "transfer_shared"
    """Two intents list the same pending transfer; or one lists it twice."""
    AMOUNT_DIFFERS = "amount_differs"
    """What was frozen is not the intent's amount."""
    FEE_MISSING = "fee_missing"
    FEE_TWICE = "fee_twice"
    FEE_AMOUNT_DIFFERS = "fee_amount_differs"
    FEE_WITHOUT_POST = "fee_without_post"
    HISTORY_DIFFERS = "history_differs"
    """``tx_history`` is not what the ledger moved."""
    EXPIRES_SOON = "expires_soon"
    EVENT_DONE = "event_done"
    """An event is open or has failed, and its work is already done."""
    NO_EVENT = "no_event"
    """``AUTHORIZED`` or ``SETTLING`` for long, and no event is pending."""
    INTENT_MISSING = "intent_missing"
    """An intent that was asked for is not in the database."""
    NOT_COMPARED = "not_compared"
    """Its rows hold a value that nothing can be made of, or a search for it ended early."""


OF_FEES: Final = frozenset(
    {
        DifferenceKind.FEE_MISSING,
        DifferenceKind.FEE_TWICE,
        DifferenceKind.FEE_AMOUNT_DIFFERS,
        DifferenceKind.FEE_WITHOUT_POST,
    }
)


@value
class Difference:
    """One difference of one intent; *detail* has the numbers and ids, for people.

    ``fix`` is the event that lets the worker put it right, None where a person has to.
    """

    intent_id: IntentId
    kind: DifferenceKind
    detail: str
    status: str = ""
    fix: Action | None = None

    def unfixable(self, why_not: str) -> "Difference":
        """Return this difference as one that no event puts right, which its detail says."""
        return replace(self, fix=None, detail=f"{self.detail}; no fix: {why_not}")
