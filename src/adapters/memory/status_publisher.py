"""The live status, kept in a list."""

from collections.abc import Sequence

from application.errors import RedisUnavailableError
from domain.conclusions import StatusMessage


class InMemoryStatusPublisher:
    """``StatusPublisher`` for tests: ``published`` is what a listener has heard.

    While ``unavailable`` is set, publishing fails and nothing is heard.
    """

    def __init__(self) -> None:
        self.published: list[StatusMessage] = []
        self.unavailable = False

    def publish(self, messages: Sequence[StatusMessage]) -> None:
        if not messages:
            return
        if self.unavailable:
            raise RedisUnavailableError("told to be away")
        self.published.extend(messages)
