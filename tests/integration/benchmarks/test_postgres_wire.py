"""What is counted between clients and Postgres."""

from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.postgres_wire import Counts, PostgresWire

pytestmark = pytest.mark.integration


@pytest.fixture
def wire(database_url: str) -> Iterator[PostgresWire]:
    """A relay in front of a fresh database."""
    with PostgresWire(database_url) as wire:
        yield wire


def test_each_statement_of_a_transaction_is_a_round_trip(wire: PostgresWire) -> None:
    with psycopg.connect(wire.url) as connection:
        before = wire.counts
        connection.execute("SELECT 1")
        connection.execute("SELECT %s::text", ["x" * 200_000])
        connection.commit()

        assert wire.counts - before == Counts(statements=4, round_trips=4, commits=1)


def test_statements_of_a_pipeline_share_one_round_trip(wire: PostgresWire) -> None:
    with psycopg.connect(wire.url, autocommit=True) as connection:
        before = wire.counts
        with connection.pipeline():
            for number in range(5):
                connection.execute("SELECT %s::integer", [number])

        assert wire.counts - before == Counts(statements=5, round_trips=1)


def test_connections_are_counted_together(wire: PostgresWire) -> None:
    before = wire.counts
    for _ in range(2):
        with psycopg.connect(wire.url, autocommit=True) as connection:
            connection.execute("SELECT 1")

    assert (wire.counts - before).statements == 2
