"""The fake publisher keeps its port's contract."""

from collections.abc import Sequence

import pytest

from adapters.memory.status_publisher import InMemoryStatusPublisher
from domain.intents import IntentId
from tests.contracts.status_publisher import StatusListener, StatusPublisherContract


class MemoryListener:
    """Hears what an ``InMemoryStatusPublisher`` published."""

    def __init__(self, publisher: InMemoryStatusPublisher) -> None:
        self._publisher = publisher

    def heard(self) -> Sequence[tuple[IntentId, str]]:
        return [(message.intent_id, message.status) for message in self._publisher.published]

    def cut_line(self) -> None:
        self._publisher.unavailable = True

    def mend_line(self) -> None:
        self._publisher.unavailable = False


class TestInMemoryStatusPublisher(StatusPublisherContract):
    @pytest.fixture
    def publisher(self) -> InMemoryStatusPublisher:
        return InMemoryStatusPublisher()

    @pytest.fixture
    def listener(self, publisher: InMemoryStatusPublisher) -> StatusListener:
        return MemoryListener(publisher)
