"""The gate: what a batch costs, counted and not timed, so that no machine can blur it.

A batch of 1,000 events must cost as many exchanges as a batch of one. Where a change makes them
fewer, write the lower number here.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import psycopg
import pytest
from dependency_injector import providers
from redis import Connection, Redis

from adapters.memory.ledger import InMemoryLedger
from adapters.redis.pipeline import PIPELINE_LENGTH_MAX
from application.reporting import BatchReport
from benchmarks.payments import (
    JOBS_PER_EVENT,
    accounts,
    freeze,
    insert,
    make_payments,
    map_accounts,
    order,
    time_ordered_ids,
)
from benchmarks.postgres_wire import Counts, PostgresWire
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfer_status import AnyStatus
from domain.transfers import Transfer, TransferId
from entrypoints.container import Container, running
from entrypoints.sandbox.ledger import open_in_memory
from entrypoints.settings import Settings

pytestmark = pytest.mark.integration

SIZES: Final = (1, 10, 1_000)

POSTS: Final = Counts(statements=12, round_trips=12, commits=1)
POSTS_LEDGER_REQUESTS: Final = 2
"""The chains, and the fees of those that are posted."""
OF_EVERY_KIND: Final = Counts(statements=14, round_trips=14, commits=1)
"""Retries and reviews have a statement of their own each."""
DELIVERY: Final = Counts(statements=5, round_trips=5, commits=1)


class CountedLedger(InMemoryLedger):
    """Counts requests, below the port: what a call packs into several is several."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        """See ``InMemoryLedger``."""
        self.requests += 1
        return super().create_transfers(transfers)

    def lookup_transfers(self, ids: Sequence[TransferId]) -> list[Transfer]:
        """See ``InMemoryLedger``."""
        self.requests += 1
        return super().lookup_transfers(ids)

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """See ``InMemoryLedger``."""
        self.requests += 1
        return super().find_resolutions(search)


@dataclass(slots=True)
class Scene:
    """The worker's own wiring, with everything it asks of others counted."""

    container: Container
    wire: PostgresWire
    ledger: CountedLedger
    redis_round_trips: list[int]
    url: str

    def authorize(self, count: int, *, frozen: bool = True) -> None:
        """Order the settling of *count* new payments."""
        random = Random(count)
        payments = make_payments(
            count, random=random, new_id=time_ordered_ids(random, start_ms=1_780_000_000_000)
        )
        if frozen:
            freeze(self.ledger, payments)
        with psycopg.connect(self.url, autocommit=True) as connection:
            insert(connection, payments)
            order(connection, payments)
        self.ledger.requests = 0

    def execute(self, statement: str) -> None:
        """Do something behind the worker's back."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def settle(self) -> tuple[BatchReport, Counts]:
        """Settle one batch; return what came of it, and what it asked of Postgres."""
        before = self.wire.counts
        report = self.container.settle_batch()()
        return report, self.wire.counts - before


@pytest.fixture
def scene(database_url: str, redis_url: str) -> Iterator[Scene]:
    """A scene in which every connection is open already."""
    ledger = CountedLedger()
    open_in_memory(ledger, accounts())
    with psycopg.connect(database_url, autocommit=True) as connection:
        map_accounts(connection)
    redis, round_trips = counted_redis(redis_url)
    with ExitStack() as stack:
        wire = stack.enter_context(PostgresWire(database_url))
        settings = Settings.model_validate(
            {
                "DATABASE_URL": wire.url,
                "REDIS_URL": redis_url,
                "TIGERBEETLE_ADDRESSES": "127.0.0.1:3000",
                "TIGERBEETLE_CLUSTER_ID": 0,
                "lanes": 1,
                "health_port": 0,
            }
        )
        container = stack.enter_context(
            running(
                Container(
                    settings=providers.Object(settings),
                    ledger=providers.Object(ledger),
                    redis=providers.Object(redis),
                    notifications_redis=providers.Object(redis),
                )
            )
        )
        container.settle_batch()()
        redis.ping()
        round_trips.clear()
        yield Scene(container, wire, ledger, round_trips, database_url)


def counted_redis(url: str) -> tuple[Redis, list[int]]:
    """Return a client, and a list that grows with each of its round trips."""
    round_trips: list[int] = []

    class CountedConnection(Connection):
        def send_packed_command(self, command: Any, check_health: bool = True) -> Any:
            round_trips.append(1)
            return super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

    client = Redis.from_url(url)
    client.connection_pool.connection_class = CountedConnection
    return client, round_trips


@pytest.mark.parametrize("size", SIZES)
def test_settling_costs_as_much_for_one_event_as_for_many(scene: Scene, size: int) -> None:
    scene.authorize(size)

    report, cost = scene.settle()

    assert report.settled == size
    assert_within(cost, POSTS)
    assert scene.ledger.requests <= POSTS_LEDGER_REQUESTS
    assert scene.redis_round_trips == []  # a lane never talks to Redis


@pytest.mark.parametrize("size", [4, 1_000])
def test_a_batch_with_events_of_every_kind_costs_one_statement_more_a_kind(
    scene: Scene, size: int
) -> None:
    scene.authorize(size // 4 * 3)
    scene.authorize(size // 4, frozen=False)
    scene.execute("UPDATE pm.outbox_event SET action = 'void_pending' WHERE id % 3 = 1")
    scene.execute("UPDATE pm.outbox_event SET payload = '[]' WHERE id % 3 = 2")

    report, cost = scene.settle()

    assert report.claimed == size
    assert min(report.settled, report.failed, report.retried, report.reviewed) > 0
    assert_within(cost, OF_EVERY_KIND)
    assert scene.ledger.requests <= POSTS_LEDGER_REQUESTS


@pytest.mark.parametrize("size", SIZES)
def test_delivering_costs_one_exchange_with_redis_a_pipeline(scene: Scene, size: int) -> None:
    scene.authorize(size)
    scene.settle()
    before = scene.wire.counts

    report = scene.container.deliver_notifications()()

    batch_size = scene.container.settings().notifications_batch_size
    assert report.confirmed == min(JOBS_PER_EVENT * size, batch_size)
    assert_within(scene.wire.counts - before, DELIVERY)
    assert len(scene.redis_round_trips) <= pipelines(report.confirmed)


@pytest.mark.parametrize("size", SIZES)
def test_publishing_costs_one_exchange_with_redis_a_pipeline(scene: Scene, size: int) -> None:
    scene.authorize(size)
    scene.settle()
    before = scene.wire.counts

    assert scene.container.publish_statuses()(timeout_s=0) == size

    assert scene.wire.counts == before
    assert len(scene.redis_round_trips) <= pipelines(size)


def pipelines(commands: int) -> int:
    """Return how many exchanges that many commands may take."""
    return math.ceil(commands / PIPELINE_LENGTH_MAX)


def assert_within(cost: Counts, limit: Counts) -> None:
    """Assert that no number of *cost* passes that of *limit*."""
    assert cost.statements <= limit.statements, cost
    assert cost.round_trips <= limit.round_trips, cost
    assert cost.commits <= limit.commits, cost
