"""Migrating databases: fresh, the payment manager's own, and after a migrator that died."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from adapters.postgres.migrations import MigrationReport, apply_migrations
from application.errors import DatabaseUnavailableError, MisconfiguredError
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.waiting import wait_until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
PAYMENT_MANAGER = ("0000_init", "0001_payment_manager")
OURS = ("0002_outbox_retry", "0003_notification_outbox", "0004_outbox_event_archive")
WAIT_S = 30.0


def run_file(url: str, name: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute((ROOT / "migrations" / f"{name}.sql").read_bytes())


def execute(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description is not None else []


def tables(url: str) -> set[object]:
    return {
        name
        for (name,) in execute(
            url, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'pm'"
        )
    }


def shape(url: str, table: str) -> list[list[tuple[object, ...]]]:
    """Columns, constraints, indexes, triggers and storage of a table."""
    return [
        execute(
            url,
            "SELECT column_name, data_type, character_maximum_length, is_nullable, column_default"
            f" FROM information_schema.columns WHERE table_schema || '.' || table_name = '{table}'"
            " ORDER BY ordinal_position",
        ),
        execute(
            url,
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
            f" WHERE conrelid = '{table}'::regclass AND contype <> 'n' ORDER BY conname",
        ),
        execute(
            url,
            "SELECT indexdef FROM pg_indexes"
            f" WHERE schemaname || '.' || tablename = '{table}' ORDER BY indexname",
        ),
        execute(url, f"SELECT tgname FROM pg_trigger WHERE tgrelid = '{table}'::regclass"),
        execute(url, f"SELECT reloptions FROM pg_class WHERE oid = '{table}'::regclass"),
    ]


def test_a_fresh_database_gets_everything_once(empty_database_url: str) -> None:
    first = apply_migrations(empty_database_url)
    second = apply_migrations(empty_database_url)

    assert first == MigrationReport(applied=PAYMENT_MANAGER + OURS, recognised=())
    assert second == MigrationReport(applied=(), recognised=())


def test_the_outbox_table_is_what_its_document_says(database_url: str) -> None:
    columns, constraints, indexes, triggers, storage = shape(database_url, "pm.outbox_event")

    varchar, time = "character varying", "timestamp with time zone"
    assert columns == [
        ("id", "integer", None, "NO", "nextval('pm.outbox_event_id_seq'::regclass)"),
        ("intent_id", "uuid", None, "NO", None),
        ("action", varchar, 20, "NO", None),
        ("status", varchar, 20, "NO", "'pending'::character varying"),
        ("payload", "jsonb", None, "YES", None),
        ("retry_count", "integer", None, "NO", "0"),
        ("created_at", time, None, "NO", "now()"),
        ("processed_at", time, None, "YES", None),
    ]
    assert [name for name, _ in constraints] == [
        "outbox_event_action_chk",
        "outbox_event_pkey",
        "outbox_event_status_chk",
    ]
    assert [str(definition).rpartition(" USING ")[2] for (definition,) in indexes] == [
        "btree (intent_id)",
        "btree (id)",
        "btree (status, created_at)",
    ]
    assert triggers == []
    assert storage == [(None,)]


def test_migrators_at_the_same_time_take_turns(empty_database_url: str) -> None:
    reports: list[MigrationReport] = []
    threads = [
        threading.Thread(target=lambda: reports.append(apply_migrations(empty_database_url)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)

    assert len(reports) == len(threads)
    applied = [name for report in reports for name in report.applied]
    assert sorted(applied) == [*PAYMENT_MANAGER, *OURS]


def test_the_payment_managers_tables_are_recognised_and_left_alone(
    empty_database_url: str,
) -> None:
    for name in PAYMENT_MANAGER:
        run_file(empty_database_url, name)
    execute(empty_database_url, "ALTER TABLE pm.intent ADD COLUMN of_their_own text")
    theirs = sorted(map(str, tables(empty_database_url)))
    before = [shape(empty_database_url, f"pm.{name}") for name in theirs]

    report = apply_migrations(empty_database_url)

    assert report == MigrationReport(applied=OURS, recognised=PAYMENT_MANAGER)
    assert [shape(empty_database_url, f"pm.{name}") for name in theirs] == before
    assert apply_migrations(empty_database_url) == MigrationReport(applied=(), recognised=())


def test_everything_that_is_missing_is_named_at_once(empty_database_url: str) -> None:
    for name in PAYMENT_MANAGER:
        run_file(empty_database_url, name)
    execute(empty_database_url, "ALTER TABLE pm.intent DROP COLUMN to_name, DROP COLUMN metadata")
    execute(empty_database_url, "DROP TABLE pm.tb_account_map, pm.tx_history")

    with pytest.raises(MisconfiguredError) as caught:
        apply_migrations(empty_database_url)

    assert str(caught.value).endswith(
        ": table pm.tx_history, table pm.tb_account_map,"
        " column pm.intent.metadata, column pm.intent.to_name"
    )
    assert "outbox_retry" not in tables(empty_database_url)


def test_a_role_that_may_only_create_in_the_schema_can_migrate(empty_database_url: str) -> None:
    for name in PAYMENT_MANAGER:
        run_file(empty_database_url, name)
    execute(empty_database_url, "CREATE ROLE migrator LOGIN")
    execute(empty_database_url, "GRANT USAGE, CREATE ON SCHEMA pm TO migrator")
    try:
        report = apply_migrations(empty_database_url.replace("postgres@", "migrator@"))
    finally:
        execute(empty_database_url, "DROP OWNED BY migrator; DROP ROLE migrator")

    assert report.applied == OURS


def test_a_role_without_rights_is_told_so(empty_database_url: str) -> None:
    execute(empty_database_url, "CREATE ROLE stranger LOGIN")
    try:
        with pytest.raises(MisconfiguredError, match="grant"):
            apply_migrations(empty_database_url.replace("postgres@", "stranger@"))
    finally:
        execute(empty_database_url, "DROP ROLE stranger")


def test_a_file_that_fails_leaves_nothing_behind_and_all_is_taken_up_again(
    empty_database_url: str,
) -> None:
    execute(empty_database_url, "CREATE SCHEMA pm; CREATE TABLE pm.notification_outbox ()")
    with pytest.raises(MisconfiguredError, match="42P07"):
        apply_migrations(empty_database_url)
    assert tables(empty_database_url) == {"notification_outbox"}

    execute(empty_database_url, "DROP TABLE pm.notification_outbox")

    assert apply_migrations(empty_database_url).applied == PAYMENT_MANAGER + OURS


def test_a_migrator_that_died_holds_up_nobody(empty_database_url: str) -> None:
    dead = psycopg.connect(empty_database_url)
    execute(empty_database_url, "CREATE SCHEMA pm")
    dead.execute("SELECT pg_advisory_xact_lock(%s)", [0x706D_6F75_7462_6F78])
    dead.execute("CREATE TABLE pm.outbox_event ()")
    reports: list[MigrationReport] = []
    thread = threading.Thread(target=lambda: reports.append(apply_migrations(empty_database_url)))
    thread.start()
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    wait_until(lambda: execute(empty_database_url, waits) == [(1,)], what="it waits its turn")

    execute(empty_database_url, f"SELECT pg_terminate_backend({dead.info.backend_pid})")
    thread.join(WAIT_S)
    dead.close()

    assert [report.applied for report in reports] == [PAYMENT_MANAGER + OURS]


def test_a_server_that_is_away_is_an_outage(private_postgres: PostgresServer) -> None:
    private_postgres.stop()

    with pytest.raises(DatabaseUnavailableError, match="refused"):
        apply_migrations(private_postgres.url())


def test_a_database_that_does_not_exist_is_a_misconfiguration(empty_database_url: str) -> None:
    with pytest.raises(MisconfiguredError, match="does not exist") as caught:
        apply_migrations(empty_database_url.replace("/test_", "/no_") + "?password=hunter2")

    assert "hunter2" not in str(caught.value)


def test_the_files_are_found_inside_an_installed_package(
    empty_database_url: str, tmp_path: Path
) -> None:
    for package in ("domain", "application", "adapters"):
        shutil.copytree(ROOT / "src" / package, tmp_path / package)
    shutil.copytree(ROOT / "migrations", tmp_path / "adapters" / "postgres" / "migrations")
    program = (
        "import sys; from adapters.postgres.migrations import apply_migrations;"
        "print(*apply_migrations(sys.argv[1]).applied)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, empty_database_url],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert tuple(done.stdout.split()) == PAYMENT_MANAGER + OURS
