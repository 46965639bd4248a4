"""The live status of intents, for clients that watch."""

from collections.abc import Sequence
from typing import Protocol

from domain.conclusions import StatusMessage


class StatusPublisher(Protocol):
    """Tell whoever listens right now; best-effort by contract."""

    def publish(self, messages: Sequence[StatusMessage]) -> None:
        """Publish *messages* in their order, each on its intent's channel.

        Repeating is harmless: a status says what is, not what changed.

        Raises:
            RedisUnavailableError: some or all of *messages* may not have been published.
        """
        ...
