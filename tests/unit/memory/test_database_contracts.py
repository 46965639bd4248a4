"""The in-memory database under the contracts of its ports."""

import pytest

from tests.contracts.database_bench import DatabaseBench
from tests.contracts.event_archive import EventArchiveContract
from tests.contracts.event_store import EventStoreContract
from tests.contracts.intent_records import IntentRecordsContract
from tests.contracts.intent_statuses import IntentStatusesContract
from tests.contracts.intent_trail import IntentTrailContract
from tests.contracts.notification_queue import NotificationQueueContract
from tests.contracts.operator_store import OperatorStoreContract
from tests.contracts.outbox_reader import OutboxReaderContract
from tests.contracts.outbox_repository import ClaimContract, WriteContract
from tests.unit.memory.memory_bench import InMemoryBench


@pytest.fixture
def bench() -> DatabaseBench:
    return InMemoryBench()


class TestInMemoryClaim(ClaimContract):
    """Claiming."""


class TestInMemoryWrite(WriteContract):
    """Writing."""


class TestInMemoryNotificationQueue(NotificationQueueContract):
    """The queue."""


class TestInMemoryEventStore(EventStoreContract):
    """The producers' side."""


class TestInMemoryIntentRecords(IntentRecordsContract):
    """What reconciling reads."""


class TestInMemoryOutboxReader(OutboxReaderContract):
    """The operator's lists."""


class TestInMemoryOperatorStore(OperatorStoreContract):
    """The operator's changes."""


class TestInMemoryIntentStatuses(IntentStatusesContract):
    """What clients watch."""


class TestInMemoryEventArchive(EventArchiveContract):
    """What leaves the outbox, and who still sees it."""


class TestInMemoryIntentTrail(IntentTrailContract):
    """The audit trail of other writers."""
