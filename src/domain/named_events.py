"""An event that an operator named, and what may come of an order about it."""

from dataclasses import dataclass

from domain.intents import ClaimedEvent, IntentStatus
from domain.sanitising import sanitise


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Who gives an order, and why; both go into the audit trail."""

    name: str
    reason: str | None = None

    @property
    def facts(self) -> dict[str, str | None]:
        """What the audit row tells of the operator, fit for a column."""
        return {
            "operator": sanitise(self.name),
            "note": None if self.reason is None else sanitise(self.reason),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEvent:
    """An event in whatever status, with all that decides what may be done with it.

    ``status_before_review`` is what the audit row keeps by which the intent came under review.
    None where no row tells: there is none, a later one says that the intent has left it since,
    or of some that bear the same time it is not known which is the later.
    """

    claimed: ClaimedEvent
    status: str
    status_before_review: str | None = None

    @property
    def is_in_review(self) -> bool:
        """Does the intent wait for a person?"""
        intent = self.claimed.intent
        return intent is not None and intent.status == IntentStatus.MANUAL_REVIEW


@dataclass(frozen=True, slots=True)
class Refused:
    """The order must not be carried out; *detail* says why, and what to do instead."""

    detail: str


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """All is as ordered already."""

    detail: str
