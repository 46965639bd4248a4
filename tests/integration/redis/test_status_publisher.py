"""The live status on a real server: the port's contract, and the wire format to the letter."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from adapters.redis.status_publisher import RedisStatusPublisher
from tests.contracts.status_publisher import StatusPublisherContract, a_message
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import PubSubListener, client_under_test, peer

pytestmark = pytest.mark.integration

CHANNEL = "intent.00000000-0000-0000-0000-000000000001"


@pytest.fixture
def proxy(redis_url: str, proxy_to: Callable[[str], TcpProxy]) -> TcpProxy:
    return proxy_to(redis_url)


@pytest.fixture
def listener(redis_url: str, proxy: TcpProxy) -> Iterator[PubSubListener]:
    with peer(redis_url) as client:
        listener = PubSubListener(client, proxy)
        yield listener
        listener.close()


class TestRedisStatusPublisher(StatusPublisherContract):
    @pytest.fixture
    def publisher(self, proxy: TcpProxy) -> Iterator[RedisStatusPublisher]:
        with client_under_test(proxy.url) as client:
            yield RedisStatusPublisher(client, full_message=False)


def test_a_compact_message_holds_the_status_alone(redis_url: str, listener: PubSubListener) -> None:
    with client_under_test(redis_url) as client:
        RedisStatusPublisher(client, full_message=False).publish([a_message(1)])

    assert listener.messages() == [(CHANNEL, b'{"status":"SETTLED"}')]


@pytest.mark.parametrize(
    ("updated_at", "printed"),
    [
        (datetime(2026, 5, 29, 10, 15, 30, 123_999, tzinfo=UTC), "2026-05-29T10:15:30.123Z"),
        (datetime(2026, 5, 29, 10, 15, 30, tzinfo=UTC), "2026-05-29T10:15:30.000Z"),
        (
            datetime(2026, 5, 30, 2, 15, 30, 5_000, tzinfo=timezone(timedelta(hours=7))),
            "2026-05-29T19:15:30.005Z",
        ),
    ],
)
def test_a_full_message_is_that_of_the_intent_event_writer(
    redis_url: str, listener: PubSubListener, updated_at: datetime, printed: str
) -> None:
    message = replace(a_message(1), updated_at=updated_at)

    with client_under_test(redis_url) as client:
        RedisStatusPublisher(client, full_message=True).publish([message])

    body = (
        '{"intentId":"00000000-0000-0000-0000-000000000001","status":"SETTLED",'
        f'"updatedAt":"{printed}"}}'
    )
    assert listener.messages() == [(CHANNEL, body.encode())]


def test_nobody_has_to_listen(redis_url: str) -> None:
    with client_under_test(redis_url) as client:
        RedisStatusPublisher(client, full_message=False).publish([a_message(1)])
