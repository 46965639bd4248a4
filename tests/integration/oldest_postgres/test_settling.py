"""Settling, with the in-memory ledger."""

import pytest

from tests.contracts.settling import SettlingContract
from tests.integration.test_settling import OnInMemoryLedger, database

__all__ = ["database"]

pytestmark = [pytest.mark.integration, pytest.mark.oldest_postgres]


class TestVerdicts(OnInMemoryLedger, SettlingContract):
    """The verdict table."""
