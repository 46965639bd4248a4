"""Settling on real Postgres, with the in-memory ledger and with a real TigerBeetle."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.postgres.pool import build_pool
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from application.errors import DatabaseMisconfiguredError
from domain.retry import RetryPolicy
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.ledger import new_id
from tests.contracts.settling import SettlingContract, assert_settled, assert_waiting
from tests.contracts.settling_foreign_ledger import ForeignLedgerContract
from tests.contracts.settling_poison import PoisonContract
from tests.contracts.settling_replays import ReplayContract
from tests.contracts.settling_reviews import ReviewContract
from tests.contracts.wallet import POST, Wallet
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.integration.tigerbeetle.bank import TigerBeetleBank
from tests.unit.memory.memory_bank import MemoryBank

pytestmark = pytest.mark.integration


@contextmanager
def bench_at(url: str) -> Iterator[PostgresBench]:
    """Open a bench on a database where PM allows more than our migrations do."""
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE pm.outbox_event DROP CONSTRAINT outbox_event_action_chk")
        connection.execute("ALTER TABLE pm.intent DROP CONSTRAINT intent_status_chk")
        connection.execute("ALTER TABLE pm.intent ALTER operation_type DROP NOT NULL")
    with build_pool(url, size_max=2) as pool:
        yield PostgresBench(url, pool)


@pytest.fixture
def database(database_url: str) -> Iterator[DatabaseBench]:
    with bench_at(database_url) as bench:
        yield bench


@pytest.fixture
def other_database(
    postgres_server: PostgresServer, migrated_template: str
) -> Iterator[DatabaseBench]:
    name = postgres_server.create_database(template=migrated_template)
    with bench_at(postgres_server.url(name)) as bench:
        yield bench
    postgres_server.drop_database(name)


class OnInMemoryLedger:
    @pytest.fixture
    def wallet(self, database: DatabaseBench) -> Wallet:
        ledger = InMemoryLedger()
        return Wallet(bench=database, ledger=FaultyLedger(ledger), bank=MemoryBank(ledger))


class TestVerdicts(OnInMemoryLedger, SettlingContract):
    """The verdict table."""


class TestPoison(OnInMemoryLedger, PoisonContract):
    """Events that cannot be settled."""


class TestReplays(OnInMemoryLedger, ReplayContract):
    """Deaths, repeats and neighbours."""


class TestForeignLedger(OnInMemoryLedger, ForeignLedgerContract):
    """Ledgers that are not ours."""

    def test_a_row_of_the_map_without_account_is_passed_over(
        self, wallet: Wallet, database_url: str
    ) -> None:
        case = wallet.add_case(POST, missing=[new_id()])
        with psycopg.connect(database_url) as connection:
            connection.execute("ALTER TABLE pm.tb_account_map ALTER tb_account_id DROP NOT NULL")
            connection.execute("INSERT INTO pm.tb_account_map VALUES ('a first one', NULL, 1)")

        wallet.settle()

        assert_waiting(wallet, case)


class TestReviews(OnInMemoryLedger, ReviewContract):
    """Giving up and coming back."""


KEEP = (
    "CREATE FUNCTION pm.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    " CREATE TRIGGER keep BEFORE UPDATE ON pm.{table} FOR EACH ROW"
    " WHEN (NEW.status = '{status}') EXECUTE FUNCTION pm.keep()"
)

REWRITING = ("RETURN NULL;", "NEW.status := OLD.status; RETURN NEW;")


class TestRefusedRows(OnInMemoryLedger):
    """Whatever PM's tables refuse of an event, it does not stay at the head."""

    @pytest.mark.parametrize(
        "ddl",
        [
            "ALTER TABLE pm.intent ADD CHECK (status <> 'MANUAL_REVIEW')",
            "ALTER TABLE pm.intent_event ADD CHECK (status_to <> 'MANUAL_REVIEW')",
            KEEP.format(table="intent", status="MANUAL_REVIEW"),
            KEEP.format(table="outbox_event", status="failed"),
            KEEP.format(table="intent", status="MANUAL_REVIEW").replace(*REWRITING),
            KEEP.format(table="outbox_event", status="failed").replace(*REWRITING),
        ],
        ids=[
            "intent refused",
            "audit refused",
            "intent kept",
            "event kept",
            "intent rewritten",
            "event rewritten",
        ],
    )
    def test_an_intent_that_cannot_be_put_under_review_waits(
        self, wallet: Wallet, database_url: str, ddl: str
    ) -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute(ddl.encode())
        bad = wallet.add_case(POST, payload_json="[]")
        good = wallet.add_case(POST)

        for _ in range(RetryPolicy().attempts_max + 1):
            wallet.settle()
            assert wallet.settle().claimed == 0, "it waits for its backoff"
            wallet.let_backoff_pass()

        assert wallet.event_status(bad) == "pending"
        assert "refused the row" in wallet.last_error(bad)
        assert wallet.intent_status(good) == "SETTLED"

    @pytest.mark.parametrize(
        ("body", "fault"),
        [
            ("RETURN NULL;", "did not take the update"),
            ("NEW.status := OLD.status;", "did not take the update"),
            ("RAISE EXCEPTION 'no' USING ERRCODE = '42703';", "42703"),
            ("RAISE EXCEPTION 'no' USING ERRCODE = 'P0001';", "P0001"),
        ],
    )
    def test_a_trigger_of_pms_costs_the_event_that_it_is_about(
        self, wallet: Wallet, database_url: str, body: str, fault: str
    ) -> None:
        bad, good = wallet.add_case(POST), wallet.add_case(POST)
        with psycopg.connect(database_url) as connection:
            connection.execute(
                "CREATE FUNCTION pm.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" IF NEW.id = '{bad.intent_id}' AND NEW.status = 'SETTLED' THEN {body} END IF;"
                " RETURN NEW; END $$".encode()
            )
            connection.execute(
                "CREATE TRIGGER meddle BEFORE UPDATE ON pm.intent"
                " FOR EACH ROW EXECUTE FUNCTION pm.meddle()"
            )

        wallet.settle()

        assert_settled(wallet, good, posted_satang=100)
        assert (wallet.event_status(bad), wallet.retry_count(bad)) == ("pending", 1)
        assert fault in wallet.last_error(bad)

    @pytest.mark.parametrize("body", ["RETURN NULL;", "NEW.status := OLD.status; RETURN NEW;"])
    def test_an_event_that_cannot_be_finished_leaves_its_intent_as_it_was(
        self, wallet: Wallet, database_url: str, body: str
    ) -> None:
        bad, good = wallet.add_case(POST), wallet.add_case(POST)
        with psycopg.connect(database_url) as connection:
            connection.execute(
                "CREATE FUNCTION pm.keep() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN {body} END $$".encode()
            )
            connection.execute(
                "CREATE TRIGGER keep BEFORE UPDATE ON pm.outbox_event FOR EACH ROW"
                f" WHEN (NEW.status = 'processed' AND NEW.intent_id = '{bad.intent_id}')"
                " EXECUTE FUNCTION pm.keep()".encode()
            )

        wallet.settle()

        assert_settled(wallet, good, posted_satang=100)
        assert (wallet.event_status(bad), wallet.retry_count(bad)) == ("pending", 1)
        assert wallet.intent_status(bad) == "AUTHORIZED"
        assert wallet.audit_trail(bad) == []

    def test_a_fault_of_every_row_counts_against_none(
        self, wallet: Wallet, database_url: str
    ) -> None:
        cases = [wallet.add_case(POST) for _ in range(3)]
        with psycopg.connect(database_url) as connection:
            connection.execute("ALTER TABLE pm.tx_history DROP COLUMN fee_kind")

        with pytest.raises(DatabaseMisconfiguredError, match="fee_kind"):
            wallet.settle()

        assert [wallet.retry_count(case) for case in cases] == [0, 0, 0]

    def test_a_retry_row_that_an_operator_holds_costs_its_own_event_only(
        self, wallet: Wallet, database_url: str
    ) -> None:
        held = wallet.add_case(POST, missing=[new_id()])
        wallet.settle()
        wallet.let_backoff_pass()
        good = wallet.add_case(POST)

        with psycopg.connect(database_url) as operator:
            operator.execute("DELETE FROM pm.outbox_retry WHERE event_id = %s", [held.event_id])
            report = wallet.settle()
            operator.rollback()
            with wallet.bench.outbox.claim(limit=10) as batch:
                assert [each.event.id for each in batch.events] == [held.event_id]

        assert report.claimed == 1
        assert_settled(wallet, good, posted_satang=100)

    def test_a_status_that_is_null_needs_a_person(self, wallet: Wallet, database_url: str) -> None:
        case = wallet.add_case(POST)
        with psycopg.connect(database_url) as connection:
            connection.execute("ALTER TABLE pm.intent ALTER status DROP NOT NULL")
            connection.execute("UPDATE pm.intent SET status = NULL")

        wallet.settle()

        assert wallet.event_status(case) == "failed"
        assert wallet.intent_status(case) == "MANUAL_REVIEW"

    def test_the_databases_own_way_to_print_times_does_not_matter(
        self, wallet: Wallet, database_url: str
    ) -> None:
        name = database_url.rpartition("/")[2]
        with psycopg.connect(database_url) as connection:
            connection.execute(f"ALTER DATABASE {name} SET datestyle = 'SQL, DMY'".encode())
            connection.execute(f"ALTER DATABASE {name} SET timezone = 'Asia/Kolkata'".encode())
        case = wallet.add_case(POST)

        wallet.settle()

        assert_settled(wallet, case, posted_satang=100)

    @pytest.mark.parametrize("retry_count", [2**31 - 1, -5])
    @pytest.mark.parametrize("payload_json", [None, "[]"])
    def test_a_retry_count_that_a_person_wrote_is_counted_on(
        self, wallet: Wallet, retry_count: int, payload_json: str | None
    ) -> None:
        case = wallet.add_case(POST, frozen=(), missing=[new_id()], payload_json=payload_json)
        wallet.bench.set_retry_count(case.event_id, retry_count)

        wallet.settle()

        assert wallet.settle().claimed == 0
        assert wallet.event_status(case) == ("failed" if payload_json else "pending")


@pytest.mark.tigerbeetle
class OnTigerBeetle:
    @pytest.fixture
    def wallet(
        self,
        database: DatabaseBench,
        tigerbeetle_ledger: TigerBeetleLedger,
        tigerbeetle_bank: TigerBeetleBank,
    ) -> Wallet:
        return Wallet(
            bench=database, ledger=FaultyLedger(tigerbeetle_ledger), bank=tigerbeetle_bank
        )


class TestVerdictsOnTigerBeetle(OnTigerBeetle, SettlingContract):
    """The verdict table."""


class TestForeignLedgerOnTigerBeetle(OnTigerBeetle, ForeignLedgerContract):
    """Ledgers that are not ours, in the place of a real one that is."""


class TestPoisonOnTigerBeetle(OnTigerBeetle, PoisonContract):
    """Events that cannot be settled."""


class TestReplaysOnTigerBeetle(OnTigerBeetle, ReplayContract):
    """Deaths, repeats and neighbours."""


class TestReviewsOnTigerBeetle(OnTigerBeetle, ReviewContract):
    """Giving up and coming back."""
