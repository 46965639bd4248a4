"""The invariants see what breaks them, and nothing else."""

from dataclasses import replace
from uuid import UUID

import pytest

from domain.conclusions import HistoryLine, LineKind
from domain.intents import IntentId
from domain.invariants import EventEvidence, IntentEvidence, check_invariants
from domain.transfers import Transfer, TransferFlags, TransferId

POST = TransferFlags.POST_PENDING_TRANSFER
VOID = TransferFlags.VOID_PENDING_TRANSFER
JOB = UUID(int=77)


def a_pending(number: int, amount: int) -> Transfer:
    return Transfer(id=TransferId(number), amount=amount, flags=TransferFlags.PENDING)


def a_resolver(number: int, amount: int, flags: TransferFlags) -> Transfer:
    return Transfer(
        id=TransferId(100 + number), pending_id=TransferId(number), amount=amount, flags=flags
    )


FEE = Transfer(id=TransferId(200), amount=7, code=50)
SETTLED = IntentEvidence(
    intent_id=IntentId(UUID(int=1)),
    status="SETTLED",
    events=(EventEvidence(action="post_pending", status="processed"),),
    pendings=(a_pending(1, 100), a_pending(2, 20)),
    resolvers=(a_resolver(1, 100, POST), a_resolver(2, 20, POST)),
    fees=(FEE,),
    lines=(
        HistoryLine(line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=105),
        HistoryLine(line_no=1, kind=LineKind.FEE, account="a", amount_satang=15),
        HistoryLine(line_no=2, kind=LineKind.PSP_FEE, account="n", amount_satang=7),
    ),
    final_audits=1,
    jobs_expected=(JOB,),
    jobs_seen=(JOB,),
)
FAILED = replace(
    SETTLED,
    status="FAILED",
    events=(EventEvidence(action="void_pending", status="processed"),),
    resolvers=(a_resolver(1, 100, VOID),),
    expired=frozenset({2}),
    fees=(),
    lines=(),
)
IN_REVIEW = replace(
    SETTLED,
    status="MANUAL_REVIEW",
    events=(EventEvidence(action="post_pending", status="failed"),),
    resolvers=(),
    fees=(),
    lines=(),
    final_audits=0,
    jobs_expected=(),
    jobs_seen=(),
)
CONTRADICTED = replace(
    SETTLED,
    status="MANUAL_REVIEW",
    reviewed_from="SETTLED",
    events=(
        *SETTLED.events,
        EventEvidence(action="void_pending", status="failed"),
        EventEvidence(action="post_pending", status="pending"),
    ),
)


def broken(*evidence: IntentEvidence, jobs_exactly_once: bool = True) -> list[int]:
    """Return the numbers of the invariants that do not hold."""
    invariants = check_invariants(evidence, jobs_exactly_once=jobs_exactly_once)
    assert [one.number for one in invariants] == [1, 2, 3, 4, 5, 6, 7, 8]
    return [one.number for one in invariants if not one.holds]


def test_intents_at_rest_break_nothing() -> None:
    assert broken(SETTLED, FAILED, IN_REVIEW, CONTRADICTED) == []
    assert broken() == []


@pytest.mark.parametrize(
    ("numbers", "evidence"),
    [
        ([1, 4], replace(SETTLED, resolvers=(*SETTLED.resolvers, SETTLED.resolvers[0]))),
        ([1, 2], replace(FAILED, resolvers=(a_resolver(1, 100, POST),))),
        ([2, 3, 4], replace(SETTLED, resolvers=SETTLED.resolvers[:1])),
        ([2], replace(FAILED, expired=frozenset())),
        ([2, 4, 5], replace(SETTLED, status="AUTHORIZED")),
        ([3, 4], replace(SETTLED, fees=(FEE, FEE))),
        ([3], replace(IN_REVIEW, fees=(FEE,))),
        ([4], replace(SETTLED, lines=SETTLED.lines[:2])),
        ([4], replace(SETTLED, lines=(SETTLED.lines[0], *SETTLED.lines[2:]))),
        ([4], replace(SETTLED, lines=(*SETTLED.lines, SETTLED.lines[0]))),
        ([4], replace(SETTLED, fees=())),
        ([4], replace(FAILED, lines=SETTLED.lines)),
        ([5], replace(SETTLED, final_audits=2)),
        ([5], replace(FAILED, final_audits=0)),
        ([5], replace(IN_REVIEW, final_audits=1)),
        ([6], replace(SETTLED, jobs_seen=())),
        ([6], replace(SETTLED, jobs_seen=(JOB, JOB))),
        ([6], replace(SETTLED, jobs_seen=(JOB, UUID(int=78)))),
        ([7], replace(SETTLED, events=(EventEvidence(action="post_pending", status="pending"),))),
        ([2, 3, 4], replace(CONTRADICTED, resolvers=SETTLED.resolvers[:1])),
        ([4], replace(CONTRADICTED, lines=())),
        ([5], replace(CONTRADICTED, final_audits=0)),
        ([6], replace(CONTRADICTED, jobs_seen=())),
        ([7], replace(CONTRADICTED, status="SETTLED")),
        ([7], replace(CONTRADICTED, events=CONTRADICTED.events[::-1])),
    ],
)
def test_each_break_is_seen(numbers: list[int], evidence: IntentEvidence) -> None:
    assert broken(SETTLED, evidence, FAILED) == numbers


def test_a_job_may_come_twice_after_a_crash() -> None:
    twice = replace(SETTLED, jobs_seen=(JOB, JOB))

    assert broken(twice, jobs_exactly_once=False) == []
    assert broken(replace(SETTLED, jobs_seen=()), jobs_exactly_once=False) == [6]


def test_what_is_broken_is_named_by_its_intent() -> None:
    *_, audits, _, _, _ = check_invariants(
        [replace(SETTLED, final_audits=3)], jobs_exactly_once=True
    )

    assert audits.broken == (
        "intent 00000000-0000-0000-0000-000000000001: SETTLED, and 3 final audit rows",
    )


@pytest.mark.parametrize(("wait_ms", "holds"), [(0, True), (400, True), (401, False)])
def test_a_wait_of_more_than_two_ticks_behind_a_bad_event_is_seen(
    wait_ms: int, holds: bool
) -> None:
    *_, last = check_invariants(
        [], jobs_exactly_once=True, longest_wait_behind_bad_ms=wait_ms, tick_ms=200
    )

    assert last.holds is holds
