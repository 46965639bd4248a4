"""Pools and benches on fresh databases."""

from collections.abc import Iterator

import pytest

from adapters.postgres.pool import Pool, build_pool
from tests.integration.postgres.postgres_bench import PostgresBench


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    """An open pool on a fresh database."""
    with build_pool(database_url, size_max=4) as pool:
        yield pool


@pytest.fixture
def bench(database_url: str, pool: Pool) -> PostgresBench:
    """The bench on ``pool``'s database."""
    return PostgresBench(database_url, pool)
