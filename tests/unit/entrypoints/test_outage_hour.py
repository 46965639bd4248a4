"""An hour without ledger or database, in simulated time, with the defaults of all settings.

A lane's time passes where it waits: in a call that gets no answer, and in the loop's pause.
"""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from structlog.testing import capture_logs

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.outbox_repository import InMemoryOutboxRepository
from application.errors import DatabaseUnavailableError, LedgerUnavailableError
from application.ports.outbox_repository import ClaimedBatch
from application.status_queue import StatusQueue
from application.use_cases.settle_batch import SettleBatch
from domain.transfers import AccountId
from entrypoints.health import Health, Part
from entrypoints.loops import Loop
from entrypoints.settings import Settings
from entrypoints.worker import LANES, LaneStep
from entrypoints.worker_builders import build_pace, build_rules
from tests.contracts.wallet import POST, Wallet
from tests.unit.memory.memory_bank import MemoryBank
from tests.unit.memory.memory_bench import InMemoryBench

HOUR_MS: Final = 3_600_000
WAIT_S: Final = 30.0
PAYMENTS: Final = 20


@dataclass(slots=True)
class Lane:
    """What happens to one lane; its own ``now_ms`` passes while it waits."""

    now_ms: int = 0
    pauses: int = 0
    claims_in_outage: int = 0

    @property
    def is_outage(self) -> bool:
        return self.now_ms < HOUR_MS

    def pause(self, bound_ms: int) -> int:
        """Be the jitter: the longest pause there may be, over at once."""
        self.now_ms += bound_ms
        self.pauses += 1
        return 0


@dataclass(frozen=True, slots=True)
class Outbox:
    """An ``OutboxRepository`` that is away when it is told so, and counts claims."""

    outbox: InMemoryOutboxRepository
    lane: Lane
    has_outages: bool
    connect_ms: int

    def rehearse(self) -> None:
        self._reach()
        self.outbox.rehearse()

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        self._reach()
        return self.outbox.some_mapped_accounts(limit=limit)

    @contextmanager
    def claim(self, *, limit: int) -> Iterator[ClaimedBatch]:
        self.lane.claims_in_outage += self.lane.is_outage
        self._reach()
        with self.outbox.claim(limit=limit) as batch:
            yield batch

    def _reach(self) -> None:
        if self.has_outages and self.lane.is_outage:
            self.lane.now_ms += self.connect_ms
            raise DatabaseUnavailableError("away")


@pytest.fixture
def settings() -> Settings:
    return Settings.model_validate(
        {
            "DATABASE_URL": "postgresql://",
            "REDIS_URL": "redis://",
            "TIGERBEETLE_ADDRESSES": "127.0.0.1:3000",
            "TIGERBEETLE_CLUSTER_ID": "0",
        }
    )


def a_lane(
    part: Part,
    settings: Settings,
    lane: Lane,
    wallet: Wallet,
    health: Health,
    settled: Callable[[], None],
) -> Loop:
    """Return a lane's loop as the worker makes it, with *part* away for an hour."""

    def reach_ledger(_: LedgerCall) -> None:
        if part is Part.LEDGER and lane.is_outage:
            lane.now_ms += settings.ledger_deadline_ms
            raise LedgerUnavailableError("away")

    assert isinstance(wallet.bench, InMemoryBench)
    outbox = Outbox(
        wallet.bench.outbox,
        lane,
        has_outages=part is Part.DATABASE,
        connect_ms=settings.connect_timeout_ms,
    )
    ledger = FaultyLedger(wallet.ledger.ledger, before=reach_ledger)
    settle_batch = SettleBatch(
        outbox=outbox,
        ledger=ledger,
        announcements=StatusQueue(size_max=PAYMENTS),
        rules=build_rules(settings, lane.pause),
        batch_size=settings.batch_size,
        ledger_budget_s=settings.ledger_budget_ms / 1_000,
        jobs_written=settled,
    )
    return Loop(
        "lane-1",
        LaneStep(outbox=outbox, settle_batch=settle_batch, ledger=ledger, health=health),
        pace=build_pace(settings, lane.pause),
        health=health,
        redis_part=Part.STATUS,
        owner=LANES,
    )


@pytest.mark.parametrize("part", [Part.LEDGER, Part.DATABASE])
def test_an_hour_away_counts_against_nobody_and_ends_within_one_backoff(
    part: Part, settings: Settings
) -> None:
    ledger = InMemoryLedger()
    wallet = Wallet(bench=InMemoryBench(), ledger=FaultyLedger(ledger), bank=MemoryBank(ledger))
    cases = [wallet.add_case(POST) for _ in range(PAYMENTS)]
    lane, health = Lane(), Health()
    settled_at_ms: list[int] = []
    is_settled = threading.Event()

    def settled() -> None:
        settled_at_ms.append(lane.now_ms)
        is_settled.set()

    loop = a_lane(part, settings, lane, wallet, health, settled)
    # All was well: the outage begins in the middle of work, and a claim finds it out.
    health.up(Part.LEDGER)
    health.up(Part.DATABASE)
    with capture_logs() as logs:
        loop.start()
        assert is_settled.wait(WAIT_S)
        loop.stop()
        loop.join(WAIT_S)

    assert [wallet.intent_status(case) for case in cases] == ["SETTLED"] * PAYMENTS
    assert [wallet.retry_count(case) for case in cases] == [0] * PAYMENTS
    changes = [(line["event"], line["part"]) for line in logs if "part" in line]
    assert changes == [("outbox: part is down", part), ("outbox: part is up", part)]
    # What was asked just before the return may still have to run into its deadline.
    attempt_ms = {
        Part.LEDGER: settings.ledger_deadline_ms,
        Part.DATABASE: settings.connect_timeout_ms,
    }[part]
    longest_ms = attempt_ms + settings.outage_backoff_max_ms
    assert HOUR_MS <= settled_at_ms[0] <= HOUR_MS + longest_ms
    assert lane.claims_in_outage == 1, "the one that found it out"
    assert lane.pauses >= HOUR_MS // longest_ms, "it asked all the time"
