"""Whatever happened before, whenever the worker dies: money moves once, in one direction.

A program is a prior state of the pending transfers, attempts that die after some request, and
a last attempt that nothing disturbs.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from domain.intents import Action
from domain.ledger_requests import Ask, CreateChain
from domain.resolution import Resolution
from domain.transfer_builders import build_resolving_transfer
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict
from tests.unit.domain.frozen_money import (
    AMOUNTS,
    DUE_FEE,
    INTENT_ID,
    POST,
    VOID,
    FrozenMoney,
    amounts,
    answer_to,
    drive,
    nothing,
    pending_id_of,
)


class Prior(Enum):
    """What became of a pending transfer before we come."""

    OPEN = auto()
    POSTED_BY_US = auto()
    POSTED_BY_ANOTHER = auto()
    POSTED_IN_PART = auto()
    VOIDED_BY_US = auto()
    VOIDED_BY_ANOTHER = auto()
    EXPIRED = auto()
    MISSING = auto()


POSTED: Final = {Prior.POSTED_BY_US, Prior.POSTED_BY_ANOTHER}
RELEASED: Final = {Prior.VOIDED_BY_US, Prior.VOIDED_BY_ANOTHER, Prior.EXPIRED}


class Death(Enum):
    """What becomes of the request during which the worker dies."""

    NEVER_SENT = auto()
    ANSWER_LOST = auto()
    CARRIED_OUT_LATER = auto()
    """After the next attempt: the request was still on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAttempt:
    """An attempt that dies during its request number ``request``, counted from 0."""

    request: int
    death: Death
    fund_revenue: bool
    keeps_hint: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """All that happens in one run."""

    priors: tuple[Prior, ...]
    action: Action
    fee_due: bool
    revenue_funded: bool
    attempts: tuple[BrokenAttempt, ...]

    @property
    def is_funded_in_the_end(self) -> bool:
        """Can the fee be paid by the last attempt?"""
        return self.revenue_funded or any(broken.fund_revenue for broken in self.attempts)


priors = st.lists(st.sampled_from(Prior), min_size=1, max_size=3).map(tuple)
willing_priors = {
    Action.POST_PENDING: [Prior.OPEN, Prior.POSTED_BY_US, Prior.POSTED_BY_ANOTHER],
    Action.VOID_PENDING: [Prior.OPEN, *sorted(RELEASED, key=lambda prior: prior.value)],
}
broken_attempts = st.builds(
    BrokenAttempt,
    request=st.integers(min_value=0, max_value=5),
    death=st.sampled_from(Death),
    fund_revenue=st.booleans(),
    keeps_hint=st.booleans(),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    action = draw(st.sampled_from(Action))
    # Anything goes; but half of the time, a state from which the action can succeed.
    willing = st.lists(st.sampled_from(willing_priors[action]), min_size=1, max_size=3)
    return Program(
        priors=draw(priors | willing.map(tuple)),
        action=action,
        fee_due=draw(st.booleans()),
        revenue_funded=draw(st.booleans()),
        attempts=tuple(draw(st.lists(broken_attempts, max_size=4))),
    )


def prepare(program: Program) -> FrozenMoney:
    money = FrozenMoney(
        len(program.priors), revenue_satang=1_000_000 if program.revenue_funded else 0
    )
    # First those that expire: time passes for all that are frozen by then.
    for member, prior in enumerate(program.priors):
        if prior is Prior.EXPIRED:
            money.let_expire(member)
    for member, prior in enumerate(program.priors):
        if prior not in (Prior.EXPIRED, Prior.MISSING):
            money.freeze(member)
        match prior:
            case Prior.POSTED_BY_US | Prior.VOIDED_BY_US:
                action = Action.POST_PENDING if prior is Prior.POSTED_BY_US else Action.VOID_PENDING
                ours = build_resolving_transfer(
                    INTENT_ID, action, pending_id_of(member), generation=0
                )
                money.must_send(ours)
            case Prior.POSTED_BY_ANOTHER:
                money.resolve_by_hand(member, POST)
            case Prior.POSTED_IN_PART:
                money.resolve_by_hand(member, POST, amount=AMOUNTS[member] - 1)
            case Prior.VOIDED_BY_ANOTHER:
                money.resolve_by_hand(member, VOID)
            case Prior.OPEN | Prior.EXPIRED | Prior.MISSING:
                pass
    return money


def attempt(
    money: FrozenMoney, program: Program, hint: tuple[int, ...], dies: BrokenAttempt | None = None
) -> tuple[Verdict | None, Ask | None]:
    """Return the verdict, or None and what was still on its way when the worker died."""
    order = money.order(program.action, fee=DUE_FEE if program.fee_due else None, generations=hint)
    resolution = Resolution(order)
    if dies is None:
        return drive(resolution, money.ledger), None
    for _ in range(dies.request):
        if resolution.ask is not None:
            resolution.answer(answer_to(resolution.ask, money.ledger))
            must_hold_always(money, program)
    if resolution.ask is None:
        return resolution.verdict, None
    if dies.death is Death.CARRIED_OUT_LATER:
        return None, resolution.ask
    if dies.death is Death.ANSWER_LOST:
        answer_to(resolution.ask, money.ledger)
    return None, None


def must_hold_always(money: FrozenMoney, program: Program) -> None:
    """The invariants that hold after every single request."""
    fees, moved = money.fees(), money.moved()
    assert fees in ([], [DUE_FEE.amount_satang])
    if fees:
        assert program.action is Action.POST_PENDING
        assert program.fee_due
        assert moved == amounts(money.members)
    if program.action is Action.VOID_PENDING:
        assert moved == tuple(moved_before(program))
    else:
        # A chain moves as a whole: what was open is open still, or all of it is posted.
        opened = [m for m, prior in enumerate(program.priors) if prior is Prior.OPEN]
        assert len({moved[member] == AMOUNTS[member] for member in opened}) <= 1


def moved_before(program: Program) -> list[int]:
    part = {Prior.POSTED_IN_PART: -1, Prior.POSTED_BY_US: 0, Prior.POSTED_BY_ANOTHER: 0}
    return [
        AMOUNTS[member] + part[prior] if prior in part else 0
        for member, prior in enumerate(program.priors)
    ]


def must_hold_in_the_end(money: FrozenMoney, program: Program, verdict: Verdict) -> None:
    """What a verdict promises."""
    posting = program.action is Action.POST_PENDING
    wrong = RELEASED | {Prior.POSTED_IN_PART} if posting else POSTED | {Prior.POSTED_IN_PART}
    priors = set(program.priors)
    match verdict:
        case Done():
            assert not priors & (wrong | {Prior.MISSING})
            assert money.frozen() == nothing(money.members)
            assert money.moved() == (amounts(money.members) if posting else nothing(money.members))
            assert money.fees() == ([] if verdict.fee_satang is None else [verdict.fee_satang])
            if posting:
                assert verdict.resolved_elsewhere is (Prior.POSTED_BY_ANOTHER in priors)
                assert (verdict.fee_satang is None) is (
                    not program.fee_due or verdict.resolved_elsewhere
                )
        case ManualReview(reason):
            assert priors & wrong
            assert money.fees() == []
            assert reason in (
                {
                    ReviewReason.MONEY_ALREADY_RELEASED,
                    ReviewReason.POSTED_IN_PART,
                    ReviewReason.DIFFERENT_TRANSFER_EXISTS,
                }
                if posting
                else {ReviewReason.MONEY_ALREADY_POSTED, ReviewReason.DIFFERENT_TRANSFER_EXISTS}
            )
        case RetryLater(RetryReason.PENDING_TRANSFER_NOT_FOUND):
            assert Prior.MISSING in priors
            assert money.fees() == []
        case RetryLater(RetryReason.FEE_REFUSED):
            assert posting
            assert program.fee_due
            assert not program.is_funded_in_the_end
            assert money.moved() == amounts(money.members)
            assert money.fees() == []
        case RetryLater():
            raise AssertionError(f"no reason for {verdict}")


def kind_of(verdict: Verdict) -> object:
    return verdict if isinstance(verdict, Done) else verdict.reason


WRONG_WAY = Program(
    priors=(Prior.OPEN, Prior.VOIDED_BY_US),
    action=Action.POST_PENDING,
    fee_due=True,
    revenue_funded=True,
    attempts=(),
)


@example(WRONG_WAY)
@settings(max_examples=300)
@given(programs())
def test_money_moves_once_and_in_one_direction_whenever_the_worker_dies(program: Program) -> None:
    money = prepare(program)
    hint: tuple[int, ...] = ()
    late: list[Ask] = []
    for broken in program.attempts:
        if broken.fund_revenue:
            money.fund_revenue(DUE_FEE.amount_satang)
        verdict, on_its_way = attempt(money, program, hint, broken)
        must_hold_always(money, program)
        for ask in late:
            answer_to(ask, money.ledger)
            must_hold_always(money, program)
        late = [] if on_its_way is None else [on_its_way]
        if isinstance(verdict, RetryLater) and broken.keeps_hint:
            hint = verdict.generations
    last, _ = attempt(money, program, hint)
    assert last is not None
    event(f"{program.action}: {type(last).__name__}")
    must_hold_always(money, program)
    must_hold_in_the_end(money, program, last)

    for ask in late:
        answer_to(ask, money.ledger)
    must_hold_in_the_end(money, program, last)
    before, balances = money.everything(), money.ledger.all_accounts()
    again, _ = attempt(money, program, hint)

    assert again is not None
    assert kind_of(again) == kind_of(last)
    assert money.ledger.all_accounts() == balances
    if isinstance(last, Done):
        assert money.everything() == before


@given(programs())
def test_a_chain_is_always_closed_and_never_holds_a_member_twice(program: Program) -> None:
    money = prepare(program)
    order = money.order(program.action, fee=DUE_FEE if program.fee_due else None)
    resolution = Resolution(order)

    while resolution.ask is not None:
        if isinstance(resolution.ask, CreateChain):
            chain = resolution.ask.transfers
            linked = [bool(member.flags & 1) for member in chain]
            assert linked == [*[True] * (len(chain) - 1), False]
            assert len({member.id for member in chain}) == len(chain)
            assert len({member.pending_id for member in chain}) == len(chain)
        resolution.answer(answer_to(resolution.ask, money.ledger))


@given(programs(), st.permutations(range(3)))
def test_all_is_done_in_the_end_once_nothing_is_in_the_way(
    program: Program, order_of_late: list[int]
) -> None:
    """Missing pending transfers turn up, the revenue account is funded: it ends as ordered."""
    money = prepare(program)
    hint: tuple[int, ...] = ()
    for broken in program.attempts:
        verdict, _ = attempt(money, program, hint, broken)
        if isinstance(verdict, RetryLater) and broken.keeps_hint:
            hint = verdict.generations

    for member in order_of_late:
        if member < money.members and program.priors[member] is Prior.MISSING:
            money.freeze(member)
    money.fund_revenue(1_000)
    last, _ = attempt(money, program, hint)

    posting = program.action is Action.POST_PENDING
    wrong = RELEASED if posting else POSTED
    expected = ManualReview if set(program.priors) & {*wrong, Prior.POSTED_IN_PART} else Done
    assert isinstance(last, expected)
