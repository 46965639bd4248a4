"""Both ends of Redis: the client under test, and what its listeners and readers see."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from redis import Redis
from redis.client import PubSub

from adapters.redis.connection import build_client
from domain.intents import IntentId
from tests.helpers.tcp_proxy import TcpProxy

STREAM = "stream.notifications.jobs"
FIELD = "payload"
END = b"intent.end"
PATIENCE_S = 10.0


def client_under_test(url: str, *, timeout_s: float = PATIENCE_S) -> Redis:
    """Return the client that the adapters get; *timeout_s* for connecting and for answers."""
    return build_client(
        url,
        setting="REDIS_URL",
        client_name="pm-outbox-test",
        connect_timeout_s=timeout_s,
        socket_timeout_s=timeout_s,
    )


def peer(url: str) -> Redis:
    """Return a client of somebody else: an operator, a listener, a reader."""
    return Redis.from_url(url, socket_timeout=PATIENCE_S)


def entries(client: Redis, stream: str) -> Sequence[dict[str, bytes]]:
    """Return the fields of every entry of *stream*, oldest first."""
    # redis-py's own type allows for answers that XRANGE never gives.
    found = cast(list[tuple[bytes, dict[bytes, bytes]]], client.xrange(stream))
    return [{name.decode(): value for name, value in fields.items()} for _, fields in found]


class PubSubListener:
    """Listens on every intent's channel, by a connection of its own straight to the server."""

    def __init__(self, client: Redis, proxy: TcpProxy) -> None:
        self._client = client
        self._proxy = proxy
        self._messages: list[tuple[str, bytes]] = []
        self._pubsub = PubSub(client.connection_pool)
        self._pubsub.psubscribe("intent.*")
        self._pubsub.get_message(timeout=PATIENCE_S)  # the subscription stands from here on

    def heard(self) -> Sequence[tuple[IntentId, str]]:
        return [
            (IntentId(UUID(channel.removeprefix("intent."))), _status_in(body))
            for channel, body in self.messages()
        ]

    def messages(self) -> Sequence[tuple[str, bytes]]:
        """Return channel and body of everything heard so far, in order."""
        self._client.publish(END, b"")
        while True:
            message = self._pubsub.get_message(timeout=PATIENCE_S)
            assert message is not None, "the end was not heard"
            if message["channel"] == END:
                return self._messages
            self._messages.append((message["channel"].decode(), message["data"]))

    def cut_line(self) -> None:
        self._proxy.refuse()

    def mend_line(self) -> None:
        self._proxy.pass_through()

    def close(self) -> None:
        self._pubsub.close()


class RedisStreamReader:
    """Reads the whole stream, by a connection of its own straight to the server."""

    def __init__(self, client: Redis, proxy: TcpProxy) -> None:
        self._client = client
        self._proxy = proxy

    def jobs(self) -> Sequence[str]:
        return [fields[FIELD].decode() for fields in entries(self._client, STREAM)]

    def cut_line(self) -> None:
        self._proxy.refuse()

    def lose_answers(self) -> None:
        self._proxy.lose_answer_to(b"XADD")

    def mend_line(self) -> None:
        self._proxy.pass_through()


def _status_in(body: bytes) -> str:
    return body.decode().removeprefix('{"status":"').removesuffix('"}')
