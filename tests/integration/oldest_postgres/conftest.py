"""The fixtures of the other tests, on Debian's Postgres 15."""

from collections.abc import Iterator

import pytest

from adapters.postgres.migrations import apply_migrations
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.helpers.oldest_postgres import find_binaries
from tests.integration.postgres.conftest import bench, pool
from tests.integration.worker.conftest import (
    bank,
    ledger,
    ledger_address,
    payment_manager,
    redis,
    settings,
    start_worker,
)

__all__ = [
    "bank",
    "bench",
    "ledger",
    "ledger_address",
    "payment_manager",
    "pool",
    "redis",
    "settings",
    "start_worker",
]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The folder's own server."""
    with PostgresServer(binaries=find_binaries()) as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> str:
    """The name of a migrated database on it, to copy from."""
    name = postgres_server.create_database()
    apply_migrations(postgres_server.url(name))
    postgres_server.freeze_database(name)
    return name
