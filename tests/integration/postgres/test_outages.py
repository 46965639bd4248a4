"""The server hangs, fails, loses an answer, goes away, comes back: nothing is lost or counted."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.pool import build_pool
from application.errors import DatabaseUnavailableError, MisconfiguredError
from domain.conclusions import Conclusion
from domain.intents import ClaimedEvent, EventId
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.database_bench import EventState
from tests.contracts.payments import a_retry, a_settle, an_intent
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration


def add_payment(bench: PostgresBench) -> EventId:
    intent = an_intent()
    bench.add_intent(intent)
    return bench.add_event(intent.id)


def settle_all(bench: PostgresBench) -> int:
    with bench.outbox.claim(limit=10) as batch:
        batch.write([a_settle(claimed) for claimed in batch.events])
        return len(batch.events)


def is_back(bench: PostgresBench) -> bool:
    """Whether a claim gives the one event there is; it is let go again."""
    try:
        with bench.outbox.claim(limit=10) as batch:
            return len(batch.events) == 1
    except DatabaseUnavailableError:
        return False


def kill_sessions(bench: PostgresBench) -> None:
    """End the worker's sessions, as a fail-over does."""
    bench.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'outbox-worker' AND datname = current_database()"
    )


class TestKilledSession:
    """The session ends at each point of a batch; the pool has but one, so that a leak shows."""

    @pytest.fixture
    def bench(self, database_url: str) -> Iterator[PostgresBench]:
        with build_pool(database_url, size_max=1) as pool:
            yield PostgresBench(database_url, pool)

    @pytest.fixture
    def event_id(self, bench: PostgresBench) -> EventId:
        return add_payment(bench)

    def assert_untouched(self, bench: PostgresBench, event_id: EventId) -> None:
        assert bench.event(event_id) == EventState(status="pending")
        assert settle_all(bench) == 1
        assert len(bench.jobs()) == 1

    def test_while_idle_nobody_notices(self, bench: PostgresBench, event_id: EventId) -> None:
        assert is_back(bench)
        kill_sessions(bench)

        self.assert_untouched(bench, event_id)

    def test_between_claim_and_write(self, bench: PostgresBench, event_id: EventId) -> None:
        def run() -> None:
            with bench.outbox.claim(limit=10) as batch:
                kill_sessions(bench)
                batch.write([a_settle(batch.events[0])])

        with pytest.raises(DatabaseUnavailableError):
            run()
        self.assert_untouched(bench, event_id)

    def test_between_claim_and_a_look_at_the_accounts(
        self, bench: PostgresBench, event_id: EventId
    ) -> None:
        def run() -> None:
            with bench.outbox.claim(limit=10) as batch:
                kill_sessions(bench)
                batch.fee_accounts(["revenue.THB"])

        with pytest.raises(DatabaseUnavailableError):
            run()
        self.assert_untouched(bench, event_id)

    @pytest.mark.parametrize("conclude", [a_settle, a_retry])
    def test_between_write_and_commit(
        self,
        bench: PostgresBench,
        event_id: EventId,
        conclude: Callable[[ClaimedEvent], Conclusion],
    ) -> None:
        def run() -> None:
            with bench.outbox.claim(limit=10) as batch:
                batch.write([conclude(batch.events[0])])
                kill_sessions(bench)

        with pytest.raises(DatabaseUnavailableError):
            run()
        self.assert_untouched(bench, event_id)

    def test_the_error_of_the_block_is_the_one_that_is_raised(
        self, bench: PostgresBench, event_id: EventId
    ) -> None:
        def run() -> None:
            with bench.outbox.claim(limit=10):
                kill_sessions(bench)
                raise KeyError("something else")

        with pytest.raises(KeyError):
            run()
        self.assert_untouched(bench, event_id)


class TestNetwork:
    """A proxy between the worker and the server misbehaves."""

    @pytest.fixture
    def proxy(self, database_url: str, proxy_to: Callable[[str], TcpProxy]) -> TcpProxy:
        return proxy_to(database_url)

    def test_a_commit_whose_answer_is_lost_is_not_repeated(
        self, database_url: str, proxy: TcpProxy
    ) -> None:
        with build_pool(proxy.url, size_max=1) as pool:
            bench = PostgresBench(database_url, pool)
            event_id = add_payment(bench)
            proxy.lose_answer_to(b"COMMIT\0")

            with pytest.raises(DatabaseUnavailableError):
                settle_all(bench)
            assert proxy.answers_lost_total == 1

            wait_until(
                lambda: bench.event(event_id).status == "processed", what="the commit happened"
            )
            assert settle_all(bench) == 0
            assert len(bench.jobs()) == 1

    def test_answers_that_never_come_are_given_up(self, database_url: str, proxy: TcpProxy) -> None:
        with build_pool(proxy.url, size_max=1, answer_timeout_s=2.0) as pool:
            bench = PostgresBench(database_url, pool)
            event_id = add_payment(bench)

            with pytest.raises(DatabaseUnavailableError):
                self._settle_into(bench, proxy)

            assert bench.event(event_id) == EventState(status="pending")
            proxy.pass_through()
            wait_until(lambda: is_back(bench), what="the next claim works")

    def _settle_into(self, bench: PostgresBench, proxy: TcpProxy) -> None:
        with bench.outbox.claim(limit=10) as batch:
            proxy.blackhole()
            batch.write([a_settle(batch.events[0])])

    def test_a_connection_that_gave_up_waiting_is_closed(
        self, database_url: str, proxy: TcpProxy
    ) -> None:
        with BoundedConnection.connect(proxy.url) as connection:
            connection.answer_timeout_s = 0.2
            proxy.blackhole()

            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")

            assert connection.closed

    def test_a_black_hole_at_connecting_is_given_up(
        self, database_url: str, proxy: TcpProxy
    ) -> None:
        with build_pool(proxy.url, size_max=1, connect_timeout_s=1) as pool:
            bench = PostgresBench(database_url, pool)
            add_payment(bench)
            proxy.blackhole()
            with pytest.raises(DatabaseUnavailableError, match="timeout"):
                settle_all(bench)

            proxy.pass_through()
            wait_until(lambda: is_back(bench), what="the next claim works")

    def test_a_black_hole_that_an_idle_connection_fell_into_is_given_up(
        self, database_url: str, proxy: TcpProxy
    ) -> None:
        with build_pool(proxy.url, size_max=1, connect_timeout_s=1) as pool:
            bench = PostgresBench(database_url, pool)
            add_payment(bench)
            assert is_back(bench)
            proxy.blackhole()
            with pytest.raises(DatabaseUnavailableError):
                settle_all(bench)

            proxy.pass_through()
            wait_until(lambda: is_back(bench), what="the next claim works")


class TestServer:
    """A server that belongs to the test alone."""

    def test_it_may_be_away_longer_than_the_pool_tries(
        self, private_postgres: PostgresServer, private_database_url: str
    ) -> None:
        with build_pool(private_database_url, size_max=2, connect_timeout_s=1) as pool:
            bench = PostgresBench(private_database_url, pool)
            event_id = add_payment(bench)
            assert is_back(bench)
            private_postgres.stop()
            for _ in range(3):  # each longer than the pool goes on connecting by itself
                with pytest.raises(DatabaseUnavailableError, match="refused"):
                    settle_all(bench)

            # Its own attempts would come at ever longer intervals, for minutes.
            wait_until(lambda: pool.get_stats()["pool_size"] == 0, what="the pool gave up")

            private_postgres.start()

            wait_until(lambda: is_back(bench), what="the next claim works")
            assert settle_all(bench) == 1
            assert bench.event(event_id).retry_count == 0

    def test_it_may_be_away_at_the_start(
        self, private_postgres: PostgresServer, private_database_url: str
    ) -> None:
        private_postgres.stop()
        with build_pool(private_database_url, size_max=2, connect_timeout_s=1) as pool:
            bench = PostgresBench(private_database_url, pool)
            with pytest.raises(DatabaseUnavailableError):
                settle_all(bench)

            private_postgres.start()

            add_payment(bench)
            wait_until(lambda: is_back(bench), what="the next claim works")

    def test_it_may_freeze_in_the_middle_of_a_batch(
        self, private_postgres: PostgresServer, private_database_url: str
    ) -> None:
        with build_pool(private_database_url, size_max=1, answer_timeout_s=2.0) as pool:
            bench = PostgresBench(private_database_url, pool)
            event_id = add_payment(bench)

            with pytest.raises(DatabaseUnavailableError):
                self._settle_into(bench, private_postgres)

            private_postgres.resume()
            wait_until(lambda: is_back(bench), what="the next claim works")
            assert bench.event(event_id) == EventState(status="pending")

    def _settle_into(self, bench: PostgresBench, server: PostgresServer) -> None:
        with bench.outbox.claim(limit=10) as batch:
            server.pause()
            batch.write([a_settle(batch.events[0])])

    def test_it_may_crash_right_after_a_commit(
        self, private_postgres: PostgresServer, private_database_url: str
    ) -> None:
        with build_pool(private_database_url, size_max=1) as pool:
            bench = PostgresBench(private_database_url, pool)
            event_id = add_payment(bench)
            assert settle_all(bench) == 1

            private_postgres.kill()
            private_postgres.start()

            wait_until(lambda: settle_all_quietly(bench) == 0, what="the next claim works")
            assert bench.event(event_id).status == "processed"


def settle_all_quietly(bench: PostgresBench) -> int | None:
    try:
        return settle_all(bench)
    except DatabaseUnavailableError:
        return None


class TestPool:
    """The pool's own limits."""

    def test_a_pool_without_a_free_connection_says_so(self, database_url: str) -> None:
        with build_pool(database_url, size_max=1, connect_timeout_s=1) as pool:
            bench = PostgresBench(database_url, pool)
            with (
                bench.outbox.claim(limit=1),
                pytest.raises(DatabaseUnavailableError, match="no connection was free"),
            ):
                settle_all(bench)

    def test_a_closed_pool_is_an_outage(self, database_url: str) -> None:
        with build_pool(database_url, size_max=1) as pool:
            bench = PostgresBench(database_url, pool)

        with pytest.raises(DatabaseUnavailableError, match="closed"):
            settle_all(bench)

    def test_a_block_that_ignores_the_loss_of_its_transaction_does_not_seem_to_commit(
        self, bench: PostgresBench
    ) -> None:
        event_id = add_payment(bench)
        bench.execute("DROP TABLE pm.tb_account_map")

        def run() -> None:
            with bench.outbox.claim(limit=1) as batch:
                batch.write([a_settle(batch.events[0])])
                with pytest.raises(MisconfiguredError):
                    batch.fee_accounts(["revenue.THB"])

        with pytest.raises(DatabaseUnavailableError, match="had failed"):
            run()
        assert bench.event(event_id).status == "pending"
