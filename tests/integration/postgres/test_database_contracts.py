"""Postgres under the contracts of the database's ports."""

import pytest

from tests.contracts.event_store import EventStoreContract
from tests.contracts.notification_queue import NotificationQueueContract
from tests.contracts.outbox_repository import ClaimContract, WriteContract

pytestmark = pytest.mark.integration


class TestPostgresClaim(ClaimContract):
    """Claiming."""


class TestPostgresWrite(WriteContract):
    """Writing."""


class TestPostgresNotificationQueue(NotificationQueueContract):
    """The queue."""


class TestPostgresEventStore(EventStoreContract):
    """The producers' side."""
