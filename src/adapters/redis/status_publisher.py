"""The live status on Redis pub/sub, one channel an intent (DESIGN §3)."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from redis import Redis
from redis.client import Pipeline

from adapters.redis.pipeline import in_pipelines, raise_first_refusal, send
from domain.conclusions import StatusMessage

CHANNEL_PREFIX: Final = "intent."

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
            answers = send(self._client, part, self._add_publish)
            raise_first_refusal(self._client, answers)

    def _add_publish(self, pipeline: Pipeline, message: StatusMessage) -> None:
        pipeline.publish(f"{CHANNEL_PREFIX}{message.intent_id}", self._body(message))

    def _body(self, message: StatusMessage) -> str:
        body = {"status": str(message.status)}
        if self._full_message:
            body = {
                "intentId": str(message.intent_id),
                **body,
                "updatedAt": _timestamp(message.updated_at),
            }
        return _encoder.encode(body)


def _timestamp(moment: datetime) -> str:
    """Return *moment* in UTC with milliseconds, as JavaScript prints it."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
