"""What reconciling reads, and what it makes of rows that nothing can be made of."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from adapters.memory.faulty_ledger import LedgerCall, unavailable
from application.errors import LedgerUnavailableError
from application.use_cases.reconcile import Reconcile
from domain.intents import EventId, IntentId
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.record import EventRecord, IntentRecord, Period
from domain.transfers import AMOUNT_MAX, Transfer, TransferFlags, TransferId
from tests.contracts.reconciling import Desk, a_line, failed_while_frozen, pending_ids
from tests.contracts.wallet import FEE_CODE, FEE_RULE, POST, post_by_other
from tests.unit.application.memory_desk import a_desk, ns_of

DAY = timedelta(days=1)


@dataclass(slots=True)
class ListedFees:
    """A ``FeeScan`` of *fees*, which remembers what it was asked for."""

    fees: list[Transfer] = field(default_factory=list)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def transfers_of_code(self, code: int, *, since_ns: int) -> Iterator[Transfer]:
        self.asked.append((code, since_ns))
        return iter(self.fees)


@pytest.fixture
def desk() -> Desk:
    return a_desk()


def fee_at(moment: datetime, intent_id: IntentId, **changes: Any) -> Transfer:
    fee = Transfer(
        id=TransferId(uuid4().int),
        amount=7,
        code=FEE_CODE,
        user_data_128=intent_id.int,
        timestamp_ns=ns_of(moment),
    )
    return replace(fee, **changes)


# Fees that were charged again.


def charged_again(desk: Desk, *fees: Transfer) -> list[IntentId]:
    """Return of whom it is told in a period of a day; the fees are all that there is."""
    now = desk.database.records().now()
    desk.fee_scan = scan = ListedFees(list(fees))
    told = desk.told(Period(since=now - DAY, until=now))
    assert {kind for _, kind in told} <= {Kind.FEE_TWICE}
    assert scan.asked == [(FEE_CODE, ns_of(now - 2 * DAY))]
    return [intent_id for intent_id, _ in told]


def test_a_fee_is_charged_again_in_the_period_of_the_second_charge(desk: Desk) -> None:
    first, second, third, fourth = (IntentId(uuid4()) for _ in range(4))
    now = desk.database.records().now()
    moment = timedelta(microseconds=1)

    told = charged_again(
        desk,
        *(fee_at(now - 2 * DAY, intent_id) for intent_id in (first, second, third, fourth)),
        fee_at(now - DAY - moment, first),
        fee_at(now - DAY, second),
        fee_at(now - moment, third),
        fee_at(now, fourth),
    )

    assert told == [second, third]


def test_what_has_the_fees_code_and_is_no_charge_does_not_count(desk: Desk) -> None:
    intent_id = IntentId(uuid4())
    now = desk.database.records().now()

    told = charged_again(
        desk,
        fee_at(now - DAY / 2, intent_id),
        fee_at(now - DAY / 2, intent_id, flags=TransferFlags.PENDING),
        fee_at(now - DAY / 2, intent_id, flags=TransferFlags.VOID_PENDING_TRANSFER),
    )

    assert told == []


def test_a_period_of_long_ago_begins_at_the_ledgers_beginning(desk: Desk) -> None:
    desk.fee_scan = scan = ListedFees()
    beginning = datetime.fromisoformat("1970-01-01T12:00:00+00:00")

    desk.told(Period(since=beginning, until=beginning + DAY))

    assert scan.asked == [(FEE_CODE, 0)]


# Rows that nothing can be made of.


@dataclass(frozen=True, slots=True)
class ListedRecords:
    """An ``IntentRecords`` of one page."""

    page: list[IntentRecord]

    def now(self) -> datetime:
        return datetime.fromisoformat("2026-01-01T00:00:00+00:00")

    def pages(self, selection: object) -> Iterator[list[IntentRecord]]:
        yield self.page

    def shared_transfers(self, selection: object) -> Iterator[Any]:
        return iter(())

    def sharing(self, intent_ids: object) -> set[IntentId]:
        raise AssertionError("only --fix asks for that")


def a_record(**changes: Any) -> IntentRecord:
    record = IntentRecord(
        id=IntentId(uuid4()),
        status="AUTHORIZED",
        amount_satang=0,
        currency="THB",
        tb_transfer_ids=(),
        age_ms=10**9,
        now_ns=ns_of(datetime.fromisoformat("2026-01-01T00:00:00+00:00")),
    )
    return replace(record, **changes)


def told_of(desk: Desk, *page: IntentRecord) -> list[tuple[IntentId, Kind]]:
    reconcile = Reconcile(
        records=ListedRecords(list(page)),
        ledger=desk.wallet.ledger,
        fee_scan=ListedFees(),
        fee=FEE_RULE,
        accounts={},
        limits=desk.limits,
    )
    period = Period(since=desk.began - DAY, until=desk.began)
    found = [one for step in reconcile(period) for one in step.differences]
    return [(one.intent_id, one.kind) for one in found]


NULL: Any = None
"""Where no column is, in our own schema."""

A_TRANSFER = (UUID(int=5),)
A_WAITING_ORDER = EventRecord(
    id=EventId(1), action=POST, status="pending", retry_count=1, age_ms=10**9
)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "SETTLED", "lines": (replace(a_line(0, 5), amount_satang=NULL),)},
        {"status": "SETTLED", "lines": (a_line(0, 5), replace(a_line(1, 5), line_no=NULL))},
        {"tb_transfer_ids": (), "age_ms": None},
        {"events": (replace(A_WAITING_ORDER, age_ms=NULL),)},
    ],
)
def test_a_row_that_nothing_can_be_made_of_costs_its_own_intent_only(
    desk: Desk, changes: dict[str, Any]
) -> None:
    bad = a_record(**{"tb_transfer_ids": A_TRANSFER} | changes)
    good = [a_record(status="CREATED", lines=(a_line(0, 5),)) for _ in range(2)]

    assert told_of(desk, good[0], bad, good[1]) == [
        (good[0].id, Kind.HISTORY_DIFFERS),
        (bad.id, Kind.NOT_COMPARED),
        (good[1].id, Kind.HISTORY_DIFFERS),
    ]


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"status": None}, []),
        ({"status": "FAILED", "amount_satang": None}, []),
        ({"status": "SETTLING", "currency": None}, [Kind.TRANSFER_MISSING, Kind.NO_EVENT]),
        (
            {"events": (replace(A_WAITING_ORDER, retry_count=NULL, action=NULL),)},
            [Kind.TRANSFER_MISSING],
        ),
    ],
)
def test_a_value_that_does_not_matter_may_be_missing(
    desk: Desk, changes: dict[str, Any], kinds: list[Kind]
) -> None:
    record = a_record(**{"tb_transfer_ids": A_TRANSFER} | changes)

    assert told_of(desk, record) == [(record.id, kind) for kind in kinds]


def test_an_intent_of_which_it_cannot_be_said_is_searched_for(desk: Desk) -> None:
    intent, _ = desk.wallet.freeze()
    [pending_id] = pending_ids(intent)
    desk.wallet.create(post_by_other(pending_id, AMOUNT_MAX))
    waiting = replace(A_WAITING_ORDER, action="void_pending", retry_count=NULL)
    record = a_record(
        id=intent.id, tb_transfer_ids=intent.tb_transfer_ids, amount_satang=100, events=(waiting,)
    )
    desk.database.pass_time(1)

    told = told_of(desk, replace(record, now_ns=record.now_ns + 10**6))

    assert told == [(intent.id, Kind.POSTED_NOT_SETTLED)]


def test_an_intent_may_list_thousands_of_transfers(desk: Desk) -> None:
    ids = tuple(UUID(int=number) for number in range(1, 5_001))
    record = a_record(status="SETTLED", tb_transfer_ids=ids, lines=(a_line(0, 0),))

    assert told_of(desk, record) == [(record.id, Kind.TRANSFER_MISSING)]


# Ends.


def test_a_ledger_that_is_away_ends_it(desk: Desk) -> None:
    failed_while_frozen(desk)
    desk.wallet.ledger.before = unavailable(times=1)

    with pytest.raises(LedgerUnavailableError):
        desk.reconcile()


def test_a_ledger_that_goes_away_during_a_search_ends_it(desk: Desk) -> None:
    for _ in range(20):
        failed_while_frozen(desk)
    desk.page_intents = 20

    def fail_on_searches(call: LedgerCall) -> None:
        if call.method == "find_resolutions":
            raise LedgerUnavailableError("no answer")

    desk.wallet.ledger.before = fail_on_searches

    with pytest.raises(LedgerUnavailableError):
        desk.reconcile()


def test_whoever_stops_reading_leaves_no_thread_behind(desk: Desk) -> None:
    for _ in range(3):
        failed_while_frozen(desk)
    steps = desk.steps()

    first = next(steps)
    steps.close()

    assert first.intents == 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("reconcile")]


@pytest.mark.parametrize("page_intents", [5, 100])
def test_what_the_worker_did_itself_takes_one_look_up_a_page(desk: Desk, page_intents: int) -> None:
    for _ in range(15):
        desk.add_settled(fee_satang=7)
        desk.wallet.add_case(POST, frozen=(100, 20))
        desk.wallet.settle_until_idle()
    desk.wallet.add_case(POST)
    desk.page_intents = page_intents
    desk.wallet.ledger.calls.clear()

    assert desk.told() == []

    calls = Counter(call.method for call in desk.wallet.ledger.calls)
    assert calls["lookup"] == -(-31 // page_intents)
    assert calls["find_resolutions"] == 0


def test_a_search_that_ends_early_costs_its_own_intent_only(desk: Desk) -> None:
    _, busy, _ = intent_ids = [failed_while_frozen(desk) for _ in range(3)]
    desk.page_intents = 1
    ledger = desk.wallet.ledger

    def end_early(call: LedgerCall) -> None:
        if call.method == "find_resolutions":
            ledger.searches_end_early = call.argument.intent_id == busy

    ledger.before = end_early

    assert dict(desk.told()) == dict.fromkeys(intent_ids, Kind.FAILED_NOT_RELEASED) | {
        busy: Kind.NOT_COMPARED
    }
