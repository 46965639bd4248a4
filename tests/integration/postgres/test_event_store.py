"""The producer's own connection, however it was set up."""

from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from adapters.postgres.event_store import PostgresEventStore
from application.errors import DatabaseUnavailableError, MisconfiguredError, RowsRefusedError
from domain.intents import Action, IntentId
from tests.contracts.payments import an_intent
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

INTENT_ID = IntentId(uuid4())


def test_the_producers_row_factory_does_not_matter(bench: PostgresBench) -> None:
    intent = an_intent()
    bench.add_intent(intent)
    with psycopg.connect(bench.url, row_factory=dict_row) as connection:
        store = PostgresEventStore(connection)
        locked = store.lock_intent(intent.id)
        event_id = store.insert(intent.id, Action.POST_PENDING, None)
        assert [event.id for event in store.events_of(intent.id)] == [event_id]

    assert locked is not None
    assert locked.amount_satang == intent.amount_satang


def test_a_connection_without_a_transaction_is_refused(bench: PostgresBench) -> None:
    with psycopg.connect(bench.url, autocommit=True) as connection:
        with pytest.raises(MisconfiguredError, match="begin a transaction"):
            PostgresEventStore(connection).lock_intent(INTENT_ID)
        with connection.transaction():
            assert PostgresEventStore(connection).lock_intent(INTENT_ID) is None


def test_a_payload_that_postgres_does_not_take_is_refused(bench: PostgresBench) -> None:
    with psycopg.connect(bench.url) as connection:
        store = PostgresEventStore(connection)
        with pytest.raises(RowsRefusedError):
            store.insert(INTENT_ID, Action.POST_PENDING, '{"a": "\\u0000"}')


def test_a_session_that_was_ended_is_an_outage(bench: PostgresBench) -> None:
    with psycopg.connect(bench.url) as connection:
        bench.execute("SELECT pg_terminate_backend(%s, 5000)", connection.info.backend_pid)
        with pytest.raises(DatabaseUnavailableError):
            PostgresEventStore(connection).events_of(INTENT_ID)


def test_a_database_without_the_tables_says_what_to_do(bench: PostgresBench) -> None:
    bench.execute("DROP TABLE pm.outbox_event")
    with (
        psycopg.connect(bench.url) as connection,
        pytest.raises(MisconfiguredError, match="outbox-worker migrate"),
    ):
        PostgresEventStore(connection).events_of(INTENT_ID)
