"""Which error of the server's counts against nothing, stops the worker, or is a row's own."""

from collections.abc import Callable

import psycopg
import pytest

from adapters.postgres.pool import Pool, build_pool, transaction
from application.errors import (
    DatabaseUnavailableError,
    MisconfiguredError,
    OutboxError,
    RowsRefusedError,
)
from domain.conclusions import Conclusion
from domain.intents import ClaimedEvent, EventId
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.payments import a_retry, a_review, a_settle, an_acknowledge, an_intent
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration


@pytest.fixture
def event_id(bench: PostgresBench) -> EventId:
    intent = an_intent()
    bench.add_intent(intent)
    return bench.add_event(intent.id)


def settle_all(bench: PostgresBench, *, to_name: str | None = None) -> None:
    with bench.outbox.claim(limit=10) as batch:
        batch.write([a_settle(claimed, to_name=to_name) for claimed in batch.events])


def set_for_database(bench: PostgresBench, setting: str) -> None:
    """Change a default of the database; sessions that begin later have it."""
    ((name,),) = bench.execute("SELECT quote_ident(current_database())")
    bench.execute(f"ALTER DATABASE {name} SET {setting}")


def raise_on_update(bench: PostgresBench, code: str, *, deferred: bool = False) -> None:
    """Make the server raise *code* when an intent changes, or at the commit after that."""
    bench.execute(
        "CREATE FUNCTION pm.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$"
    )
    bench.execute(
        "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON pm.intent"
        f" DEFERRABLE INITIALLY {'DEFERRED' if deferred else 'IMMEDIATE'}"
        " FOR EACH ROW EXECUTE FUNCTION pm.refuse()"
    )


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("40001", DatabaseUnavailableError),
        ("40P01", DatabaseUnavailableError),
        ("53100", DatabaseUnavailableError),
        ("55P03", DatabaseUnavailableError),
        ("57014", DatabaseUnavailableError),
        ("58030", DatabaseUnavailableError),
        ("08006", DatabaseUnavailableError),
        ("XX001", RowsRefusedError),
        ("42501", MisconfiguredError),
        ("42883", MisconfiguredError),
        ("22001", RowsRefusedError),
        ("23514", RowsRefusedError),
        ("54000", RowsRefusedError),
        ("P0001", RowsRefusedError),
    ],
)
def test_the_class_of_a_write_error_decides(
    bench: PostgresBench, event_id: EventId, code: str, error: type[OutboxError]
) -> None:
    raise_on_update(bench, code)

    with pytest.raises(error, match=code):
        settle_all(bench)
    assert bench.event(event_id).status == "pending"
    assert bench.event(event_id).retry_count == 0


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("40001", DatabaseUnavailableError),
        ("40P01", DatabaseUnavailableError),
        ("P0001", RowsRefusedError),
    ],
)
def test_what_pm_defers_to_the_commit_is_judged_with_the_write(
    bench: PostgresBench, event_id: EventId, code: str, error: type[OutboxError]
) -> None:
    # At the commit it would be too late to tell which row it was.
    raise_on_update(bench, code, deferred=True)

    with pytest.raises(error, match=code):
        settle_all(bench)
    assert bench.event(event_id).status == "pending"


def test_a_refusal_does_not_quote_the_row(bench: PostgresBench, event_id: EventId) -> None:
    bench.execute("ALTER TABLE pm.intent ADD CHECK (to_name <> 'Somchai Jaidee')")

    with pytest.raises(RowsRefusedError, match="violates check constraint") as caught:
        settle_all(bench, to_name="Somchai Jaidee")

    assert "Somchai" not in str(caught.value)


def test_a_standby_is_an_outage(bench: PostgresBench, event_id: EventId) -> None:
    set_for_database(bench, "default_transaction_read_only = on")

    with pytest.raises(DatabaseUnavailableError, match="25006"):
        settle_all(bench)


@pytest.mark.parametrize("is_found_out_by", [settle_all, lambda bench: bench.outbox.rehearse()])
def test_a_session_that_takes_no_writes_is_not_used_again(
    bench: PostgresBench,
    pool: Pool,
    event_id: EventId,
    is_found_out_by: Callable[[PostgresBench], None],
) -> None:
    # A default is what a session began with, whatever it is now.
    set_for_database(bench, "default_transaction_read_only = on")
    with pytest.raises(DatabaseUnavailableError, match="25006"):
        is_found_out_by(bench)

    writable = f"{bench.url}?options=-c%20default_transaction_read_only%3Doff"
    set_for_database(PostgresBench(writable, pool), "default_transaction_read_only = off")

    # The pool may have made another one of the kind in the meantime.
    wait_until(lambda: settles(bench), what="it settles again")
    assert bench.event(event_id).status == "processed"


def settles(bench: PostgresBench) -> bool:
    """Try to settle; whether that went well."""
    try:
        settle_all(bench)
    except DatabaseUnavailableError:
        return False
    return True


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE pm.outbox_retry",
        "ALTER TABLE pm.outbox_retry DROP COLUMN generations",
        "DROP SCHEMA pm CASCADE",
    ],
)
def test_a_database_that_was_not_migrated_says_what_to_do(
    bench: PostgresBench, event_id: EventId, damage: str
) -> None:
    bench.execute(damage)

    with pytest.raises(MisconfiguredError, match="outbox-worker migrate"):
        settle_all(bench)


def test_missing_rights_are_named(
    bench: PostgresBench, database_url: str, event_id: EventId
) -> None:
    bench.execute("DROP ROLE IF EXISTS reader")
    bench.execute("CREATE ROLE reader LOGIN")
    url = database_url.replace("postgres@", "reader@")
    with build_pool(url, size_max=1) as pool, pytest.raises(MisconfiguredError, match="grant"):
        settle_all(PostgresBench(database_url, pool))
    bench.execute("DROP ROLE reader")


def test_a_lock_on_the_whole_table_is_not_waited_for(
    bench: PostgresBench, database_url: str, event_id: EventId
) -> None:
    # What the connection string says wins over our own settings.
    url = f"{database_url}?options=-c%20lock_timeout%3D50ms"
    with build_pool(url, size_max=1) as pool, psycopg.connect(database_url) as somebody:
        somebody.execute("LOCK TABLE pm.intent IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DatabaseUnavailableError, match="55P03"):
            settle_all(PostgresBench(database_url, pool))


def test_a_column_that_changes_its_type_does_not_stop_running_connections(
    bench: PostgresBench, pool: Pool
) -> None:
    for n in range(7):  # more often than it takes a driver to prepare a statement
        intent = an_intent()
        bench.add_intent(intent)
        event_id = bench.add_event(intent.id)
        if n == 6:
            bench.execute("ALTER TABLE pm.outbox_event ALTER COLUMN action TYPE text")
        settle_all(bench)
        assert bench.event(event_id).status == "processed"
    assert pool.get_stats()["connections_num"] == 1


def test_a_database_of_repeatable_read_is_claimed_from_all_the_same(
    bench: PostgresBench, database_url: str, event_id: EventId
) -> None:
    set_for_database(bench, "default_transaction_isolation = 'repeatable read'")

    with build_pool(database_url, size_max=1) as pool, transaction(pool) as connection:
        row = connection.execute("SHOW transaction_isolation").fetchone()

    assert row == ("read committed",)


@pytest.mark.usefixtures("event_id")
@pytest.mark.parametrize("conclude", [a_settle, an_acknowledge, a_retry, a_review])
def test_an_event_that_a_trigger_keeps_as_it_is_refuses_whatever_is_concluded(
    bench: PostgresBench, conclude: Callable[[ClaimedEvent], Conclusion]
) -> None:
    bench.execute(
        "CREATE FUNCTION pm.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
    )
    bench.execute(
        "CREATE TRIGGER keep BEFORE UPDATE ON pm.outbox_event"
        " FOR EACH ROW EXECUTE FUNCTION pm.keep()"
    )

    with bench.outbox.claim(limit=10) as batch:
        [claimed] = batch.events
        with pytest.raises(RowsRefusedError, match="did not take the update"):
            batch.write([conclude(claimed)])

    assert bench.execute("SELECT status FROM pm.intent") == [("AUTHORIZED",)]
    assert bench.execute("SELECT count(*) FROM pm.outbox_retry") == [(0,)]
