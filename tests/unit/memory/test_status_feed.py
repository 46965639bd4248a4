"""The fake feed keeps its port's contract."""

import pytest

from adapters.memory.status_feed import InMemoryStatusChannels, InMemoryStatusFeed
from domain.intents import IntentId
from tests.contracts.status_feed import StatusFeedContract, StatusSpeaker


class MemorySpeaker:
    """A ``StatusSpeaker`` on channels in memory."""

    def __init__(self, channels: InMemoryStatusChannels) -> None:
        self._channels = channels

    def publish(self, intent_id: IntentId, body: bytes) -> int:
        return self._channels.publish(intent_id, body)

    def cut_line(self) -> None:
        self._channels.go_away()

    def mend_line(self) -> None:
        self._channels.come_back()


class TestInMemoryStatusFeed(StatusFeedContract):
    @pytest.fixture
    def channels(self) -> InMemoryStatusChannels:
        return InMemoryStatusChannels()

    @pytest.fixture
    def feed(self, channels: InMemoryStatusChannels) -> InMemoryStatusFeed:
        return InMemoryStatusFeed(channels)

    @pytest.fixture
    def speaker(self, channels: InMemoryStatusChannels) -> StatusSpeaker:
        return MemorySpeaker(channels)
