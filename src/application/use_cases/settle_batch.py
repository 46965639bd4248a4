"""Carry out one batch of orders: claim, resolve, conclude, commit, announce.

The order is the design. The ledger comes first: a crash after it repeats the same ids,
which moves nothing. Everything durable, push jobs included, is one transaction. Only the
live status comes after it, and that is best-effort by contract.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from application.attempts import Attempt, resolve
from application.errors import OutboxError
from application.ledger_identity import ACCOUNTS_MAX, require_own_ledger
from application.ports.ledger import Ledger
from application.ports.outbox_repository import ClaimedBatch, OutboxRepository
from application.reporting import BatchReport, report
from application.status_queue import StatusQueue
from application.writing import Written, write_all
from domain.concluding import Rules
from domain.conclusions import Conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleBatch:
    """Settle up to ``batch_size`` due events. Safe to run in any number of places at once.

    What the ledger has not answered within about ``ledger_budget_s`` is tried again later:
    the locks that a batch holds are in the payment manager's way.
    ``jobs_written`` wakes whoever delivers push jobs; it must not block. The lines of a batch are
    logged within ``lines_together``, which may make few writes of them.
    """

    outbox: OutboxRepository
    ledger: Ledger
    announcements: StatusQueue
    rules: Rules
    batch_size: int
    ledger_budget_s: float
    jobs_written: Callable[[], None]
    lines_together: Callable[[], AbstractContextManager[None]] = nullcontext

    def __call__(self, *, limit: int | None = None) -> BatchReport:
        """Claim and finish one batch, of *limit* where less will do; say what became of it.

        Raises:
            OutageError: nothing was written (or, where the commit's answer was lost, all
                of it may have been); call again later. Not an attempt at any event.
            MisconfiguredError: likewise, until the fault is mended.
        """
        with self.outbox.claim(limit=self._bounded(limit)) as batch:
            attempts = [Attempt(claimed) for claimed in batch.events]
            self._resolve(batch, attempts)
            self._require_own_ledger(batch, attempts)
            written = self._conclude(batch, attempts)
        self._announce(written)
        with self.lines_together():
            return report(claimed=len(attempts), written=written)

    def _bounded(self, limit: int | None) -> int:
        return self.batch_size if limit is None else min(limit, self.batch_size)

    def _resolve(self, batch: ClaimedBatch, attempts: Sequence[Attempt]) -> None:
        """Bring every attempt to a verdict."""
        for attempt in attempts:
            attempt.judge(self.rules.fee)
        codes = {code for attempt in attempts for code in attempt.fee_codes}
        accounts = batch.fee_accounts(codes) if codes else {}
        for attempt in attempts:
            attempt.plan(self.rules.fee, accounts)
        resolve(self.ledger, attempts, budget_s=self.ledger_budget_s)

    def _require_own_ledger(self, batch: ClaimedBatch, attempts: Sequence[Attempt]) -> None:
        """Before missing transfers count against anybody: is it the right ledger that has none?

        It is where it had those of another event of the batch. The accounts, which may never
        have been opened there, need not be asked for then.
        """
        misses_transfers = any(attempt.misses_transfers for attempt in attempts)
        if misses_transfers and not any(attempt.resolved_transfers for attempt in attempts):
            require_own_ledger(self.ledger, batch.some_mapped_accounts(limit=ACCOUNTS_MAX))

    def _conclude(self, batch: ClaimedBatch, attempts: Sequence[Attempt]) -> Written:
        """Write what follows from the verdicts; a refused row costs only its own event."""
        by_event = {attempt.claimed.event.id: attempt for attempt in attempts}

        def retried(conclusion: Conclusion, refusal: OutboxError) -> Conclusion:
            return by_event[conclusion.event_id].conclude_refused(refusal, self.rules)

        def postponed(conclusion: Conclusion, refusal: OutboxError) -> Conclusion:
            return by_event[conclusion.event_id].postpone(refusal, self.rules)

        conclusions = [attempt.conclude(self.rules) for attempt in attempts]
        return write_all(batch, conclusions, (retried, postponed))

    def _announce(self, written: Written) -> None:
        """Tell the publisher and the delivery loop, neither of which a lane waits for."""
        self.announcements.put(written.messages)
        if written.messages:
            self.jobs_written()
