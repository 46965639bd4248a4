"""The live status of intents as their clients hear it: the other end of ``StatusPublisher``."""

from collections.abc import Collection
from typing import Protocol

from domain.intents import IntentId
from domain.live_status import StatusUpdate


class StatusFeed(Protocol):
    """Best-effort: a message is heard by who listens right then, and may be lost even so.

    So the order is: subscribe, then read the status, then hear. In any other order a status that
    becomes final in between is never told. One caller at a time.
    """

    @property
    def ignored(self) -> int:
        """How many messages were heard that are no status of an intent."""
        ...

    def subscribe(self, intent_ids: Collection[IntentId]) -> None:
        """Hear of *intent_ids* too from now on: what is published after this returns is heard.

        Repeating is harmless, loses nothing that was not heard yet, and shows that the
        subscription still stands.

        Raises:
            RedisUnavailableError: nothing is heard until the next call, and what is published
                until then is lost. So it is when ``hear`` raises.
        """
        ...

    def hear(self, *, timeout_s: float) -> StatusUpdate | None:
        """Return the next message, in order; None: none came within *timeout_s*.

        None also comes earlier, in place of a message that makes no sense.

        Raises:
            RedisUnavailableError: the subscription is lost, or there never was one.
        """
        ...

    def close(self) -> None:
        """Stop hearing; does nothing the second time. The next ``subscribe`` begins anew."""
        ...
