"""The database's ports behind PgBouncer in transaction mode, as Debian ships it: no setting."""

from collections.abc import Iterator

import psycopg
import pytest

from adapters.postgres.migrations import apply_migrations
from adapters.postgres.pool import build_pool, transaction
from adapters.postgres.wake_up import Trigger, switch_off, switch_on, wake_up_state
from application.errors import MisconfiguredError, SharedSessionError
from domain.reconciliation.record import ByIds
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.contracts.event_store import EventStoreContract
from tests.contracts.operator_store import OperatorStoreContract
from tests.contracts.outbox_repository import ClaimContract, WriteContract
from tests.helpers.pgbouncer import PgBouncer
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = [pytest.mark.integration, pytest.mark.pgbouncer]

SERVER_CONNECTIONS = "4"
"""Fewer than the clients of a test at times: each transaction gets the next best one."""


@pytest.fixture(scope="module")
def pooler(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(
        postgres_server, pool_mode="transaction", default_pool_size=SERVER_CONNECTIONS
    ) as pooler:
        yield pooler


@pytest.fixture
def pooled_url(pooler: PgBouncer, database_url: str) -> str:
    return pooler.url(database_url)


@pytest.fixture
def bench(pooled_url: str) -> Iterator[PostgresBench]:
    """Everybody comes through the pooler, producers and the payment manager, too."""
    with build_pool(pooled_url, size_max=4) as pool:
        yield PostgresBench(pooled_url, pool)


class TestClaim(ClaimContract):
    """Claiming."""


class TestWrite(WriteContract):
    """Writing."""


class TestEventStore(EventStoreContract):
    """The producers' side."""


class TestOperatorStore(OperatorStoreContract):
    """The operator's changes."""


def test_settings_do_not_stay_behind_for_whoever_comes_next(pooled_url: str) -> None:
    with build_pool(pooled_url, size_max=2) as pool:
        with transaction(pool) as connection:
            ((within,),) = connection.execute("SHOW lock_timeout").fetchall()
        with psycopg.connect(pooled_url, autocommit=True) as other:
            ((after,),) = other.execute("SHOW lock_timeout").fetchall()

    assert (within, after) == ("5s", "0")


def test_a_session_is_shown_by_our_name_while_it_works_for_us(
    pooled_url: str, database_url: str
) -> None:
    with (
        build_pool(pooled_url, size_max=1) as pool,
        transaction(pool),
        psycopg.connect(database_url) as direct,
    ):
        rows = direct.execute(
            "SELECT application_name FROM pg_stat_activity"
            " WHERE datname = current_database() AND state = 'idle in transaction'"
        ).fetchall()

    assert rows == [("outbox-worker",)]


def test_an_empty_database_is_migrated(pooler: PgBouncer, empty_database_url: str) -> None:
    url = pooler.url(empty_database_url)

    assert apply_migrations(url).applied
    assert not apply_migrations(url).applied


def test_the_trigger_is_switched(pooled_url: str) -> None:
    switch_on(pooled_url)
    assert wake_up_state(pooled_url).trigger is Trigger.ON
    switch_off(pooled_url)
    assert wake_up_state(pooled_url).trigger is Trigger.OFF


def test_reconcile_is_refused_since_its_cursor_needs_a_session(bench: PostgresBench) -> None:
    for read in (bench.records().pages, bench.records().shared_transfers):
        with pytest.raises(SharedSessionError, match="connect to Postgres itself"):
            next(read(ByIds(())))


def test_options_that_the_pooler_refuses_are_a_misconfiguration(pooled_url: str) -> None:
    url = f"{pooled_url}?options=-c%20lock_timeout%3D50ms"
    with (
        build_pool(url, size_max=1, connect_timeout_s=1) as pool,
        pytest.raises(MisconfiguredError, match="take it out there"),
        transaction(pool),
    ):
        pass
