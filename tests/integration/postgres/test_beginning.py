"""Every transaction brings its settings along, in its first message, and leaves none behind."""

from pathlib import Path

import psycopg
import pytest

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.pool import build_pool, transaction

pytestmark = pytest.mark.integration

OURS = {
    "lock_timeout": "5s",
    "statement_timeout": "7s",
    "idle_in_transaction_session_timeout": "2min",
    "transaction_isolation": "read committed",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
}


def shown(connection: BoundedConnection) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM unnest(%s::text[]) AS name", [list(OURS)]
    ).fetchall()
    return dict(rows)


def test_a_transaction_has_our_settings_whatever_those_of_the_database_are(
    database_url: str,
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for setting in (
            "default_transaction_isolation = 'serializable'",
            "datestyle = 'German, MDY'",
            "timezone = 'Asia/Bangkok'",
            "lock_timeout = '1h'",
        ):
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET {setting}".encode())
    with build_pool(database_url, size_max=1, statement_timeout_ms=7_000) as pool:
        with transaction(pool) as connection:
            within = shown(connection)
        with pool.connection() as connection:
            between = shown(connection)

    assert within == OURS
    assert (between["lock_timeout"], between["TimeZone"]) == ("1h", "Asia/Bangkok")


def test_nothing_is_asked_of_the_server_when_a_session_starts(database_url: str) -> None:
    # A pooler refuses what it does not know, and takes the rest away again.
    with build_pool(database_url, size_max=1) as pool, pool.connection() as connection:
        assert connection.info.options == ""


def test_what_the_connection_string_sets_wins(database_url: str) -> None:
    url = f"{database_url}?options=-c%20lock_timeout%3D50ms"
    with build_pool(url, size_max=1) as pool, transaction(pool) as connection:
        assert shown(connection)["lock_timeout"] == "50ms"


def test_what_the_environment_sets_wins(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "--statement-timeout=50ms")
    with build_pool(database_url, size_max=1) as pool, transaction(pool) as connection:
        assert shown(connection)["statement_timeout"] == "50ms"


def test_a_transaction_costs_no_more_messages_than_its_statements_and_two(
    database_url: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    with (
        BoundedConnection.connect(database_url, autocommit=True) as connection,
        trace.open("wb") as file,
    ):
        connection.pgconn.trace(file.fileno())
        with connection.begun():
            connection.execute("SELECT 1")
        connection.pgconn.untrace()

    sent = [line for line in trace.read_text().splitlines() if "\tF\t" in line]
    assert len(sent) == 3, sent


def test_a_block_that_fails_is_rolled_back_and_its_error_is_the_one_that_is_raised(
    database_url: str,
) -> None:
    with BoundedConnection.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (number int)")
        with connection.begun():
            connection.execute("INSERT INTO kept VALUES (1)")

        def run() -> None:
            with connection.begun():
                connection.execute("INSERT INTO kept VALUES (2)")
                raise KeyError("something else")

        with pytest.raises(KeyError):
            run()
        with pytest.raises(psycopg.errors.DivisionByZero), connection.begun():
            connection.execute("SELECT 1 / 0")
        assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]
