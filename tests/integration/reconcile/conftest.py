"""A bench on a fresh database."""

from collections.abc import Iterator

import pytest

from adapters.postgres.pool import build_pool
from tests.integration.postgres.postgres_bench import PostgresBench


@pytest.fixture
def bench(database_url: str) -> Iterator[PostgresBench]:
    """The bench on ``database_url``."""
    with build_pool(database_url, size_max=2) as pool:
        yield PostgresBench(database_url, pool)
