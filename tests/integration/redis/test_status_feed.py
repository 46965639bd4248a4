"""Hearing live statuses from a real server: the port's contract, and faults of the line."""

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from adapters.redis.status_feed import RedisStatusFeed
from adapters.redis.status_publisher import RedisStatusPublisher
from application.errors import RedisUnavailableError
from domain.intents import IntentId
from entrypoints.sandbox.valkey_server import ValkeyServer
from tests.contracts.status_feed import SETTLED, StatusFeedContract, intent, next_of, told
from tests.contracts.status_publisher import a_message
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import client_under_test, peer

pytestmark = pytest.mark.integration

SHORT_S = 0.3


@pytest.fixture
def proxy(redis_url: str, proxy_to: Callable[[str], TcpProxy]) -> TcpProxy:
    return proxy_to(redis_url)


@pytest.fixture
def client(proxy: TcpProxy) -> Iterator[Redis]:
    """The client of the feed."""
    with client_under_test(proxy.url) as client:
        yield client


@pytest.fixture
def feed(client: Redis) -> Iterator[RedisStatusFeed]:
    feed = RedisStatusFeed(client, timeout_s=10.0)
    yield feed
    feed.close()


class RedisSpeaker:
    """A ``StatusSpeaker`` with a connection of its own straight to the server."""

    def __init__(self, client: Redis, proxy: TcpProxy) -> None:
        self._client = client
        self._proxy = proxy

    def publish(self, intent_id: IntentId, body: bytes) -> int:
        heard_by = self._client.publish(f"intent.{intent_id}", body)
        assert isinstance(heard_by, int)
        return heard_by

    def cut_line(self) -> None:
        self._proxy.refuse()

    def mend_line(self) -> None:
        self._proxy.pass_through()


@pytest.fixture
def speaker(redis_url: str, proxy: TcpProxy) -> Iterator[RedisSpeaker]:
    with peer(redis_url) as client:
        yield RedisSpeaker(client, proxy)


class TestRedisStatusFeed(StatusFeedContract):
    """On a real server, through a line that can be cut."""


@pytest.mark.parametrize("full_message", [False, True])
def test_what_the_worker_publishes_is_heard(
    redis_url: str, feed: RedisStatusFeed, full_message: bool
) -> None:
    feed.subscribe([intent(1)])
    with client_under_test(redis_url) as client:
        RedisStatusPublisher(client, full_message=full_message).publish([a_message(1)])

    update = next_of(feed)

    assert told([update]) == [(1, "SETTLED")]
    assert update.updated_at == ("2026-05-29T10:15:30.123Z" if full_message else None)


def test_a_subscription_that_is_not_confirmed_is_an_outage(
    client: Redis, proxy: TcpProxy, speaker: RedisSpeaker
) -> None:
    feed = RedisStatusFeed(client, timeout_s=SHORT_S)
    feed.subscribe([intent(1)])
    proxy.drop_answers()

    with pytest.raises(RedisUnavailableError, match="not confirmed"):
        feed.subscribe([intent(1)])

    proxy.pass_through()
    feed.subscribe([intent(1)])
    assert speaker.publish(intent(1), SETTLED) >= 1
    assert told([next_of(feed)]) == [(1, "SETTLED")]
    feed.close()


def test_a_feed_holds_one_connection_and_gives_it_back(
    proxy: TcpProxy, feed: RedisStatusFeed
) -> None:
    for number in range(10):
        feed.subscribe([intent(number)])
    assert proxy.connections_total == 1

    # Of a client that has no more than four.
    for _ in range(10):
        feed.close()
        feed.subscribe([intent(1)])


def test_a_restart_of_the_server_ends_the_subscription(private_valkey: ValkeyServer) -> None:
    with client_under_test(private_valkey.url) as client:
        feed = RedisStatusFeed(client, timeout_s=10.0)
        feed.subscribe([intent(1)])
        private_valkey.stop()
        private_valkey.start()

        # Though there is a server to talk to again: what was published meanwhile is lost.
        with pytest.raises(RedisUnavailableError):
            feed.hear(timeout_s=10.0)
        with pytest.raises(RedisUnavailableError):
            feed.hear(timeout_s=0)

        feed.subscribe([intent(1)])
        assert client.publish(f"intent.{intent(1)}", SETTLED) == 1
        assert told([next_of(feed)]) == [(1, "SETTLED")]
        feed.close()


def test_subscribing_is_all_that_a_client_must_be_allowed(private_valkey: ValkeyServer) -> None:
    with peer(private_valkey.url) as operator:
        operator.execute_command(
            *("ACL", "SETUSER", "watcher", "on", ">secret", "resetchannels", "&intent.*"),
            *("-@all", "+subscribe", "+client|setname"),
        )
        url = private_valkey.url.replace("redis://", "redis://watcher:secret@")
        with client_under_test(url) as client:
            feed = RedisStatusFeed(client, timeout_s=10.0)
            feed.subscribe([intent(1)])
            operator.publish(f"intent.{intent(1)}", SETTLED)

            assert told([next_of(feed)]) == [(1, "SETTLED")]
            feed.close()
