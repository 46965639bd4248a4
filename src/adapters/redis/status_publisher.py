"""The live status on Redis pub/sub, one channel an intent (DESIGN §3)."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from redis import Redis

from adapters.redis.pipeline import in_pipelines, raise_first_refusal, send
from adapters.redis.protocol import opening, word
from domain.conclusions import StatusMessage

CHANNEL_PREFIX: Final = "intent."

_PUBLISH: Final = opening("PUBLISH", more=2)
_encoder: Final = json.JSONEncoder(separators=(",", ":"))


class RedisStatusPublisher:
    """``StatusPublisher`` by PUBLISH.

    The channel names the intent, so the message is ``{"status":"SETTLED"}``; with
    *full_message* it is what the intent-event writer sends, ``intentId`` and ``updatedAt``
    included. Safe to share between threads.
    """

    def __init__(self, client: Redis, *, full_message: bool) -> None:
        self._client = client
        self._full_message = full_message

    def publish(self, messages: Sequence[StatusMessage]) -> None:
        """Publish in order; stop at the first part of *messages* that Redis does not take."""
        for part in in_pipelines(messages):
            answers = send(self._client, [self._command(message) for message in part])
            raise_first_refusal(self._client, answers)

    def _command(self, message: StatusMessage) -> bytes:
        channel = f"{CHANNEL_PREFIX}{message.intent_id}"
        body = _full_body(message) if self._full_message else _compact_body(message.status)
        return _PUBLISH + word(channel.encode()) + word(body)


@lru_cache(maxsize=16)
def _compact_body(status: str) -> bytes:
    """Return the body that all messages of a status have; there are few statuses."""
    return _encoder.encode({"status": status}).encode()


def _full_body(message: StatusMessage) -> bytes:
    body = {
        "intentId": str(message.intent_id),
        "status": message.status,
        "updatedAt": _timestamp(message.updated_at),
    }
    return _encoder.encode(body).encode()


def _timestamp(moment: datetime) -> str:
    """Return *moment* in UTC with milliseconds, as JavaScript prints it."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
