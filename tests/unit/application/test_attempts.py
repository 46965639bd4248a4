"""Many events at once: few requests, and what goes wrong with one costs that one only."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from adapters.memory.faulty_ledger import FaultyLedger, unavailable
from adapters.memory.ledger import InMemoryLedger
from application.attempts import Attempt, resolve
from application.errors import LedgerUnavailableError, MisconfiguredError, RowsRefusedError
from domain.concluding import Rules
from domain.conclusions import Retry, Review, Settle
from domain.fees import FeeRule
from domain.intents import ClaimedEvent, Intent, IntentId, PspRecord, RetryState
from domain.ledger_requests import (
    ChainAnswer,
    CreateChain,
    FindResolutions,
    ResolutionSearch,
    SearchAnswer,
)
from domain.transfer_status import TransferStatus
from domain.transfers import Account, AccountId, Transfer, TransferFlags, TransferId
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason
from tests.unit.domain.claims import FEE_RULE, INTENT, MAPPED, a_claim, rules

PAYER, MERCHANT = AccountId(1), AccountId(2)
BUDGET_S = 60.0
HINT = RetryState(reason=RetryReason.UNFORESEEN, attempts=3, generations=(1, 0))


def intent_of(number: int) -> Intent:
    return replace(
        INTENT,
        id=IntentId(UUID(int=1_000 + number)),
        tb_transfer_ids=(UUID(int=100 + number),),
    )


def claim_of(number: int, **changes: object) -> ClaimedEvent:
    intent = intent_of(number)
    return a_claim(intent=intent, intent_id=intent.id, id=number, **changes)  # type: ignore[arg-type]


def attempt_at(claimed: ClaimedEvent) -> Attempt:
    attempt = Attempt(claimed)
    attempt.judge(FEE_RULE)
    attempt.plan(FEE_RULE, MAPPED)
    return attempt


@pytest.fixture
def memory() -> InMemoryLedger:
    """A ledger with the accounts, and the pending transfers of intents 0 to 9."""
    memory = InMemoryLedger()
    accounts = [Account(id=AccountId(id_), ledger=764, code=1) for id_ in (1, 2, 300, 400)]
    memory.create_accounts(accounts)
    statuses = memory.create_transfers(
        [
            Transfer(
                id=TransferId(100 + number),
                debit_account_id=PAYER,
                credit_account_id=MERCHANT,
                amount=10_000,
                ledger=764,
                code=1,
                flags=TransferFlags.PENDING,
            )
            for number in range(10)
        ]
    )
    assert set(statuses) == {TransferStatus.CREATED}
    return memory


def verdicts(attempts: Sequence[Attempt]) -> list[object]:
    return [attempt.verdict for attempt in attempts]


# Many at once.


def test_all_chains_of_a_round_go_out_in_one_request(memory: InMemoryLedger) -> None:
    ledger = FaultyLedger(memory)
    attempts = [attempt_at(claim_of(number)) for number in range(5)]

    resolve(ledger, attempts, budget_s=BUDGET_S)

    assert verdicts(attempts) == [Done(fee_satang=150)] * 5
    # One for the chains, one for their fees.
    assert [(call.method, len(call.argument)) for call in ledger.calls] == [
        ("create_chains", 5),
        ("create_chains", 5),
    ]


def test_a_round_makes_one_request_of_all_creates_one_of_all_look_ups_and_searches_one_by_one(
    memory: InMemoryLedger,
) -> None:
    replayed, by_hand = [claim_of(0), claim_of(1)], [claim_of(2), claim_of(3)]
    resolve(memory, [attempt_at(claimed) for claimed in replayed], budget_s=BUDGET_S)
    memory.create_transfers(
        [
            Transfer(
                id=TransferId(9_000 + number),
                pending_id=TransferId(100 + number),
                amount=2**128 - 1,
                flags=TransferFlags.POST_PENDING_TRANSFER,
            )
            for number in (2, 3)
        ]
    )
    ledger = FaultyLedger(memory)
    attempts = [attempt_at(claimed) for claimed in (*replayed, *by_hand, claim_of(4))]

    resolve(ledger, attempts, budget_s=BUDGET_S)

    assert verdicts(attempts) == [
        *[Done(fee_satang=150)] * 2,
        *[Done(resolved_elsewhere=True)] * 2,
        Done(fee_satang=150),
    ]
    assert [call.method for call in ledger.calls] == [
        "create_chains",
        "create_chains",
        "lookup",
        "find_resolutions",
        "find_resolutions",
    ]


def test_answers_reach_the_event_that_asked(memory: InMemoryLedger) -> None:
    missing = claim_of(77)
    attempts = [attempt_at(claimed) for claimed in (claim_of(0), missing, claim_of(1))]

    resolve(memory, attempts, budget_s=BUDGET_S)

    assert isinstance(attempts[0].verdict, Done)
    assert isinstance(attempts[1].verdict, RetryLater)
    assert isinstance(attempts[2].verdict, Done)


def test_the_ledger_is_not_asked_when_there_is_nothing_to_ask(memory: InMemoryLedger) -> None:
    ledger = FaultyLedger(memory)
    orphan = attempt_at(a_claim(intent=None, psp=None))
    nothing_frozen = attempt_at(
        a_claim(action="void_pending", intent=replace(INTENT, tb_transfer_ids=()))
    )

    resolve(ledger, [orphan, nothing_frozen], budget_s=BUDGET_S)
    resolve(ledger, [], budget_s=BUDGET_S)

    assert ledger.calls == []
    assert orphan.verdict is not None
    assert nothing_frozen.verdict == Done()


# A part of the system is away.


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_ledger_that_is_away_ends_the_batch_without_a_verdict(
    memory: InMemoryLedger, lost: str
) -> None:
    hook = unavailable(times=1)
    ledger = (
        FaultyLedger(memory, before=hook) if lost == "request" else FaultyLedger(memory, after=hook)
    )
    attempts = [attempt_at(claim_of(number)) for number in range(3)]

    with pytest.raises(LedgerUnavailableError):
        resolve(ledger, attempts, budget_s=BUDGET_S)

    assert verdicts(attempts) == [None] * 3
    # The next attempt sends the same ids; nothing moves twice.
    again = [attempt_at(claim_of(number)) for number in range(3)]
    resolve(ledger, again, budget_s=BUDGET_S)
    assert verdicts(again) == [Done(fee_satang=150)] * 3
    payer = memory.lookup_accounts([PAYER])[PAYER]
    assert payer.debits_posted == 30_000


# A ledger that is slow.


def test_a_batch_asks_no_more_once_its_budget_is_used_up(memory: InMemoryLedger) -> None:
    ledger = FaultyLedger(memory)
    attempts = [attempt_at(claim_of(number)) for number in range(3)]

    resolve(ledger, attempts, budget_s=0)

    # The chains were on their way; the fees are for the next attempt.
    assert [call.method for call in ledger.calls] == ["create_chains"]
    late = RetryLater(RetryReason.OUT_OF_TIME, "the ledger had to be asked too often")
    assert verdicts(attempts) == [late] * 3
    again = [attempt_at(claim_of(number)) for number in range(3)]
    resolve(ledger, again, budget_s=BUDGET_S)
    assert verdicts(again) == [Done(fee_satang=150)] * 3


def searching(count: int) -> list[Attempt]:
    """Return attempts that each have one search to make."""
    search = FindResolutions(
        ResolutionSearch(
            intent_id=IntentId(UUID(int=9)), pendings=(), fee_code=1, fee_credit_account_id=None
        )
    )
    attempts = [attempt_at(claim_of(number)) for number in range(count)]
    for attempt in attempts:
        attempt.resolution = AskOnce(search)  # type: ignore[assignment]
    return attempts


def test_no_search_is_begun_once_the_budget_is_used_up(memory: InMemoryLedger) -> None:
    ledger = FaultyLedger(memory)
    late, in_time = searching(2), searching(2)

    resolve(ledger, late, budget_s=0)
    assert ledger.calls == []
    resolve(ledger, in_time, budget_s=BUDGET_S)

    assert [getattr(verdict, "reason", None) for verdict in verdicts(late)] == [
        RetryReason.OUT_OF_TIME
    ] * 2
    assert verdicts(in_time) == [Done()] * 2


@dataclass(slots=True)
class AskOnce:
    """Stands for a resolution that has one question."""

    ask: FindResolutions | None
    verdict: Done | None = None

    def answer(self, _: object) -> None:
        self.ask, self.verdict = None, Done()


# One event goes wrong.


@dataclass(slots=True)
class TamperingLedger:
    """Passes everything on, but tampers with the answer to the chain of one pending transfer."""

    memory: InMemoryLedger
    pending_id: int
    tampered: ChainAnswer
    create_calls: int = field(default=0)

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        self.create_calls += 1
        answers = self.memory.create_chains(chains)
        return [
            self.tampered if chain[0].pending_id == self.pending_id else answer
            for chain, answer in zip(chains, answers, strict=True)
        ]

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        return self.memory.lookup(ids)

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        raise AssertionError("nobody asks this here")

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        raise AssertionError("nobody asks this here")

    def close(self) -> None:
        """Nothing to close."""


def test_an_answer_that_makes_no_sense_costs_its_event_only(memory: InMemoryLedger) -> None:
    ledger = TamperingLedger(memory, pending_id=101, tampered=(TransferStatus.CREATED,) * 2)
    attempts = [attempt_at(claim_of(number, retry=HINT)) for number in range(3)]

    resolve(ledger, attempts, budget_s=BUDGET_S)

    assert isinstance(attempts[0].verdict, Done)
    assert isinstance(attempts[2].verdict, Done)
    assert attempts[1].ask is None
    assert attempts[1].verdict == RetryLater(
        RetryReason.UNFORESEEN,
        "ValueError: 1 transfers sent, 2 statuses answered",
        HINT.generations,
    )


class BrokenRule(FeeRule):
    """Fails for every PSP, the way an unforeseen value would make a rule fail."""

    def codes_for(self, intent: Intent, psp: PspRecord) -> tuple[str, str]:
        raise LookupError("no such PSP")


BROKEN = BrokenRule(debit_account="a", credit_account="b", transfer_code=50)


def unforeseen(detail: str, generations: tuple[int, ...] = ()) -> RetryLater:
    return RetryLater(RetryReason.UNFORESEEN, detail, generations)


def test_an_exception_while_judging_is_a_verdict() -> None:
    attempt = Attempt(a_claim(retry=HINT))

    attempt.judge(BROKEN)
    attempt.plan(FEE_RULE, MAPPED)

    assert attempt.verdict == unforeseen("LookupError: no such PSP", HINT.generations)


def test_an_exception_while_planning_is_a_verdict() -> None:
    attempt = Attempt(a_claim())
    attempt.judge(FEE_RULE)

    attempt.plan(BROKEN, MAPPED)

    assert attempt.verdict == unforeseen("LookupError: no such PSP")
    assert attempt.ask is None


def test_an_exception_while_concluding_is_a_retry_that_counts(memory: InMemoryLedger) -> None:
    attempt = attempt_at(a_claim(intent=intent_of(0), retry_count=2, retry=HINT))
    resolve(memory, [attempt], budget_s=BUDGET_S)
    broken = Rules(fee=BROKEN, retry=rules().retry, jitter=rules().jitter)

    conclusion = attempt.conclude(broken)

    assert isinstance(conclusion, Retry)
    assert conclusion.reason is RetryReason.UNFORESEEN
    assert conclusion.last_error == "unforeseen: LookupError: no such PSP"
    assert conclusion.attempts == HINT.attempts + 1
    assert conclusion.generations == HINT.generations


def test_a_retry_count_below_zero_does_not_stop_the_batch() -> None:
    attempt = attempt_at(claim_of(0, retry_count=-1))
    attempt.verdict = RetryLater(RetryReason.LEDGER_REFUSED, "closed")

    assert isinstance(attempt.conclude(rules()), Retry)


class MisconfiguredRule(FeeRule):
    """Meets a fault of the whole system."""

    def codes_for(self, intent: Intent, psp: PspRecord) -> tuple[str, str]:
        raise MisconfiguredError("wrong schema")


MISCONFIGURED = MisconfiguredRule(debit_account="a", credit_account="b", transfer_code=50)


@pytest.mark.parametrize(
    "step",
    [
        lambda attempt: attempt.judge(MISCONFIGURED),
        lambda attempt: attempt.plan(MISCONFIGURED, MAPPED),
    ],
    ids=["judging", "planning"],
)
def test_a_fault_of_the_whole_system_is_no_verdict_on_an_event(
    step: Callable[[Attempt], None],
) -> None:
    attempt = Attempt(a_claim())
    attempt.judge(FEE_RULE)

    with pytest.raises(MisconfiguredError):
        step(attempt)

    assert attempt.verdict is None


# One after the other.


def test_an_attempt_goes_from_the_claim_to_what_is_written(memory: InMemoryLedger) -> None:
    attempt = attempt_at(claim_of(0))
    assert attempt.fee_codes == ("revenue.THB", "nostro.ipps.THB")
    assert isinstance(attempt.ask, CreateChain)

    resolve(memory, [attempt], budget_s=BUDGET_S)

    assert isinstance(attempt.conclude(rules()), Settle)


def test_what_makes_no_sense_has_its_verdict_before_anything_is_asked() -> None:
    attempt = attempt_at(a_claim(intent=None, psp=None))

    assert attempt.verdict == ManualReview(ReviewReason.ORPHAN, f"there is no intent {INTENT.id}")
    assert attempt.fee_codes == ()
    assert attempt.ask is None
    assert isinstance(attempt.conclude(rules()), Review)


def test_a_row_that_postgres_refuses_is_retried_with_the_reason(memory: InMemoryLedger) -> None:
    attempt = attempt_at(claim_of(0, retry=HINT, retry_count=1))
    resolve(memory, [attempt], budget_s=BUDGET_S)

    conclusion = attempt.conclude_refused(RowsRefusedError("value too long"), rules())

    assert isinstance(conclusion, Retry)
    assert conclusion.reason is RetryReason.UNFORESEEN
    assert conclusion.last_error == "unforeseen: the database refused the row: value too long"
    assert conclusion.attempts == HINT.attempts + 1
    assert conclusion.generations == HINT.generations


def test_a_row_that_postgres_keeps_refusing_is_for_a_person_in_the_end() -> None:
    attempt = attempt_at(
        claim_of(
            0,
            retry_count=11,
            retry=RetryState(reason=RetryReason.UNFORESEEN, attempts=11, generations=()),
        )
    )

    conclusion = attempt.conclude_refused(RowsRefusedError("value too long"), rules())

    assert isinstance(conclusion, Review)
    assert conclusion.reason is ReviewReason.ATTEMPTS_EXHAUSTED
    assert "value too long" in conclusion.last_error


def test_an_attempt_without_a_verdict_cannot_be_concluded() -> None:
    with pytest.raises(ValueError, match="not ended"):
        attempt_at(claim_of(0)).conclude(rules())


def test_an_attempt_that_asked_nothing_takes_no_answer() -> None:
    with pytest.raises(ValueError, match="nothing was asked"):
        Attempt(a_claim()).answer((TransferStatus.CREATED,))
