"""Whatever happened to an intent: what the worker settled agrees, and --fix puts it right.

A scene is what became of each pending transfer, and what the database says. It is run on the
fakes, with the real worker.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from domain.intents import Action, EventId, Intent
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.fixing import NotOrdered
from domain.reconciliation.record import ByIds
from domain.transfer_builders import build_resolving_transfer
from domain.transfers import AMOUNT_MAX, TransferId
from tests.contracts.ledger import new_id
from tests.contracts.reconciling import Desk, a_line
from tests.contracts.wallet import (
    POST,
    VOID,
    a_pending,
    a_psp_record,
    post_by_other,
    void_by_other,
)
from tests.unit.application.memory_desk import a_desk


class Prior(Enum):
    """What became of a pending transfer."""

    OPEN = auto()
    POSTED_BY_WORKER = auto()
    POSTED_BY_OTHER = auto()
    POSTED_IN_PART = auto()
    VOIDED_BY_WORKER = auto()
    VOIDED_BY_OTHER = auto()
    EXPIRED = auto()
    MISSING = auto()


POSTED: Final = {Prior.POSTED_BY_WORKER, Prior.POSTED_BY_OTHER}
RELEASED: Final = {Prior.VOIDED_BY_WORKER, Prior.VOIDED_BY_OTHER, Prior.EXPIRED}
OF_MONEY: Final = {
    Kind.SETTLED_NOT_POSTED,
    Kind.SETTLED_BUT_RELEASED,
    Kind.FAILED_NOT_RELEASED,
    Kind.FAILED_BUT_POSTED,
    Kind.POSTED_NOT_SETTLED,
    Kind.RELEASED_NOT_FAILED,
    Kind.RESOLVED_IN_PART,
}
AMOUNT: Final = 100


class Fault(Enum):
    """What a hand, or another program, has done to the intent besides."""

    ANOTHER_AMOUNT = auto()
    LINE_TOO_MANY = auto()
    LINE_TOO_FEW = auto()
    FEE_CHARGED = auto()
    FEE_OF_ANOTHER_AMOUNT = auto()
    FEE_PAID_BACK = auto()
    FEE_ELSEWHERE = auto()


@dataclass(frozen=True, slots=True)
class Scene:
    """An intent of a status, with an order perhaps, and its money."""

    status: str
    order: tuple[Action, str] | None
    priors: tuple[Prior, ...]
    fee_satang: int
    faults: tuple[Fault, ...] = ()


some_priors = st.lists(st.sampled_from(Prior), min_size=1, max_size=3).map(tuple)
agreeing_priors = st.sampled_from(
    [{Prior.OPEN}, POSTED, RELEASED, {Prior.OPEN} | POSTED, {Prior.OPEN} | RELEASED]
).flatmap(
    lambda some: st.lists(
        st.sampled_from(sorted(some, key=lambda one: one.value)), min_size=1, max_size=3
    ).map(tuple)
)


def scenes(
    *,
    statuses: list[str],
    event_statuses: list[str],
    always_ordered: bool = False,
    faults_max: int = 0,
) -> st.SearchStrategy[Scene]:
    orders = st.tuples(st.sampled_from(Action), st.sampled_from(event_statuses))
    return st.builds(
        Scene,
        status=st.sampled_from(statuses),
        order=orders if always_ordered else st.none() | orders,
        priors=st.one_of(agreeing_priors, agreeing_priors, some_priors),
        fee_satang=st.sampled_from([0, 7]),
        faults=st.lists(st.sampled_from(Fault), max_size=faults_max).map(tuple),
    )


def set_up(desk: Desk, scene: Scene) -> tuple[Intent, EventId | None]:
    """Put *scene* into the database and the ledger."""
    ids = [new_id() for _ in scene.priors]
    intent, (payer, payee) = desk.wallet.freeze(
        frozen=(),
        missing=ids,
        status=scene.status,
        amount_satang=AMOUNT * len(ids) + (Fault.ANOTHER_AMOUNT in scene.faults),
    )
    for pending_id, prior in zip(ids, scene.priors, strict=True):
        if prior is not Prior.MISSING:
            timeout_s = 1 if prior is Prior.EXPIRED else 0
            desk.wallet.create(a_pending(payer, payee, AMOUNT, id_=pending_id, timeout_s=timeout_s))
    for pending_id, prior in zip(ids, scene.priors, strict=True):
        resolve(desk, intent, pending_id, prior)
    desk.database.pass_time(2_000)
    desk.database.add_intent(intent)
    desk.database.add_psp(intent.id, a_psp_record(fee_satang=scene.fee_satang))
    if scene.status == "SETTLED" and Fault.LINE_TOO_FEW not in scene.faults:
        desk.database.add_lines(intent.id, a_line(0, intent.amount_satang))
    for fault in scene.faults:
        put_in(desk, intent, fault)
    if scene.order is None:
        return intent, None
    action, status = scene.order
    return intent, desk.database.add_event(intent.id, action, status=status)


def put_in(desk: Desk, intent: Intent, fault: Fault) -> None:
    wallet = desk.wallet
    fee = wallet.a_fee(7, user_data_128=intent.id.int)
    a, b = (wallet.bank.open_account(ledger=fee.ledger) for _ in range(2))
    match fault:
        case Fault.ANOTHER_AMOUNT | Fault.LINE_TOO_FEW:
            pass  # the rows were made so
        case Fault.LINE_TOO_MANY:
            desk.database.add_lines(intent.id, a_line(0, 1))
        case Fault.FEE_CHARGED:
            wallet.create(fee)
        case Fault.FEE_OF_ANOTHER_AMOUNT:
            wallet.create(replace(fee, amount=5))
        case Fault.FEE_PAID_BACK:
            wallet.create(wallet.back(fee, 7))
        case Fault.FEE_ELSEWHERE:
            wallet.create(replace(fee, credit_account_id=a, debit_account_id=b))


def resolve(desk: Desk, intent: Intent, pending_id: TransferId, prior: Prior) -> None:
    match prior:
        case Prior.POSTED_BY_WORKER | Prior.VOIDED_BY_WORKER:
            action = POST if prior is Prior.POSTED_BY_WORKER else VOID
            ours = build_resolving_transfer(intent.id, action, pending_id, generation=0)
            desk.wallet.create(ours)
        case Prior.POSTED_BY_OTHER:
            desk.wallet.create(post_by_other(pending_id, AMOUNT_MAX))
        case Prior.POSTED_IN_PART:
            desk.wallet.create(post_by_other(pending_id, AMOUNT - 1))
        case Prior.VOIDED_BY_OTHER:
            desk.wallet.create(void_by_other(pending_id))
        case Prior.OPEN | Prior.EXPIRED | Prior.MISSING:
            pass


@settings(max_examples=100)
@given(
    scene=scenes(
        statuses=["AUTHORIZED", "SETTLING"], event_statuses=["pending"], always_ordered=True
    )
)
def test_what_the_worker_settles_itself_has_no_difference(scene: Scene) -> None:
    desk = a_desk()
    intent, _ = set_up(desk, scene)

    desk.wallet.settle_until_idle()

    status = desk.database.intent(intent.id).status
    event(status)
    if status in ("SETTLED", "FAILED"):
        # A fee is never charged once another has posted, and that is to be told.
        others_posted = Prior.POSTED_BY_OTHER in scene.priors and scene.fee_satang > 0
        expected = [Kind.FEE_MISSING] if status == "SETTLED" and others_posted else []
        assert [kind for _, kind in desk.told()] == expected


@settings(max_examples=300)
@given(
    scene=scenes(
        statuses=["AUTHORIZED", "SETTLING", "SETTLED", "FAILED"],
        event_statuses=["processed", "failed"],
        faults_max=2,
    )
)
def test_where_a_fix_is_offered_nothing_is_left_to_tell_once_it_is_carried_out(
    scene: Scene,
) -> None:
    desk = a_desk()
    intent, _ = set_up(desk, scene)
    before = desk.reconcile()
    fixed = [one for one in before if one.fix is not None]
    assert len(fixed) <= 1
    event(f"{len(fixed)} fixed, {len(scene.faults)} faults")

    for one in fixed:
        event_id = desk.order_again(one)
        assert not isinstance(event_id, NotOrdered)
        desk.wallet.settle_until_idle()
        assert desk.database.event(event_id).status == "processed"
        assert desk.database.intent(intent.id).status in ("SETTLED", "FAILED")
        # It is told before as well, and can only be charged once the money is posted.
        may_be_left = {Kind.FEE_MISSING} & {each.kind for each in before}
        everything = desk.told() + desk.told(ByIds((intent.id,)))
        assert {kind for _, kind in everything} <= may_be_left


@settings(max_examples=200)
@given(
    scene=scenes(
        statuses=["CREATED", "AUTHORIZED", "SETTLING", "SETTLED", "FAILED", "MANUAL_REVIEW"],
        event_statuses=["pending", "processed", "failed"],
    )
)
def test_of_an_intents_money_exactly_the_worst_is_told(scene: Scene) -> None:
    desk = a_desk()
    set_up(desk, scene)

    kinds = [one.kind for one in desk.reconcile()]

    assert len(kinds) == len(set(kinds))
    assert [kind for kind in kinds if kind in OF_MONEY] == money_expected(scene)


def money_expected(scene: Scene) -> list[Kind]:
    """Say the rules once more, by what became of the money alone."""
    priors = set(scene.priors)
    moved = priors & (POSTED | {Prior.POSTED_IN_PART})
    match scene.status:
        case "SETTLED":
            order = [
                (priors & RELEASED, Kind.SETTLED_BUT_RELEASED),
                (priors & {Prior.POSTED_IN_PART}, Kind.RESOLVED_IN_PART),
                (priors & {Prior.OPEN}, Kind.SETTLED_NOT_POSTED),
            ]
        case "FAILED":
            order = [
                (moved, Kind.FAILED_BUT_POSTED),
                (priors & {Prior.OPEN}, Kind.FAILED_NOT_RELEASED),
            ]
        case "AUTHORIZED" | "SETTLING":
            return unfinished_expected(scene)
        case "CREATED":
            order = [(priors & {Prior.POSTED_BY_WORKER}, Kind.POSTED_NOT_SETTLED)]
        case _:
            order = []
    return [kind for found, kind in order if found][:1]


def unfinished_expected(scene: Scene) -> list[Kind]:
    priors = set(scene.priors)
    waiting = scene.order is not None and scene.order[1] == "pending"
    seen = priors
    if waiting and not looked_for(scene):
        # Of a healthy backlog only what the worker did itself is known.
        seen = {one if one in BY_WORKER else Prior.OPEN for one in priors - {Prior.MISSING}}
        seen |= priors & {Prior.MISSING}
    if seen <= POSTED:
        return [] if waiting and scene.order == (POST, "pending") else [Kind.POSTED_NOT_SETTLED]
    if seen <= RELEASED:
        return [] if waiting and scene.order == (VOID, "pending") else [Kind.RELEASED_NOT_FAILED]
    is_mixed = bool(seen & RELEASED) and Prior.OPEN in seen
    if is_mixed or seen & (POSTED | {Prior.POSTED_IN_PART}):
        return [Kind.RESOLVED_IN_PART]
    return []


BY_WORKER: Final = {Prior.POSTED_BY_WORKER, Prior.VOIDED_BY_WORKER}


def looked_for(scene: Scene) -> bool:
    """Does the look-up alone show that something has happened to a part of the money?"""
    # Without a resolver of the worker's, what has run out of time looks so; the rest looks open.
    looks = {
        one if one in BY_WORKER | {Prior.EXPIRED, Prior.MISSING} else Prior.OPEN
        for one in scene.priors
    }
    return Prior.EXPIRED in looks or (bool(looks & BY_WORKER) and not looks <= BY_WORKER)
