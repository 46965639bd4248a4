"""Postgres under the contracts of the database's ports."""

import pytest

from tests.contracts.event_archive import EventArchiveContract
from tests.contracts.event_store import EventStoreContract
from tests.contracts.intent_statuses import IntentStatusesContract
from tests.contracts.intent_trail import IntentTrailContract
from tests.contracts.notification_queue import NotificationQueueContract
from tests.contracts.operator_store import OperatorStoreContract
from tests.contracts.outbox_reader import OutboxReaderContract
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


class TestPostgresOutboxReader(OutboxReaderContract):
    """The operator's lists."""


class TestPostgresOperatorStore(OperatorStoreContract):
    """The operator's changes."""


class TestPostgresIntentStatuses(IntentStatusesContract):
    """What clients watch."""


class TestPostgresEventArchive(EventArchiveContract):
    """What leaves the outbox, and who still sees it."""


class TestPostgresIntentTrail(IntentTrailContract):
    """The audit trail of other writers."""
