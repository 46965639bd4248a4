"""What must hold of every intent once the outbox is at rest (DESIGN §11).

Pure: whoever asks has gathered the evidence, from the database, the ledger and the stream.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from uuid import UUID

from domain.conclusions import RecordedLine
from domain.intents import Action, IntentId, IntentStatus
from domain.settlement import are_numbered, parts_satang, psp_fee_satang
from domain.transfers import Transfer, TransferFlags
from domain.values import value

_FINAL: Final = (IntentStatus.SETTLED, IntentStatus.FAILED)


@value
class EventEvidence:
    """An outbox event at rest."""

    action: str
    status: str


@value
class IntentEvidence:
    """All that is known of one intent.

    ``events`` are in their order. ``reviewed_from`` is the status that it had when it was put
    under review. ``expired`` pending transfers are released without a resolver.
    ``jobs_expected`` are the notification ids that follow from the outcome, ``jobs_seen`` those
    read from the stream, as often as they were read.
    """

    intent_id: IntentId
    status: str
    events: tuple[EventEvidence, ...]
    pendings: tuple[Transfer, ...]
    resolvers: tuple[Transfer, ...]
    reviewed_from: str | None = None
    expired: frozenset[int] = frozenset()
    fees: tuple[Transfer, ...] = ()
    lines: tuple[RecordedLine, ...] = ()
    final_audits: int = 0
    jobs_expected: tuple[UUID, ...] = ()
    jobs_seen: tuple[UUID, ...] = ()

    @property
    def outcome(self) -> str:
        """The status, or the final one that a later event put under review."""
        if self.status == IntentStatus.MANUAL_REVIEW and self.reviewed_from in _FINAL:
            return self.reviewed_from
        return self.status

    @property
    def posted_satang(self) -> int:
        """What the ledger moved for this intent, fees aside."""
        return sum(one.amount for one in self.resolvers if _is_post(one))


@value
class Invariant:
    """One line of the report; ``broken`` names what does not fit, one text an intent."""

    number: int
    text: str
    broken: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Is there nothing that does not fit?"""
        return not self.broken


Fault = Callable[[IntentEvidence], str | None]
"""Says what is wrong with one intent, None if nothing is."""


def check_invariants(
    evidence: Sequence[IntentEvidence],
    *,
    jobs_exactly_once: bool,
    longest_wait_behind_bad_ms: int = 0,
    tick_ms: int = 1_000,
) -> tuple[Invariant, ...]:
    """Check all invariants.

    ``jobs_exactly_once``: nothing crashed and Redis was up. ``longest_wait_behind_bad_ms`` is
    how long a good event took at most that came after bad ones; 0 where there were none.
    """
    jobs = Invariant(
        number=6,
        text="every push job is on the stream "
        + ("exactly once" if jobs_exactly_once else "at least once"),
        broken=tuple(_jobs_off(evidence, exactly_once=jobs_exactly_once)),
    )
    delay = Invariant(
        number=8,
        text="a bad event delays no other by more than two ticks",
        broken=()
        if longest_wait_behind_bad_ms <= 2 * tick_ms
        else (f"an event behind bad ones took {longest_wait_behind_bad_ms} ms",),
    )
    each = [
        Invariant(number=number, text=text, broken=tuple(_all(evidence, fault_of)))
        for number, text, fault_of in _OF_EACH_INTENT
    ]
    return (*sorted([*each, jobs, delay], key=lambda one: one.number),)


def _all(evidence: Iterable[IntentEvidence], fault_of: Fault) -> Iterator[str]:
    for one in evidence:
        fault = fault_of(one)
        if fault is not None:
            yield f"intent {one.intent_id}: {fault}"


def _resolved_otherwise(one: IntentEvidence) -> str | None:
    resolved = Counter(resolver.pending_id for resolver in one.resolvers)
    if any(times > 1 for times in resolved.values()):
        return "a pending transfer is resolved twice"
    ordered = {event.action for event in one.events if event.status == "processed"}
    done = {
        Action.POST_PENDING if _is_post(each) else Action.VOID_PENDING for each in one.resolvers
    }
    if ordered and not done <= ordered:
        return f"ordered {', '.join(sorted(ordered))}; done {', '.join(sorted(done))}"
    return None


def _status_without_money(one: IntentEvidence) -> str | None:
    posted = {each.pending_id for each in one.resolvers if _is_post(each)}
    voided = {each.pending_id for each in one.resolvers if not _is_post(each)}
    pending = {each.id for each in one.pendings}
    if one.outcome == IntentStatus.SETTLED and posted != pending:
        return "SETTLED, and not all of it is posted"
    if one.outcome == IntentStatus.FAILED and voided | one.expired != pending:
        return "FAILED, and not all of it is released"
    if one.status in (*_FINAL, IntentStatus.MANUAL_REVIEW):
        return None
    if pending and pending in (posted, voided | one.expired):
        return f"the money is resolved, and the intent is {one.status}"
    return None


def _fee_too_many(one: IntentEvidence) -> str | None:
    if len(one.fees) > 1:
        return f"{len(one.fees)} fees"
    if one.fees and len([each for each in one.resolvers if _is_post(each)]) < len(one.pendings):
        return "a fee, and not all of the money is posted"
    return None


def _history_off(one: IntentEvidence) -> str | None:
    if not are_numbered(one.lines):
        return "lines are missing or doubled"
    if one.outcome != IntentStatus.SETTLED:
        return "history without a settlement" if one.lines else None
    if parts_satang(one.lines) != one.posted_satang:
        return (
            f"history has {parts_satang(one.lines)} satang, the ledger posted {one.posted_satang}"
        )
    charged_satang = sum(fee.amount for fee in one.fees)
    if psp_fee_satang(one.lines) != charged_satang:
        return f"history differs from the fee of {charged_satang} satang in the ledger"
    return None


def _audit_off(one: IntentEvidence) -> str | None:
    expected = 1 if one.outcome in _FINAL else 0
    if one.final_audits != expected:
        return f"{one.status}, and {one.final_audits} final audit rows"
    return None


def _jobs_off(evidence: Iterable[IntentEvidence], *, exactly_once: bool) -> Iterator[str]:
    for one in evidence:
        seen = Counter(one.jobs_seen)
        if set(seen) != set(one.jobs_expected):
            yield f"intent {one.intent_id}: {len(seen)} jobs of {len(one.jobs_expected)}"
        elif exactly_once and any(times > 1 for times in seen.values()):
            yield f"intent {one.intent_id}: a job is there twice"


def _event_open(one: IntentEvidence) -> str | None:
    statuses = [event.status for event in one.events]
    if one.status == IntentStatus.MANUAL_REVIEW and "failed" in statuses:
        # What was ordered later waits for the person, too.
        statuses = statuses[: statuses.index("failed")]
    open_ones = [status for status in statuses if status not in ("processed", "failed")]
    return f"{len(open_ones)} events are {open_ones[0]}" if open_ones else None


def _is_post(resolver: Transfer) -> bool:
    return TransferFlags.POST_PENDING_TRANSFER in resolver.flags


_OF_EACH_INTENT: Final[tuple[tuple[int, str, Fault], ...]] = (
    (1, "each pending transfer is resolved at most once, as its event orders", _resolved_otherwise),
    (
        2,
        "SETTLED has all posted, FAILED has all voided or expired, and the reverse",
        _status_without_money,
    ),
    (3, "at most one PSP fee an intent, none without its money posted", _fee_too_many),
    (4, "history has each line once, and adds up to what the ledger posted", _history_off),
    (5, "one final audit row an intent", _audit_off),
    (7, "every event has ended, or waits behind one that failed", _event_open),
)
