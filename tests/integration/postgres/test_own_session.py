"""What needs a session of its own: hints of new orders, and the lock of exclusive workers."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from adapters.postgres.arrivals import PostgresArrivals
from adapters.postgres.exclusive_lock import (
    EXCLUSIVE_KEY,
    IDLE_TIMEOUT_S,
    PostgresExclusiveLock,
)
from adapters.postgres.session import OwnSession
from adapters.postgres.wake_up import switch_on
from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    SharedSessionError,
)
from application.ports.exclusive_lock import LEASE_S
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.pgbouncer import PgBouncer
from tests.helpers.read_only import read_only
from tests.helpers.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).parents[3]
LONG_S = 30.0
AT_ONCE_S = 0.0
CONNECT_TIMEOUT_S = 5.0


def execute(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description is not None else []


def end_sessions(url: str, name: str) -> None:
    """End the sessions of *name*, as an administrator would."""
    execute(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        f" WHERE application_name = '{name}' AND datname = current_database()",
    )


def insert_events(url: str, count: int) -> None:
    execute(
        url,
        "INSERT INTO pm.outbox_event (intent_id, action)"
        f" SELECT gen_random_uuid(), 'post_pending' FROM generate_series(1, {count})",
    )


class TestArrivals:
    @pytest.fixture
    def arrivals(self, database_url: str) -> Iterator[PostgresArrivals]:
        arrivals = PostgresArrivals(dsn=database_url, connect_timeout_s=CONNECT_TIMEOUT_S)
        yield arrivals
        arrivals.close()

    @pytest.fixture
    def listening(self, arrivals: PostgresArrivals, database_url: str) -> PostgresArrivals:
        switch_on(database_url)
        assert arrivals.wait(timeout_s=AT_ONCE_S), "orders may have come before it listened"
        assert not arrivals.wait(timeout_s=AT_ONCE_S)
        return arrivals

    def test_events_that_are_inserted_are_told(
        self, listening: PostgresArrivals, database_url: str
    ) -> None:
        insert_events(database_url, 1)

        assert listening.wait(timeout_s=LONG_S)

    def test_a_statement_that_inserts_many_is_told_once(
        self, listening: PostgresArrivals, database_url: str
    ) -> None:
        with psycopg.connect(database_url) as connection:
            for _ in range(3):
                connection.execute(
                    "INSERT INTO pm.outbox_event (intent_id, action)"
                    " SELECT gen_random_uuid(), 'post_pending' FROM generate_series(1, 100)"
                )

        assert listening.wait(timeout_s=LONG_S)
        assert not listening.wait(timeout_s=AT_ONCE_S)

    def test_what_is_rolled_back_is_not_told(
        self, listening: PostgresArrivals, database_url: str
    ) -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute(
                "INSERT INTO pm.outbox_event (intent_id, action)"
                " VALUES (gen_random_uuid(), 'post_pending')"
            )
            connection.rollback()
        execute(database_url, "NOTIFY something_else")

        assert not listening.wait(timeout_s=AT_ONCE_S)

    def test_what_comes_between_two_waits_is_not_lost(
        self, listening: PostgresArrivals, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Nor while it gives a sign of life, whose answer then brings the notification along.
        monkeypatch.setattr("adapters.postgres.arrivals._BEAT_S", 0.0)
        assert not listening.wait(timeout_s=AT_ONCE_S)
        insert_events(database_url, 1)

        assert listening.wait(timeout_s=LONG_S)

    def test_a_lost_connection_is_told_and_it_listens_again(
        self, listening: PostgresArrivals, database_url: str
    ) -> None:
        end_sessions(database_url, "outbox-worker listening")

        with pytest.raises(DatabaseUnavailableError):
            listening.wait(timeout_s=LONG_S)

        assert listening.wait(timeout_s=AT_ONCE_S), "orders may have come in between"
        insert_events(database_url, 1)
        assert listening.wait(timeout_s=LONG_S)

    def test_a_server_that_is_silent_is_noticed(
        self,
        database_url: str,
        proxy_to: Callable[[str], TcpProxy],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("adapters.postgres.arrivals._BEAT_S", 0.0)
        monkeypatch.setattr("adapters.postgres.session.ANSWER_TIMEOUT_S", 0.5)
        proxy = proxy_to(database_url)
        arrivals = PostgresArrivals(dsn=proxy.url, connect_timeout_s=CONNECT_TIMEOUT_S)
        arrivals.wait(timeout_s=AT_ONCE_S)
        proxy.blackhole()

        with pytest.raises(DatabaseUnavailableError):
            arrivals.wait(timeout_s=LONG_S)

    def test_a_listener_that_gives_no_sign_of_life_is_cut_off_by_the_server(
        self, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Else a frozen one would fill the server's queue, and producers could not commit.
        monkeypatch.setattr("adapters.postgres.arrivals._IDLE_TIMEOUT_S", 1.0)
        arrivals = PostgresArrivals(dsn=database_url, connect_timeout_s=CONNECT_TIMEOUT_S)
        arrivals.wait(timeout_s=AT_ONCE_S)

        with pytest.raises(DatabaseUnavailableError):
            arrivals.wait(timeout_s=LONG_S)

    def test_a_role_that_does_not_exist_is_told(self, database_url: str) -> None:
        arrivals = PostgresArrivals(
            dsn=database_url.replace("postgres@", "stranger@"), connect_timeout_s=CONNECT_TIMEOUT_S
        )

        with pytest.raises(DatabaseMisconfiguredError):
            arrivals.wait(timeout_s=AT_ONCE_S)


class TestExclusiveLock:
    @pytest.fixture
    def new_lock(self, database_url: str) -> Iterator[Callable[..., PostgresExclusiveLock]]:
        locks: list[PostgresExclusiveLock] = []

        def new(url: str = database_url) -> PostgresExclusiveLock:
            locks.append(PostgresExclusiveLock(dsn=url, connect_timeout_s=CONNECT_TIMEOUT_S))
            return locks[-1]

        yield new
        for lock in locks:
            lock.release()

    def test_one_holds_it_at_a_time(self, new_lock: Callable[..., PostgresExclusiveLock]) -> None:
        first, second = new_lock(), new_lock()

        assert [first.hold(), second.hold(), first.hold(), second.hold()] == [
            True,
            False,
            True,
            False,
        ]

    def test_whoever_lets_go_hands_over_at_once(
        self, new_lock: Callable[..., PostgresExclusiveLock]
    ) -> None:
        first, second = new_lock(), new_lock()
        first.hold()
        second.hold()

        first.release()

        wait_until(second.hold, timeout_s=LONG_S, what="the second holds it")
        assert not first.hold()

    def test_it_falls_with_its_session_and_the_holder_is_told_while_it_waits(
        self, new_lock: Callable[..., PostgresExclusiveLock], database_url: str
    ) -> None:
        lock = new_lock()
        lock.hold()

        end_sessions(database_url, "outbox-worker exclusive")

        with pytest.raises(DatabaseUnavailableError):
            lock.watch(timeout_s=LONG_S)
        assert lock.hold(), "and may try again at once"

    def test_a_holder_that_gives_no_sign_of_life_loses_it(
        self,
        new_lock: Callable[..., PostgresExclusiveLock],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # As one that is frozen, or whose machine is gone: no packet has to tell the server.
        silent, successor = new_lock(), new_lock()
        with monkeypatch.context() as patch:
            patch.setattr("adapters.postgres.exclusive_lock.IDLE_TIMEOUT_S", 1.0)
            silent.hold()

        wait_until(successor.hold, timeout_s=LONG_S, what="the successor holds it")

        with pytest.raises(DatabaseUnavailableError, match="idle-session timeout"):
            silent.hold()

    def test_a_holder_stops_claiming_before_the_server_lets_another(self) -> None:
        # A sign of life reaches the server after it was begun, and its clock starts only then.
        assert LEASE_S < IDLE_TIMEOUT_S

    def test_a_server_that_is_silent_is_noticed(
        self,
        new_lock: Callable[..., PostgresExclusiveLock],
        database_url: str,
        proxy_to: Callable[[str], TcpProxy],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("adapters.postgres.session.ANSWER_TIMEOUT_S", 0.5)
        proxy = proxy_to(database_url)
        lock = new_lock(proxy.url)
        assert lock.hold()
        proxy.blackhole()

        with pytest.raises(DatabaseUnavailableError):
            lock.hold()

    def test_its_holder_can_be_looked_up(
        self, new_lock: Callable[..., PostgresExclusiveLock], database_url: str
    ) -> None:
        new_lock().hold()

        assert execute(database_url, holder_query()) == [("outbox-worker exclusive",)]

    def test_it_is_one_of_the_database(
        self,
        new_lock: Callable[..., PostgresExclusiveLock],
        empty_database_url: str,
    ) -> None:
        assert new_lock().hold()
        assert new_lock(empty_database_url).hold()


class TestReadOnlyServer:
    """It is not the primary any more, but its connections live on."""

    def test_a_listener_leaves_it_and_comes_back_when_it_takes_writes(
        self,
        private_postgres: PostgresServer,
        private_database_url: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("adapters.postgres.arrivals._BEAT_S", 0.0)
        arrivals = PostgresArrivals(dsn=private_database_url, connect_timeout_s=CONNECT_TIMEOUT_S)
        arrivals.wait(timeout_s=AT_ONCE_S)

        with read_only(private_postgres):
            wait_until_refused(lambda: arrivals.wait(timeout_s=AT_ONCE_S))
            with pytest.raises(DatabaseUnavailableError, match="takes no writes"):
                arrivals.wait(timeout_s=AT_ONCE_S)

        wait_until(
            lambda: not is_refused(lambda: arrivals.wait(timeout_s=AT_ONCE_S)),
            timeout_s=LONG_S,
            what="it listens again",
        )
        arrivals.close()

    @pytest.mark.parametrize("was_ours", [True, False], ids=["held", "waited for"])
    def test_nobody_holds_the_lock_there_or_waits_for_it(
        self, private_postgres: PostgresServer, private_database_url: str, was_ours: bool
    ) -> None:
        lock, other = (
            PostgresExclusiveLock(dsn=private_database_url, connect_timeout_s=CONNECT_TIMEOUT_S)
            for _ in range(2)
        )
        if not was_ours:
            other.hold()
        assert lock.hold() is was_ours

        with read_only(private_postgres):
            wait_until_refused(lock.hold)
            with pytest.raises(DatabaseUnavailableError, match="takes no writes"):
                lock.hold()

        other.release()
        wait_until(
            lambda: not is_refused(lock.hold), timeout_s=LONG_S, what="it takes writes again"
        )
        lock.release()


def is_refused(ask: Callable[[], object]) -> bool:
    """Does it say that the database is not there?"""
    try:
        ask()
    except DatabaseUnavailableError:
        return True
    return False


def wait_until_refused(ask: Callable[[], object]) -> None:
    """A server takes up a setting a little later than it is told to."""
    wait_until(lambda: is_refused(ask), timeout_s=LONG_S, what="the server takes no writes")


def holder_query() -> str:
    """Return the query for the holder's name, as docs/running.md has it."""
    guide = (REPOSITORY / "docs" / "running.md").read_text()
    (query,) = re.findall(r"SELECT [^;]*pg_locks[^;]*;", guide)
    return str(query).replace("a.pid, a.client_addr, ", "")


@pytest.mark.pgbouncer
class TestBehindPgBouncer:
    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"default_pool_size": "1"},
            {"server_round_robin": "1"},
            {"ignore_startup_parameters": "options"},
        ],
        ids=str,
    )
    def test_a_pooler_in_transaction_mode_is_refused(
        self, postgres_server: PostgresServer, database_url: str, settings: dict[str, str]
    ) -> None:
        with PgBouncer(postgres_server, pool_mode="transaction", **settings) as pooler:
            url = pooler.url(database_url)
            use_several_connections(url)
            lock = PostgresExclusiveLock(dsn=url, connect_timeout_s=CONNECT_TIMEOUT_S)
            arrivals = PostgresArrivals(dsn=url, connect_timeout_s=CONNECT_TIMEOUT_S)

            for use in (lock.check, lock.hold, lambda: arrivals.wait(timeout_s=AT_ONCE_S)):
                with pytest.raises(SharedSessionError, match="a pooler in transaction mode"):
                    use()
            assert holders(database_url) == 0, "nothing is left behind on its connections"

    def test_a_pooler_in_session_mode_will_do(
        self, postgres_server: PostgresServer, database_url: str
    ) -> None:
        with PgBouncer(postgres_server, pool_mode="session") as pooler:
            url = pooler.url(database_url)
            switch_on(database_url)
            first, second = (
                PostgresExclusiveLock(dsn=url, connect_timeout_s=CONNECT_TIMEOUT_S)
                for _ in range(2)
            )
            arrivals = PostgresArrivals(dsn=url, connect_timeout_s=CONNECT_TIMEOUT_S)

            assert [first.hold(), second.hold()] == [True, False]
            first.release()
            wait_until(second.hold, timeout_s=LONG_S, what="the second holds it")
            assert arrivals.wait(timeout_s=AT_ONCE_S)
            insert_events(database_url, 1)
            assert arrivals.wait(timeout_s=LONG_S)
            second.release()
            arrivals.close()

    def test_a_session_that_turns_out_to_be_another_is_noticed(
        self, postgres_server: PostgresServer, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # As behind a pooler that hides so well that it is not noticed at the start.
        monkeypatch.setattr(OwnSession, "_assert_not_shared", lambda _: None)
        with PgBouncer(postgres_server, pool_mode="transaction") as pooler:
            url = pooler.url(database_url)
            lock = PostgresExclusiveLock(dsn=url, connect_timeout_s=CONNECT_TIMEOUT_S)
            lock.hold()
            with psycopg.connect(url) as other:
                other.execute("SELECT 1")

                with pytest.raises(SharedSessionError):
                    lock.hold()


def holders(url: str) -> object:
    """Return how many sessions hold the lock of exclusive workers."""
    ((count,),) = execute(
        url,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
        f" AND (classid::bigint << 32) + objid::bigint = {EXCLUSIVE_KEY}"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
    return count


def use_several_connections(url: str) -> None:
    """Let the pooler have idle connections to choose from, where its pool is that large."""
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(psycopg.connect(url, autocommit=True))
            connection.execute("SELECT 1")
