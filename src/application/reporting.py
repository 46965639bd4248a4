"""Say what became of a batch: one log line an event, and the numbers."""

from collections import Counter
from dataclasses import dataclass
from typing import assert_never

import structlog
from structlog.typing import FilteringBoundLogger

from application.writing import Written
from domain.conclusions import Acknowledge, Conclusion, Retry, Review, Settle
from domain.intents import IntentStatus

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """What became of a batch; each number counts events.

    ``refused`` are those that another number counts as something else than they should be, or
    none, since the database did not take the rows.
    """

    claimed: int = 0
    settled: int = 0
    failed: int = 0
    acknowledged: int = 0
    retried: int = 0
    reviewed: int = 0
    refused: int = 0

    @property
    def written(self) -> int:
        """Events that will not be claimed again at once."""
        return self.settled + self.failed + self.acknowledged + self.retried + self.reviewed


def report(*, claimed: int, written: Written) -> BatchReport:
    """Log each event that was written, after its commit, and count them.

    ``outbox: intent settled`` and ``outbox: intent failed`` are part of the contract: the
    sources recover lost audit rows from them.
    """
    counts: Counter[str] = Counter()
    # Once for all: the logger of a module looks itself up at each line.
    bound = log.bind()
    for conclusion in written.conclusions:
        counts[_log(bound, conclusion)] += 1
    return BatchReport(claimed=claimed, refused=written.refused, **counts)


def _log(bound: FilteringBoundLogger, conclusion: Conclusion) -> str:
    ids = {"intent_id": str(conclusion.intent_id), "event_id": conclusion.event_id}
    match conclusion:
        case Settle(status=IntentStatus.SETTLED):
            bound.info("outbox: intent settled", **ids)
            return "settled"
        case Settle():
            bound.info("outbox: intent failed", **ids, failure_reason=conclusion.failure_reason)
            return "failed"
        case Acknowledge():
            bound.info("outbox: intent was final already", **ids)
            return "acknowledged"
        case Retry():
            bound.warning(
                "outbox: event will be retried",
                **ids,
                reason=conclusion.reason,
                last_error=conclusion.last_error,
                delay_ms=conclusion.delay_ms,
            )
            return "retried"
        case Review():
            bound.error(
                "outbox: event needs a person",
                **ids,
                reason=conclusion.reason,
                last_error=conclusion.last_error,
            )
            return "reviewed"
        case _:
            assert_never(conclusion)
