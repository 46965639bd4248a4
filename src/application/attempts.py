"""One attempt at each event of a batch, from what was claimed to a verdict.

Whatever goes wrong with one event ends as the verdict of that event; only what goes wrong
with a part of the system (``OutboxError``) ends the batch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from application.errors import OutboxError
from application.ports.ledger import Ledger
from domain.concluding import Rules, conclude, postpone
from domain.conclusions import Conclusion
from domain.fees import AccountCode, FeeRule, MappedAccount
from domain.intents import ClaimedEvent
from domain.ledger_requests import Answer, Ask, CreateChain, FindResolutions, LookUp
from domain.planning import Task, fee_codes, judge_event, plan
from domain.resolution import Order, Resolution
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, Verdict

P = ParamSpec("P")


def _guarded(
    step: Callable[Concatenate["Attempt", P], None],
) -> Callable[Concatenate["Attempt", P], None]:
    """Let whatever *step* raises become the event's verdict: one must not stop the others."""

    @wraps(step)
    def guarded(attempt: "Attempt", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            step(attempt, *args, **kwargs)
        except OutboxError:
            raise
        except Exception as error:
            attempt.fail(error)

    return guarded


@dataclass(slots=True)
class Attempt:
    """An event on its way to a verdict."""

    claimed: ClaimedEvent
    task: Task | None = None
    fee_codes: tuple[AccountCode, ...] = ()
    resolution: Resolution | None = None
    verdict: Verdict | None = None

    @_guarded
    def judge(self, rule: FeeRule) -> None:
        """Find out what the event means."""
        judged = judge_event(self.claimed)
        if isinstance(judged, ManualReview):
            self.verdict = judged
        else:
            self.task = judged
            self.fee_codes = fee_codes(self.claimed, judged, rule)

    @_guarded
    def plan(self, rule: FeeRule, accounts: Mapping[AccountCode, MappedAccount]) -> None:
        """Find out what to resolve, if the event makes sense."""
        if self.task is None:
            return
        planned = plan(self.claimed, self.task, rule=rule, accounts=accounts)
        if isinstance(planned, Order):
            self.resolution = Resolution(planned)
        else:
            self.verdict = planned

    @property
    def ask(self) -> Ask | None:
        """What the resolution asks of the ledger next; None when there is nothing to ask."""
        return self.resolution.ask if self.resolution is not None else None

    @property
    def misses_transfers(self) -> bool:
        """Whether the verdict is that the ledger has not got a pending transfer."""
        match self.verdict:
            case RetryLater(reason=RetryReason.PENDING_TRANSFER_NOT_FOUND):
                return True
            case _:
                return False

    @property
    def resolved_transfers(self) -> bool:
        """Whether the ledger had all of its pending transfers, and they are resolved."""
        return self.resolution is not None and isinstance(self.verdict, Done)

    def answer(self, answer: Answer) -> None:
        """Give the open ask its answer; take the verdict if that was the last one."""
        if self.resolution is None:
            raise ValueError("nothing was asked")
        self._take(answer, self.resolution)

    @_guarded
    def _take(self, answer: Answer, resolution: Resolution) -> None:
        resolution.answer(answer)
        self.verdict = resolution.verdict

    def fail(self, error: Exception) -> None:
        """End the attempt at what nobody foresaw."""
        self.resolution = None
        self.verdict = RetryLater(
            RetryReason.UNFORESEEN, f"{type(error).__name__}: {error}", self._generations()
        )

    def run_out_of_time(self) -> None:
        """Give up for now, if there is still something to ask."""
        if self.ask is None:
            return
        self.resolution = None
        self.verdict = RetryLater(
            RetryReason.OUT_OF_TIME, "the ledger had to be asked too often", self._generations()
        )

    def conclude(self, rules: Rules) -> Conclusion:
        """Return what to write."""
        if self.verdict is None:
            raise ValueError("the resolution has not ended")
        try:
            return conclude(self.claimed, self.task, self.verdict, rules)
        except Exception as error:
            return self._unforeseen(f"{type(error).__name__}: {error}", rules)

    def conclude_refused(self, refusal: OutboxError, rules: Rules) -> Conclusion:
        """Return what to write where the database refuses what ``conclude`` returned."""
        return self._unforeseen(f"the database refused the row: {refusal}", rules)

    def postpone(self, refusal: OutboxError, rules: Rules) -> Conclusion:
        """Return what to write where it refuses that, too."""
        return postpone(self.claimed, f"the database refused the row: {refusal}", rules)

    def _unforeseen(self, detail: str, rules: Rules) -> Conclusion:
        verdict = RetryLater(RetryReason.UNFORESEEN, detail, self._generations())
        return conclude(self.claimed, self.task, verdict, rules)

    def _generations(self) -> tuple[int, ...]:
        return self.claimed.retry.generations if self.claimed.retry is not None else ()


def resolve(ledger: Ledger, attempts: Sequence[Attempt], *, budget_s: float) -> None:
    """Get the asks answered, round by round, each with one call a kind; searches are one each.

    A claim's locks are held meanwhile, so no new request is begun once *budget_s* is used up:
    who still has a question then is tried again later, lest the same events take up every
    batch. Raises what *ledger* raises: transfers may have been created by then, and will
    answer ``EXISTS`` to the next attempt.
    """
    deadline = time.monotonic() + budget_s
    while asking := [(a, ask) for a in attempts if (ask := a.ask) is not None]:
        chains = [(a, ask) for a, ask in asking if isinstance(ask, CreateChain)]
        lookups = [(a, ask) for a, ask in asking if isinstance(ask, LookUp)]
        searches = [(a, ask) for a, ask in asking if isinstance(ask, FindResolutions)]
        if chains:
            _answer(chains, ledger.create_chains([ask.transfers for _, ask in chains]))
        if lookups:
            found = ledger.lookup([id_ for _, ask in lookups for id_ in ask.ids])
            _answer(lookups, [found] * len(lookups))
        for attempt, ask in searches:
            if time.monotonic() < deadline:
                attempt.answer(ledger.find_resolutions(ask.search))
        if time.monotonic() >= deadline:
            for attempt, _ in asking:
                attempt.run_out_of_time()
            return


def _answer(asked: Sequence[tuple[Attempt, Ask]], answers: Sequence[Answer]) -> None:
    for (attempt, _), answer in zip(asked, answers, strict=True):
        attempt.answer(answer)
