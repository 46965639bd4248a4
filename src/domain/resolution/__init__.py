"""Resolve the pending transfers of one intent, whatever state the ledger is in.

A ``Resolution`` is a pure state machine: it says what to ask of the ledger next, takes
the answer, and ends in a verdict. Its steps are written as generators, so they read in
the order in which they happen; who drives it may pack the asks of many resolutions into
one request.

A replay starts from nothing and sends the same ids, so it does not matter after which
step an earlier attempt died. The thing to get wrong: ``EXISTS`` and "already posted" may
describe a member of a chain that was rolled back. They are believed only after a look-up
of all our ids (LEDGER_OUTCOMES §1).
"""

from domain.intents import Action
from domain.ledger_requests import Answer, Ask
from domain.resolution.fee import charge_fee, find_charged_fee
from domain.resolution.members import resolve_members
from domain.resolution.order import Order
from domain.resolution.progress import Progress, Steps
from domain.verdicts import Done, RetryLater, Verdict

__all__ = ["Order", "Resolution"]


class Resolution:
    """Drive it: while ``ask`` is not None, get it answered and call ``answer``."""

    def __init__(self, order: Order) -> None:
        self._steps = _resolve(order)
        self.ask: Ask | None = None
        self.verdict: Verdict | None = None
        self._advance(None)

    def answer(self, answer: Answer) -> None:
        """Take the answer to ``ask``; afterwards either ``ask`` or ``verdict`` is new."""
        self._advance(answer)

    def _advance(self, answer: Answer | None) -> None:
        try:
            # Sending None starts a generator; later on an answer is never None.
            self.ask = next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration as end:
            self.ask, self.verdict = None, end.value


def _resolve(order: Order) -> Steps[Verdict]:
    progress = Progress.start(order)
    unresolved = yield from resolve_members(progress)
    if unresolved is not None:
        return unresolved
    elsewhere = bool(progress.resolved_elsewhere)
    if order.action is Action.VOID_PENDING or not order.fee_wanted:
        return Done(resolved_elsewhere=elsewhere)
    if progress.fee_found is not None:
        return Done(progress.fee_found.amount, elsewhere)
    if elsewhere and not progress.has_all_fees:
        return progress.retry_fee_search()
    if elsewhere or order.fee is None:
        return Done(resolved_elsewhere=elsewhere)
    if progress.is_replay or order.fee_may_exist:
        charged = yield from find_charged_fee(progress)
        if isinstance(charged, RetryLater):
            return charged
        if charged is not None:
            return Done(charged.amount)
    return (yield from charge_fee(progress, order.fee))
