"""The migrations, the database's ports and the plans of claims."""

import psycopg
import pytest

from adapters.postgres.migrations import apply_migrations
from adapters.postgres.probe import PostgresProbe
from adapters.postgres.probe_server import VERSION_MIN
from tests.contracts.intent_records import IntentRecordsContract
from tests.contracts.outbox_reader import OutboxReaderContract
from tests.contracts.outbox_repository import ClaimContract
from tests.helpers.findings import faults, of
from tests.integration.postgres.test_claim_plans import test_no_plan_claims_more_or_others

__all__ = ["test_no_plan_claims_more_or_others"]

pytestmark = [pytest.mark.integration, pytest.mark.oldest_postgres]


def test_an_empty_database_is_migrated(empty_database_url: str) -> None:
    assert apply_migrations(empty_database_url).applied
    assert not apply_migrations(empty_database_url).applied


def test_doctor_finds_it_old_enough(database_url: str) -> None:
    findings = PostgresProbe(dsn=database_url, timeout_s=30.0, connections_needed=3).examine()

    assert of(findings, "version").detail == f"Postgres {VERSION_MIN}"
    assert faults(findings) == []
    with psycopg.connect(database_url) as connection:
        assert connection.info.server_version // 10_000 == VERSION_MIN


class TestClaim(ClaimContract):
    """Claiming."""


class TestOutboxReader(OutboxReaderContract):
    """The operator's lists."""


class TestIntentRecords(IntentRecordsContract):
    """What reconcile reads."""
