"""What is found of a real Postgres, healthy and broken in each way that stops the worker."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from adapters.postgres import probe_growth, probe_wake_up
from adapters.postgres.account_map import PostgresAccountMap
from adapters.postgres.migrations import apply_migrations
from adapters.postgres.probe import PostgresProbe
from adapters.postgres.probe_schema import RIGHTS
from adapters.postgres.wake_up import switch_on
from application.errors import DatabaseMisconfiguredError
from domain.findings import Finding, Verdict
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import free_port
from tests.contracts.account_map import AccountMapContract
from tests.helpers.findings import faults, of, reds
from tests.helpers.pgbouncer import PgBouncer
from tests.helpers.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

PASSWORD = "hunter2"
ROLE = "narrow_worker"
LONG_S = 30.0
SHORT_S = 1.0


def examine(
    url: str, *, connections_needed: int = 3, timeout_s: float = LONG_S
) -> Sequence[Finding]:
    findings = PostgresProbe(
        dsn=url, timeout_s=timeout_s, connections_needed=connections_needed
    ).examine()
    assert PASSWORD not in repr(findings)
    return findings


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(sql.SQL(statement))


class DemotableServer(PostgresServer):
    """A Postgres that can become a stand-by at its next start."""

    def command(self) -> list[str]:
        return [
            part.replace("wal_level=minimal", "wal_level=replica") for part in super().command()
        ]

    def demote(self) -> None:
        signal_file = self.data / "standby.signal"
        signal_file.touch()
        shutil.chown(signal_file, self.data.owner())


@pytest.fixture
def narrow_url(database_url: str) -> Iterator[str]:
    """The URL of a role that has the rights in ``RIGHTS``, and no other."""
    run(
        database_url,
        f"CREATE ROLE {ROLE} LOGIN",
        f"GRANT USAGE ON SCHEMA pm TO {ROLE}",
        f"GRANT SELECT ON pm.outbox_migration TO {ROLE}",
        *(f"GRANT {', '.join(rights)} ON {table} TO {ROLE}" for table, rights in RIGHTS.items()),
    )
    yield database_url.replace("postgres@", f"{ROLE}@")
    run(database_url, f"DROP OWNED BY {ROLE}", f"DROP ROLE {ROLE}")


class TestHealthy:
    def test_a_migrated_database_is_green(self, database_url: str) -> None:
        findings = examine(database_url)

        assert faults(findings) == []
        assert [finding.what for finding in findings] == [
            "reachable",
            "version",
            "writable",
            "connections",
            "pooler",
            "schema",
            "migrations",
            "rights",
            "event ids",
            "wake-up",
            "dead rows",
            "oldest snapshot",
            "statements",
        ]

    def test_the_rights_of_the_list_are_enough(self, narrow_url: str) -> None:
        assert faults(examine(narrow_url)) == []

    def test_nothing_is_left_behind(self, database_url: str) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
                " VALUES (%s, 'AUTHORIZED', 'ADMIN', 1)",
                [UUID(int=0)],
            )
            counts = " UNION ALL ".join(
                f"SELECT count(*), (SELECT xmin::text FROM {table} LIMIT 1) FROM {table}"
                for table in RIGHTS
            )
            before = connection.execute(counts).fetchall()
            examine(database_url)

            assert connection.execute(counts).fetchall() == before


class TestUnreachable:
    def test_a_server_that_is_away_is_red(self) -> None:
        (finding,) = examine(f"postgresql://pm:{PASSWORD}@127.0.0.1:{free_port()}/pm")

        assert (finding.what, finding.verdict) == ("reachable", Verdict.RED)
        assert "refused" in finding.detail
        assert "DATABASE_URL" in finding.remedy

    def test_a_server_behind_a_black_hole_is_red_within_the_time_out(
        self, database_url: str, proxy_to: Callable[[str], TcpProxy]
    ) -> None:
        proxy = proxy_to(database_url)
        proxy.blackhole()

        (finding,) = examine(proxy.url, timeout_s=SHORT_S)

        assert (finding.what, finding.verdict) == ("reachable", Verdict.RED)
        assert "DATABASE_URL" in finding.remedy

    def test_a_server_that_goes_away_in_the_middle_is_red(
        self, database_url: str, proxy_to: Callable[[str], TcpProxy]
    ) -> None:
        proxy = proxy_to(database_url)
        proxy.lose_answer_to(b"pg_is_in_recovery")

        findings = examine(proxy.url)

        assert of(findings, "reachable").is_ok
        assert reds(findings) == ["answers"]

    def test_a_wrong_password_is_red_and_is_not_shown(
        self, private_postgres: PostgresServer
    ) -> None:
        with psycopg.connect(private_postgres.socket_url(), autocommit=True) as connection:
            connection.execute("CREATE ROLE worker LOGIN PASSWORD 'right'")
            ((hba_file,),) = connection.execute("SHOW hba_file").fetchall()
            connection.execute(
                "COPY (VALUES ('local all all trust'),"
                f" ('host all worker 127.0.0.1/32 scram-sha-256')) TO '{hba_file}'"
            )
            connection.execute("SELECT pg_reload_conf()")

        (finding,) = examine(private_postgres.url().replace("postgres@", f"worker:{PASSWORD}@"))

        assert "password authentication failed" in finding.detail
        assert "DATABASE_URL" in finding.remedy

    @pytest.mark.parametrize(
        ("part", "wrong"), [("postgres@", f"nobody:{PASSWORD}@"), ("/test_", "/nowhere_")]
    )
    def test_a_wrong_user_or_database_is_red(
        self, database_url: str, part: str, wrong: str
    ) -> None:
        (finding,) = examine(database_url.replace(part, wrong))

        assert "does not exist" in finding.detail
        assert "DATABASE_URL" in finding.remedy

    def test_a_url_that_is_none_is_red_and_is_not_quoted(self) -> None:
        (finding,) = examine(f"postgres//pm:{PASSWORD}@host/pm")

        assert "DATABASE_URL is not" in finding.detail


class TestServer:
    def test_a_database_that_takes_no_writes_is_red(self, database_url: str) -> None:
        name = database_url.rpartition("/")[2]
        run(database_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")

        findings = examine(database_url)

        assert reds(findings) == ["writable"]
        assert "default_transaction_read_only" in of(findings, "writable").remedy

    def test_a_stand_by_is_red(self) -> None:
        with DemotableServer() as server:
            url = server.url(server.create_database())
            apply_migrations(url)
            server.stop()
            server.demote()
            server.start()

            findings = examine(url)
        assert reds(findings) == ["writable"]
        assert of(findings, "writable").detail == "the server is a stand-by"
        assert "primary" in of(findings, "writable").remedy

    def test_fewer_connections_than_a_worker_needs_are_red(self, narrow_url: str) -> None:
        run(narrow_url.replace(f"{ROLE}@", "postgres@"), f"ALTER ROLE {ROLE} CONNECTION LIMIT 2")

        findings = examine(narrow_url, connections_needed=3)

        assert reds(findings) == ["connections"]
        assert of(findings, "connections").detail.startswith("at most 2, a worker needs 3")
        assert "OUTBOX_LANES" in of(findings, "connections").remedy

    def test_connections_that_others_hold_are_a_warning(self, narrow_url: str) -> None:
        run(narrow_url.replace(f"{ROLE}@", "postgres@"), f"ALTER ROLE {ROLE} CONNECTION LIMIT 4")

        with psycopg.connect(narrow_url), psycopg.connect(narrow_url):
            (fault,) = faults(examine(narrow_url, connections_needed=3))
        assert fault.verdict is Verdict.WARNING
        assert fault.detail.startswith("2 of 4 free")

    @pytest.mark.parametrize(
        ("last", "verdict"),
        [
            (1_500_000_000, Verdict.OK),
            (1_700_000_000, Verdict.WARNING),
            (2_147_483_647, Verdict.RED),
        ],
    )
    @pytest.mark.parametrize("by", ["sequence", "row"])
    def test_event_ids_near_their_end_are_told(
        self, database_url: str, last: int, verdict: Verdict, by: str
    ) -> None:
        run(
            database_url,
            f"SELECT setval('pm.outbox_event_id_seq', {last})"
            if by == "sequence"
            else "INSERT INTO pm.outbox_event (id, intent_id, action)"
            f" VALUES ({last}, gen_random_uuid(), 'post_pending')",
        )

        finding = of(examine(database_url), "event ids")

        assert finding.verdict is verdict
        assert finding.is_ok or "pm.outbox_event_id_seq RESTART" in finding.remedy

    def test_event_ids_of_a_bigger_type_end_where_the_workers_do(self, database_url: str) -> None:
        run(
            database_url,
            "ALTER TABLE pm.outbox_event ALTER id TYPE bigint",
            "ALTER SEQUENCE pm.outbox_event_id_seq AS bigint",
            "SELECT setval('pm.outbox_event_id_seq', 2147483647)",
        )

        assert "event ids" in reds(examine(database_url))


class TestWakeUp:
    def test_the_trigger_is_told_and_is_no_fault_either_way(self, database_url: str) -> None:
        assert of(examine(database_url), "wake-up").detail.startswith("trigger off")

        switch_on(database_url)

        finding = of(examine(database_url), "wake-up")
        assert finding.is_ok
        assert finding.detail == "trigger on, queue of notifications 0% full"

    def test_a_trigger_that_is_disabled_is_a_warning(self, database_url: str) -> None:
        switch_on(database_url)
        run(database_url, "ALTER TABLE pm.outbox_event DISABLE TRIGGER outbox_wake_up")

        finding = of(examine(database_url), "wake-up")

        assert finding.verdict is Verdict.WARNING
        assert "wake-up on" in finding.remedy

    def test_a_queue_that_fills_up_is_a_warning(
        self, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(probe_wake_up, "QUEUE_USAGE_WARNING", 0.0)

        finding = of(examine(database_url), "wake-up")

        assert finding.verdict is Verdict.WARNING
        assert "wake-up off" in finding.remedy

    @pytest.mark.pgbouncer
    def test_a_pooler_without_sessions_is_red_only_for_an_exclusive_worker(
        self, postgres_server: PostgresServer, database_url: str
    ) -> None:
        with PgBouncer(postgres_server, pool_mode="transaction") as pooler:
            probes = [
                PostgresProbe(
                    dsn=pooler.url(database_url),
                    timeout_s=LONG_S,
                    connections_needed=3,
                    listens=listens,
                    is_exclusive=is_exclusive,
                )
                for listens, is_exclusive in ((True, False), (True, True), (False, False))
            ]
            polling, exclusive, deaf = (probe.examine() for probe in probes)

        assert of(polling, "pooler").verdict is Verdict.WARNING
        assert "OUTBOX_WAKE_UP=off" in of(polling, "pooler").remedy
        assert of(exclusive, "pooler").verdict is Verdict.RED
        assert of(exclusive, "pooler").remedy.startswith("connect to Postgres itself")
        assert of(deaf, "pooler").verdict is Verdict.OK
        for findings in (polling, exclusive, deaf):
            assert "only polls; no --exclusive, no reconcile" in of(findings, "pooler").detail
        assert reds(polling) == reds(deaf) == []

    @pytest.mark.pgbouncer
    def test_a_pooler_with_sessions_is_none_to_speak_of(
        self, postgres_server: PostgresServer, database_url: str
    ) -> None:
        with PgBouncer(postgres_server, pool_mode="session") as pooler:
            findings = examine(pooler.url(database_url))

        assert of(findings, "pooler").verdict is Verdict.OK
        assert of(findings, "pooler").detail == "gives a session of its own"


class TestGrowth:
    def test_many_dead_rows_are_a_warning(
        self, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute(
                "INSERT INTO pm.outbox_event (intent_id, action)"
                " SELECT gen_random_uuid(), 'post_pending' FROM generate_series(1, 1000)"
            )
            connection.rollback()
            connection.execute("SELECT pg_stat_force_next_flush()")
        few = of(examine(database_url), "dead rows")
        monkeypatch.setattr(probe_growth, "DEAD_ROWS_WARNING", 1_000)
        many = of(examine(database_url), "dead rows")
        run(database_url, "VACUUM pm.outbox_event")

        assert (few.verdict, few.detail) == (Verdict.OK, "1,000 at most, in pm.outbox_event")
        assert many.verdict is Verdict.WARNING
        assert many.detail == "pm.outbox_event: 1,000, last vacuumed never"
        assert many.remedy.startswith("VACUUM pm.outbox_event;")
        assert of(examine(database_url), "dead rows").is_ok

    def test_an_old_transaction_is_a_warning_while_it_is_open(
        self, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with psycopg.connect(database_url, application_name="nightly report") as report:
            report.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            report.execute("SELECT count(*) FROM pm.intent")
            young = of(examine(database_url), "oldest snapshot")
            monkeypatch.setattr(probe_growth, "AGE_WARNING_S", 0)
            old = of(examine(database_url), "oldest snapshot")
            pid = report.info.backend_pid

        assert young.is_ok
        assert old.verdict is Verdict.WARNING
        assert old.detail.startswith(f"session {pid} of postgres (nightly report): 0 min, ")
        assert "pg_terminate_backend" in old.remedy
        assert of(examine(database_url), "oldest snapshot").is_ok

    def test_a_role_that_sees_no_times_of_others_sees_the_age_in_transactions(
        self, narrow_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(probe_growth, "TRANSACTIONS_WARNING", 3)
        owner_url = narrow_url.replace(f"{ROLE}@", "postgres@")
        with psycopg.connect(owner_url) as writer:
            writer.execute("SELECT pg_current_xact_id()")
            pid = writer.info.backend_pid
            run(owner_url, *["SELECT pg_current_xact_id()"] * 3)

            finding = of(examine(narrow_url), "oldest snapshot")

        assert finding.verdict is Verdict.WARNING
        assert finding.detail.startswith(f"session {pid} of postgres: ")
        assert finding.detail.endswith(" transactions old")


class TestSchema:
    def test_an_empty_database_lacks_schema_and_migrations(self, empty_database_url: str) -> None:
        findings = examine(empty_database_url)

        assert reds(findings) == ["schema", "migrations"]
        assert "outbox-worker migrate" in of(findings, "schema").remedy
        assert "DATABASE_URL" in of(findings, "schema").remedy
        assert of(findings, "migrations").remedy == "run `outbox-worker migrate`"

    def test_a_missing_table_and_a_missing_column_are_named(self, database_url: str) -> None:
        run(
            database_url,
            "DROP TABLE pm.psp_tx_map",
            "ALTER TABLE pm.intent DROP failure_reason",
        )

        findings = examine(database_url)

        assert reds(findings) == ["schema"]
        assert of(findings, "schema").detail == "missing: pm.psp_tx_map, pm.intent.failure_reason"

    def test_migrations_that_were_not_applied_are_named(self, database_url: str) -> None:
        run(
            database_url,
            "DROP TABLE pm.notification_outbox",
            "DELETE FROM pm.outbox_migration WHERE migration_id = '0003_notification_outbox'",
        )

        findings = examine(database_url)

        assert "migrations" in reds(findings)
        assert of(findings, "migrations").detail == "not applied: 0003_notification_outbox"

    def test_a_table_of_our_own_that_is_gone_is_red(self, database_url: str) -> None:
        run(database_url, "DROP TABLE pm.outbox_retry")

        findings = examine(database_url)

        assert reds(findings) == ["migrations"]
        assert of(findings, "migrations").detail == "all applied, yet missing: pm.outbox_retry"

    @pytest.mark.parametrize(
        "change",
        [
            "ALTER TABLE pm.intent ALTER tb_transfer_ids DROP DEFAULT,"
            " ALTER tb_transfer_ids TYPE text USING tb_transfer_ids::text",
            "ALTER TABLE pm.intent ALTER settlement_date TYPE text",
            "ALTER TABLE pm.tx_history ALTER amount_satang TYPE boolean USING true",
            "ALTER TABLE pm.intent_event ALTER payload TYPE bytea USING ''",
        ],
    )
    def test_a_column_of_another_type_is_found_by_running_the_statements(
        self, database_url: str, change: str
    ) -> None:
        run(database_url, change)

        findings = examine(database_url)

        assert reds(findings) == ["statements"]
        assert "0001_payment_manager.sql" in of(findings, "statements").remedy


class TestRights:
    @pytest.mark.parametrize(
        ("table", "right"),
        [(table, right) for table, rights in RIGHTS.items() for right in rights],
    )
    def test_a_right_that_is_missing_is_named_as_the_statement_that_grants_it(
        self, narrow_url: str, table: str, right: str
    ) -> None:
        run(narrow_url.replace(f"{ROLE}@", "postgres@"), f"REVOKE {right} ON {table} FROM {ROLE}")

        findings = examine(narrow_url)

        assert "rights" in reds(findings)
        assert of(findings, "rights").remedy == f"GRANT {right} ON {table} TO {ROLE}"

    def test_a_role_that_may_only_read_lacks_all_the_rest(self, narrow_url: str) -> None:
        run(
            narrow_url.replace(f"{ROLE}@", "postgres@"),
            f"REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pm FROM {ROLE}",
        )

        findings = examine(narrow_url)

        assert reds(findings) == ["rights"]
        assert of(findings, "rights").remedy.count("GRANT ") == 6

    def test_a_right_on_some_columns_only_is_found_by_running_the_statements(
        self, narrow_url: str
    ) -> None:
        run(
            narrow_url.replace(f"{ROLE}@", "postgres@"),
            f"REVOKE UPDATE ON pm.intent FROM {ROLE}",
            f"GRANT UPDATE (status) ON pm.intent TO {ROLE}",
        )

        findings = examine(narrow_url)

        assert reds(findings) == ["statements"]
        assert "permission denied" in of(findings, "statements").detail

    def test_rights_on_just_the_columns_that_are_written_are_enough(self, narrow_url: str) -> None:
        run(
            narrow_url.replace(f"{ROLE}@", "postgres@"),
            f"REVOKE UPDATE ON pm.intent FROM {ROLE}",
            "GRANT UPDATE (status, to_name, settlement_date, failure_reason, updated_at)"
            f" ON pm.intent TO {ROLE}",
        )

        assert faults(examine(narrow_url)) == []

    def test_a_sequence_that_may_not_be_advanced_is_named(self, narrow_url: str) -> None:
        run(
            narrow_url.replace(f"{ROLE}@", "postgres@"),
            "ALTER TABLE pm.intent_event ALTER id DROP IDENTITY",
            "CREATE SEQUENCE pm.audit_id",
            "ALTER TABLE pm.intent_event ALTER id SET DEFAULT nextval('pm.audit_id')",
        )

        findings = examine(narrow_url)

        assert reds(findings) == ["rights"]
        assert of(findings, "rights").remedy == f"GRANT USAGE ON SEQUENCE pm.audit_id TO {ROLE}"

    def test_a_schema_that_may_not_be_used_is_red(self, narrow_url: str) -> None:
        run(narrow_url.replace(f"{ROLE}@", "postgres@"), f"REVOKE USAGE ON SCHEMA pm FROM {ROLE}")

        findings = examine(narrow_url)

        assert of(findings, "schema").remedy == f"GRANT USAGE ON SCHEMA pm TO {ROLE}"
        assert "schema" in reds(findings)

    def test_a_log_of_migrations_that_may_not_be_read_is_a_warning(self, narrow_url: str) -> None:
        run(
            narrow_url.replace(f"{ROLE}@", "postgres@"),
            f"REVOKE SELECT ON pm.outbox_migration FROM {ROLE}",
        )

        (fault,) = faults(examine(narrow_url))

        assert (fault.what, fault.verdict) == ("migrations", Verdict.WARNING)
        assert fault.remedy == f"GRANT SELECT ON pm.outbox_migration TO {ROLE}"


class TestPostgresAccountMap(AccountMapContract):
    @pytest.fixture
    def account_map(self, database_url: str) -> PostgresAccountMap:
        return PostgresAccountMap(dsn=database_url, timeout_s=LONG_S)

    @pytest.fixture
    def map_account(self, database_url: str) -> Callable[[str, UUID, int], None]:
        def add(code: str, account_id: UUID, ledger: int) -> None:
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute(
                    "INSERT INTO pm.tb_account_map VALUES (%s, %s, %s)", [code, account_id, ledger]
                )

        return add

    def test_account_ids_of_another_type_are_a_misconfiguration(
        self,
        database_url: str,
        account_map: PostgresAccountMap,
        map_account: Callable[[str, UUID, int], None],
    ) -> None:
        map_account("revenue.THB", UUID(int=1), 1)
        run(database_url, "ALTER TABLE pm.tb_account_map ALTER tb_account_id TYPE text")

        with pytest.raises(DatabaseMisconfiguredError, match="uuid"):
            account_map.read(first=[], limit=1)
