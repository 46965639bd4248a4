"""The trigger that wakes workers: on and off by command, and never in PM's way."""

from collections.abc import Iterator

import psycopg
import pytest

from adapters.postgres import wake_up
from adapters.postgres.migration_files import migrations_folder
from adapters.postgres.migrations import apply_migrations
from adapters.postgres.wake_up import CHANNEL, Trigger, switch_off, switch_on, wake_up_state
from application.errors import DatabaseMisconfiguredError, DatabaseUnavailableError
from tests.helpers.worker_process import run_command

pytestmark = pytest.mark.integration

OWNED = """
    SELECT 'trigger', tgname::text FROM pg_trigger WHERE tgrelid = 'pm.outbox_event'::regclass
    UNION ALL
    SELECT 'function', proname::text FROM pg_proc WHERE pronamespace = 'pm'::regnamespace
    ORDER BY 1, 2
"""


def execute(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description is not None else []


def trigger(url: str) -> Trigger:
    return wake_up_state(url).trigger


def test_migrating_does_not_add_it(database_url: str) -> None:
    apply_migrations(database_url)

    assert execute(database_url, OWNED) == []
    assert trigger(database_url) is Trigger.OFF


def test_it_is_added_once_and_removed_without_a_trace(database_url: str) -> None:
    for _ in range(2):
        switch_on(database_url)
        assert trigger(database_url) is Trigger.ON
        assert execute(database_url, OWNED) == [
            ("function", "outbox_wake_up"),
            ("trigger", "outbox_wake_up"),
        ]
    for _ in range(2):
        switch_off(database_url)
        assert trigger(database_url) is Trigger.OFF
        assert execute(database_url, OWNED) == []


def test_it_runs_once_a_statement_after_inserts_only(database_url: str) -> None:
    switch_on(database_url)

    ((definition,),) = execute(
        database_url,
        "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'outbox_wake_up'",
    )

    assert " AFTER INSERT ON pm.outbox_event FOR EACH STATEMENT EXECUTE " in str(definition)


def test_one_that_was_disabled_is_told_and_can_be_enabled(database_url: str) -> None:
    switch_on(database_url)
    execute(database_url, "ALTER TABLE pm.outbox_event DISABLE TRIGGER outbox_wake_up")
    assert trigger(database_url) is Trigger.DISABLED

    switch_on(database_url)

    assert trigger(database_url) is Trigger.ON


def test_a_function_without_its_trigger_is_told_and_removed(database_url: str) -> None:
    switch_on(database_url)
    execute(database_url, "DROP TRIGGER outbox_wake_up ON pm.outbox_event")
    assert trigger(database_url) is Trigger.FUNCTION_ONLY

    assert command(database_url, "off", "--yes")[0] == 0

    assert execute(database_url, OWNED) == []
    assert trigger(database_url) is Trigger.OFF


@pytest.mark.parametrize("is_on", [False, True])
def test_a_table_in_use_is_not_waited_for(database_url: str, is_on: bool) -> None:
    # All other producers would have to wait behind us.
    switch, before = (switch_off, Trigger.ON) if is_on else (switch_on, Trigger.OFF)
    if is_on:
        switch_on(database_url)
    with psycopg.connect(database_url) as producer:
        producer.execute(
            "INSERT INTO pm.outbox_event (intent_id, action)"
            " VALUES (gen_random_uuid(), 'post_pending')"
        )

        with pytest.raises(DatabaseUnavailableError, match=r"in use .* Try again"):
            switch(database_url)

    assert trigger(database_url) is before


def test_no_lock_is_waited_for_any_longer_than_is_said(database_url: str) -> None:
    with wake_up._switching(database_url) as connection:
        assert connection.execute("SHOW lock_timeout").fetchone() == ("1s",)

    assert wake_up.LOCK_TIMEOUT_S == 1


def test_a_producer_needs_no_right_for_it(database_url: str, producer_url: str) -> None:
    switch_on(database_url)
    execute(database_url, "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA pm FROM public")

    execute(
        producer_url,
        "INSERT INTO pm.outbox_event (intent_id, action)"
        " VALUES (gen_random_uuid(), 'post_pending')",
    )


def test_a_role_that_may_not_is_told_who_may(database_url: str, producer_url: str) -> None:
    with pytest.raises(DatabaseMisconfiguredError, match=r"as the owner of pm\.outbox_event"):
        switch_on(producer_url)
    switch_on(database_url)
    with pytest.raises(DatabaseMisconfiguredError, match=r"as the owner of pm\.outbox_event"):
        switch_off(producer_url)

    assert trigger(database_url) is Trigger.ON


@pytest.fixture
def producer_url(database_url: str) -> Iterator[str]:
    """The URL of a role that may insert events, and nothing else."""
    for statement in (
        "CREATE ROLE producer LOGIN",
        "GRANT USAGE ON SCHEMA pm TO producer",
        "GRANT INSERT ON pm.outbox_event TO producer",
        "GRANT USAGE ON pm.outbox_event_id_seq TO producer",
    ):
        execute(database_url, statement)
    yield database_url.replace("postgres@", "producer@")
    execute(database_url, "DROP OWNED BY producer")
    execute(database_url, "DROP ROLE producer")


def test_a_database_without_the_table_is_told(empty_database_url: str) -> None:
    with pytest.raises(DatabaseMisconfiguredError, match="there is no table"):
        switch_on(empty_database_url)


def test_the_channel_is_the_one_that_workers_listen_on() -> None:
    on = (migrations_folder() / "optional" / "wake_up_on.sql").read_text()

    assert f"NOTIFY {CHANNEL};" in on


# The command.


def command(url: str, *arguments: str) -> tuple[int, str]:
    done = run_command("wake-up", *arguments, environment={"DATABASE_URL": url})
    return done.returncode, done.stdout + done.stderr


def test_the_command_says_what_it_costs_and_does_nothing_unless_told(database_url: str) -> None:
    code, said = command(database_url, "on")

    assert code == 1
    assert "45 %" in said
    assert "Switch wake-up on?" in said
    assert trigger(database_url) is Trigger.OFF


def test_the_command_switches_on_and_off(database_url: str) -> None:
    assert command(database_url, "status")[1].split()[:2] == ["trigger", "off"]
    for state in (Trigger.ON, Trigger.OFF):
        code, said = command(database_url, state, "--yes")
        assert (code, said.splitlines()[-1]) == (0, f"wake-up is {state}")
        assert trigger(database_url) is state
        assert command(database_url, state) == (0, f"nothing to do: wake-up is {state}\n")
        assert f'"trigger": "{state}"' in command(database_url, "status", "--json")[1]


def test_the_command_fails_in_one_line(empty_database_url: str) -> None:
    code, said = command(empty_database_url, "on", "--yes")

    assert code == 78
    assert said.startswith("outbox-worker: there is no table pm.outbox_event")
    assert said.count("\n") == 1
