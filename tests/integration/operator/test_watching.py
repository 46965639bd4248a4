"""The race between a client that begins to watch and a worker that settles, on real servers.

Each moment is set up on purpose, and the database is never read a second time without a message
that asks for it, so that nothing makes up for what was missed. What settles is the worker's own
code.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from redis import Redis

from adapters.postgres.intent_statuses import PostgresIntentStatuses
from adapters.redis.status_feed import RedisStatusFeed
from adapters.redis.status_publisher import RedisStatusPublisher
from application.use_cases.publish_statuses import PublishStatuses
from application.use_cases.watch_intents import WatchIntents
from domain.intents import IntentId
from domain.live_status import StatusUpdate
from tests.contracts.wallet import POST, VOID, Wallet
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.integration.redis.clients import PATIENCE_S, client_under_test

pytestmark = pytest.mark.integration

NEVER_S = 3_600.0


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with client_under_test(redis_url) as client:
        yield client


@pytest.fixture
def settle(wallet: Wallet, redis: Redis) -> Callable[[], None]:
    """Settle what is due, and publish it, as a worker does."""
    publisher = RedisStatusPublisher(redis, full_message=False)
    publish = PublishStatuses(
        announcements=wallet.announcements, publisher=publisher, batch_size=100
    )

    def settle() -> None:
        wallet.settle()
        publish.flush()

    return settle


def do_nothing() -> None:
    """Where nobody settles."""


@dataclass(frozen=True)
class StatusesAmidst:
    """The real reader, with what others do right before and right after it reads."""

    reader: PostgresIntentStatuses
    before: Callable[[], None] = do_nothing
    after: Callable[[], None] = do_nothing
    reads: list[Collection[IntentId]] = field(default_factory=list)

    def read(self, intent_ids: Collection[IntentId]) -> Mapping[IntentId, StatusUpdate]:
        self.before()
        found = self.reader.read(intent_ids)
        self.after()
        self.reads.append(intent_ids)
        return found


def told(redis: Redis, statuses: StatusesAmidst, intent_id: IntentId) -> list[tuple[str, str]]:
    watch_intents = WatchIntents(
        feed=RedisStatusFeed(redis, timeout_s=PATIENCE_S),
        statuses=statuses,
        poll_interval_s=NEVER_S,
    )
    updates = watch_intents([intent_id], timeout_s=PATIENCE_S)
    return [(update.status, update.source) for update in updates]


@pytest.mark.parametrize(("action", "final"), [(POST, "SETTLED"), (VOID, "FAILED")])
def test_a_settlement_between_the_subscription_and_the_read_is_told(
    wallet: Wallet,
    bench: PostgresBench,
    redis: Redis,
    settle: Callable[[], None],
    action: str,
    final: str,
) -> None:
    case = wallet.add_case(action)

    shown = told(redis, StatusesAmidst(bench.statuses, before=settle), case.intent_id)

    assert shown == [(final, "database")]


@pytest.mark.parametrize(("action", "final"), [(POST, "SETTLED"), (VOID, "FAILED")])
def test_a_settlement_between_the_read_and_the_first_wait_is_told(
    wallet: Wallet,
    bench: PostgresBench,
    redis: Redis,
    settle: Callable[[], None],
    action: str,
    final: str,
) -> None:
    case = wallet.add_case(action)

    statuses = StatusesAmidst(bench.statuses, after=settle)
    shown = told(redis, statuses, case.intent_id)

    assert shown == [("AUTHORIZED", "database"), (final, "database")]
    assert len(statuses.reads) == 2


def test_who_reads_before_he_subscribes_misses_it(
    wallet: Wallet, bench: PostgresBench, redis: Redis, settle: Callable[[], None]
) -> None:
    case = wallet.add_case(POST)
    feed = RedisStatusFeed(redis, timeout_s=PATIENCE_S)

    read = bench.statuses.read([case.intent_id])[case.intent_id]
    settle()
    feed.subscribe([case.intent_id])
    heard = feed.hear(timeout_s=0.2)

    assert (read.status, heard) == ("AUTHORIZED", None)
    assert bench.statuses.read([case.intent_id])[case.intent_id].status == "SETTLED"
    feed.close()
