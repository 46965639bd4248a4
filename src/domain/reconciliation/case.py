"""One intent beside its money: what the rules look at, and how they put what they find."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from domain.intents import Action
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.fixing import NotOrdered, Obstacle, obstacle_to
from domain.reconciliation.limits import Limits
from domain.reconciliation.money import Money, Outcome
from domain.reconciliation.record import EventRecord, IntentRecord
from domain.reconciliation.wording import ids_text
from domain.values import value

NS_PER_MS: Final = 1_000_000


@value(kw_only=False)
class Case:
    """What is known of an intent."""

    record: IntentRecord
    money: Money
    limits: Limits

    @property
    def pending_events(self) -> Sequence[EventRecord]:
        """The events that the worker still has before it, oldest first."""
        return [event for event in self.record.events if event.status == "pending"]

    @property
    def expires_in_ms(self) -> int | None:
        """In how long the first of what is still frozen expires; None where nothing does."""
        left_ms = [
            (one.expires_at_ns - self.record.now_ns) // NS_PER_MS
            for one in self.money.pendings
            if one.outcome is Outcome.OPEN and one.expires_at_ns is not None
        ]
        return min(left_ms, default=None)

    @property
    def is_in_flight(self) -> bool:
        """May somebody be at work on it right now?"""
        grace_ms = self.limits.grace_ms
        if any(event.age_ms < grace_ms for event in self.pending_events):
            return True
        since_ns = self.record.now_ns - grace_ms * NS_PER_MS
        return any(one.at_ns is not None and one.at_ns > since_ns for one in self.money.pendings)

    def found(self, kind: DifferenceKind, detail: str) -> Difference:
        """Return a difference of this intent that an event does not put right."""
        record = self.record
        return Difference(intent_id=record.id, kind=kind, detail=detail, status=record.status)

    def fixable(
        self, kind: DifferenceKind, detail: str, action: Action, *, unless: str = ""
    ) -> Difference:
        """Return a difference that an event of *action* puts right, or that says why not.

        *unless* is what the rule itself has against it, if anything.
        """
        found = replace(self.found(kind, detail), fix=action)
        if unless:
            return found.unfixable(unless)
        obstacle = self._obstacle_to(action)
        return found if obstacle is None else found.unfixable(obstacle.detail)

    def _obstacle_to(self, action: Action) -> NotOrdered | None:
        record, money = self.record, self.money
        if Outcome.MISSING in money.outcomes:
            return NotOrdered(Obstacle.TRANSFERS_UNFIT, "a transfer is missing")
        if len(money.pendings) < len(record.tb_transfer_ids):
            return NotOrdered(Obstacle.TRANSFERS_UNFIT, "tb_transfer_ids has a NULL or an id twice")
        return obstacle_to(
            action,
            status=record.status,
            amount_satang=record.amount_satang,
            events=record.events,
        )


def share(satang: int, case: Case) -> str:
    """Return *satang* as a part of what was frozen."""
    return f"{satang} of {case.money.frozen_satang} satang"


def ids_of(case: Case, *outcomes: Outcome) -> str:
    """Name the pending transfers that this became of, the first of them."""
    return ids_text([one.pending_id for one in case.money.pendings if one.outcome in outcomes])
