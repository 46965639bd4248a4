"""The contestants do the same work: what they leave behind is equal, row by row."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from random import Random
from typing import Any, Final

import psycopg
import pytest
from dependency_injector import providers
from redis import Redis

from adapters.memory.ledger import InMemoryLedger
from benchmarks.contestants import DELIVERY_BATCH_SIZE, FLOOR_BATCH_SIZE, LANES
from benchmarks.floor import install_floor, settle_at_the_floor
from benchmarks.instant_ledger import InstantLedger
from benchmarks.literal import (
    BATCH_SIZE as LITERAL_BATCH_SIZE,
)
from benchmarks.literal import (
    STATEMENTS_PER_BATCH,
    STATEMENTS_PER_EVENT,
    LiteralWorker,
)
from benchmarks.payments import (
    JOBS_PER_EVENT,
    Payment,
    accounts,
    freeze,
    insert,
    make_payments,
    map_accounts,
    order,
    time_ordered_ids,
)
from benchmarks.postgres_wire import PostgresWire
from domain.transfers import Account
from entrypoints.container import Container, running
from entrypoints.sandbox.ledger import open_in_memory
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.settings import NOTIFICATIONS_STREAM, Settings

pytestmark = pytest.mark.integration

EVENTS: Final = 25
START_MS: Final = 1_780_000_000_000

ROWS: Final = {
    "intent": "SELECT id, status, to_name, settlement_date, failure_reason FROM pm.intent",
    "event": "SELECT id, intent_id, status, retry_count, processed_at IS NULL FROM pm.outbox_event",
    "history": "SELECT intent_id, line_no, kind, fee_kind, account, amount_satang, currency"
    " FROM pm.tx_history",
    "audit": "SELECT intent_id, status_from, status_to, reason, payload::text FROM pm.intent_event",
    "retry": "SELECT event_id FROM pm.outbox_retry",
    "job": "SELECT notification_id FROM pm.notification_outbox",
}

Settle = Callable[[str, str, InMemoryLedger], None]
"""Settles all that is ordered in a database, with a Redis and a ledger."""


@pytest.fixture
def payments() -> Sequence[Payment]:
    """The same payments each time."""
    random = Random(7)
    new_id = time_ordered_ids(random, start_ms=START_MS)
    return make_payments(EVENTS, random=random, new_id=new_id)


class Outcome:
    """What a contestant left behind."""

    def __init__(self, url: str, redis_url: str, ledger: InMemoryLedger) -> None:
        with psycopg.connect(url) as connection:
            self.rows = {
                name: sorted(map(str, connection.execute(query.encode()).fetchall()))
                for name, query in ROWS.items()
            }
        with Redis.from_url(redis_url) as redis:
            entries: Any = redis.xrange(NOTIFICATIONS_STREAM)
        self.jobs = sorted(job.decode() for _, fields in entries for job in fields.values())
        self.balances = [_without_time(one) for one in ledger.all_accounts()]


def _without_time(account: Account) -> tuple[int, ...]:
    return (
        account.id,
        account.debits_pending,
        account.debits_posted,
        account.credits_pending,
        account.credits_posted,
    )


def outcome_of(settle: Settle, payments: Sequence[Payment], url: str, redis_url: str) -> Outcome:
    """Order the settling of *payments* and have it done."""
    ledger = InMemoryLedger()
    open_in_memory(ledger, accounts())
    freeze(ledger, payments)
    with psycopg.connect(url, autocommit=True) as connection:
        map_accounts(connection)
        insert(connection, payments)
        order(connection, payments)
    settle(url, redis_url, ledger)
    return Outcome(url, redis_url, ledger)


def by_ours(url: str, redis_url: str, ledger: InMemoryLedger) -> None:
    """Settle by the worker's own wiring."""
    container = Container(
        settings=providers.Object(settings_for(url, redis_url)), ledger=providers.Object(ledger)
    )
    with running(container):
        assert container.settle_batch()().settled == EVENTS
        container.deliver_notifications().flush()


def by_the_literal_worker(url: str, redis_url: str, ledger: InMemoryLedger) -> None:
    """Settle event by event."""
    settings = settings_for(url, redis_url)
    with ExitStack() as stack:
        connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        worker = LiteralWorker(
            connection=connection,
            redis=stack.enter_context(Redis.from_url(redis_url)),
            ledger=ledger,
            rules=Container(settings=providers.Object(settings)).rules(),
            field=settings.notifications_field,
        )
        while worker():
            pass


def by_the_floor(url: str, _: str, __: InMemoryLedger) -> None:
    """Settle by the procedures."""
    with psycopg.connect(url, autocommit=True) as connection:
        install_floor(connection)
    settle_at_the_floor(
        url, lanes=LANES, batch_size=FLOOR_BATCH_SIZE, delivery_batch_size=DELIVERY_BATCH_SIZE
    )


def settings_for(url: str, redis_url: str) -> Settings:
    """Return the worker's defaults on these servers."""
    return Settings.model_validate(
        {
            "DATABASE_URL": url,
            "REDIS_URL": redis_url,
            "TIGERBEETLE_ADDRESSES": "127.0.0.1:3000",
            "TIGERBEETLE_CLUSTER_ID": 0,
            "health_port": 0,
        }
    )


@pytest.fixture
def ours(payments: Sequence[Payment], database_url: str, redis_url: str) -> Outcome:
    """What ours leaves behind; the stream is empty again."""
    outcome = outcome_of(by_ours, payments, database_url, redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    return outcome


@pytest.fixture
def other_url(postgres_server: PostgresServer, migrated_template: str) -> str:
    """Another fresh database."""
    return postgres_server.url(postgres_server.create_database(template=migrated_template))


def test_the_literal_worker_and_ours_leave_equal_rows_jobs_and_balances(
    ours: Outcome, payments: Sequence[Payment], other_url: str, redis_url: str
) -> None:
    literal = outcome_of(by_the_literal_worker, payments, other_url, redis_url)

    assert literal.rows == ours.rows
    assert len(ours.rows["history"]) == 3 * EVENTS
    assert literal.jobs == ours.jobs
    assert len(ours.jobs) == JOBS_PER_EVENT * EVENTS
    assert literal.balances == ours.balances


def test_the_floor_and_ours_leave_equal_rows(
    ours: Outcome, payments: Sequence[Payment], other_url: str, redis_url: str
) -> None:
    floor = outcome_of(by_the_floor, payments, other_url, redis_url)

    assert floor.rows == ours.rows


def test_jobs_of_the_floor_are_as_many_and_as_long_as_ours(
    ours: Outcome, payments: Sequence[Payment], other_url: str, redis_url: str
) -> None:
    with psycopg.connect(other_url, autocommit=True) as connection:
        install_floor(connection)
        # The job rows are gone when it is done, so each is noted when it comes.
        connection.execute(
            "CREATE TABLE noted (length integer);"
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN INSERT INTO noted VALUES (length(NEW.job::text)); RETURN NULL; END';"
            "CREATE TRIGGER note AFTER INSERT ON pm.notification_outbox"
            " FOR EACH ROW EXECUTE FUNCTION note()"
        )
    outcome_of(
        lambda url, *_: settle_at_the_floor(
            url, lanes=LANES, batch_size=FLOOR_BATCH_SIZE, delivery_batch_size=DELIVERY_BATCH_SIZE
        ),
        payments,
        other_url,
        redis_url,
    )

    with psycopg.connect(other_url) as connection:
        lengths = [length for (length,) in connection.execute("SELECT length FROM noted")]
    assert sorted(lengths) == sorted(map(len, ours.jobs))


def test_the_literal_worker_asks_postgres_nine_times_an_event(
    payments: Sequence[Payment], database_url: str, redis_url: str
) -> None:
    with PostgresWire(database_url) as wire:
        outcome_of(
            lambda _, *others: by_the_literal_worker(wire.url, *others),
            payments,
            database_url,
            redis_url,
        )

    batches = EVENTS // LITERAL_BATCH_SIZE + 1  # the last of them is not full
    assert EVENTS % LITERAL_BATCH_SIZE != 0
    expected = STATEMENTS_PER_EVENT * EVENTS + STATEMENTS_PER_BATCH * (batches + 1)
    assert wire.counts.statements == expected
    assert wire.counts.commits == EVENTS


def test_without_a_ledger_ours_writes_the_same_rows(
    ours: Outcome, payments: Sequence[Payment], other_url: str, redis_url: str
) -> None:
    def settle(url: str, redis_url: str, _: InMemoryLedger) -> None:
        container = Container(
            settings=providers.Object(settings_for(url, redis_url)),
            ledger=providers.Object(InstantLedger()),
        )
        with running(container):
            container.settle_batch()()
            container.deliver_notifications().flush()

    ledgerless = outcome_of(settle, payments, other_url, redis_url)

    assert ledgerless.rows == ours.rows
    assert [json.loads(job) for job in ledgerless.jobs] == [json.loads(job) for job in ours.jobs]
