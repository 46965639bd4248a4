"""What a producer's changes of status are on the wire, and what Redis costs the producer."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC
from uuid import uuid4

import psycopg
import pytest
from structlog.testing import capture_logs

from adapters.postgres.intent_trail import PostgresIntentTrail
from application.errors import MisconfiguredError
from application.use_cases.write_intent_event import WriteIntentEvent
from domain.conclusions import StatusChange
from domain.intents import IntentId
from entrypoints.background_publishing import background_publishing
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import PubSubListener, peer

pytestmark = pytest.mark.integration

CHANGE = StatusChange(status_from="CREATED", status_to="AUTHORIZED", reason="frozen")
FOR_EVER_S = 600.0


@pytest.fixture
def proxy(redis_url: str, proxy_to: Callable[[str], TcpProxy]) -> TcpProxy:
    return proxy_to(redis_url)


@pytest.fixture
def listener(redis_url: str, proxy: TcpProxy) -> Iterator[PubSubListener]:
    with peer(redis_url) as client:
        listener = PubSubListener(client, proxy)
        yield listener
        listener.close()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Bangkok"])
def test_a_recorded_change_is_heard_with_the_time_of_its_row(
    database_url: str, redis_url: str, listener: PubSubListener, zone: str
) -> None:
    intent_id = IntentId(uuid4())
    with (
        background_publishing(redis_url) as publish_fn,
        psycopg.connect(database_url, autocommit=True, options=f"-c timezone={zone}") as connection,
    ):
        write = WriteIntentEvent(trail=PostgresIntentTrail(connection), publish_fn=publish_fn)
        write(intent_id, CHANGE)
        row = connection.execute(
            "SELECT created_at FROM pm.intent_event WHERE intent_id = %s",
            [intent_id],
        ).fetchone()

    assert row is not None
    created_at = row[0].astimezone(UTC)
    ((channel, body),) = listener.messages()
    assert channel == f"intent.{intent_id}"
    assert list(json.loads(body).items()) == [
        ("intentId", str(intent_id)),
        ("status", "AUTHORIZED"),
        ("updatedAt", f"{created_at:%Y-%m-%dT%H:%M:%S}.{created_at.microsecond // 1000:03d}Z"),
    ]


def test_in_a_transaction_nothing_is_heard_before_the_commit(
    database_url: str, redis_url: str, listener: PubSubListener
) -> None:
    with (
        background_publishing(redis_url) as publish_fn,
        psycopg.connect(database_url) as connection,
    ):
        write = WriteIntentEvent(trail=PostgresIntentTrail(connection), publish_fn=publish_fn)
        announcement = write(IntentId(uuid4()), CHANGE)
        assert listener.messages() == []
        connection.commit()
        announcement.publish()

    assert len(listener.messages()) == 1


def test_a_producer_never_waits_for_redis(database_url: str, proxy: TcpProxy) -> None:
    proxy.blackhole()
    with (
        psycopg.connect(database_url, autocommit=True) as connection,
        background_publishing(proxy.url, timeout_s=FOR_EVER_S) as publish_fn,
    ):
        write = WriteIntentEvent(trail=PostgresIntentTrail(connection), publish_fn=publish_fn)
        for _ in range(3):
            write(IntentId(uuid4()), CHANGE)
        wait_until(lambda: proxy.connections_total > 0, what="the publisher hangs")
        write(IntentId(uuid4()), CHANGE)
        count = connection.execute("SELECT count(*) FROM pm.intent_event").fetchone()
        proxy.refuse()

    assert count == (4,)


def test_what_was_not_published_at_first_is_heard_when_redis_is_back(
    database_url: str, proxy: TcpProxy, listener: PubSubListener
) -> None:
    proxy.refuse()
    with (
        capture_logs() as logs,
        psycopg.connect(database_url, autocommit=True) as connection,
        background_publishing(proxy.url) as publish_fn,
    ):
        write = WriteIntentEvent(trail=PostgresIntentTrail(connection), publish_fn=publish_fn)
        for _ in range(3):
            write(IntentId(uuid4()), CHANGE)
        wait_until(lambda: bool(logs), what="the outage is told")
        proxy.pass_through()

    heard = [json.loads(body)["status"] for _, body in listener.messages()]
    assert heard == ["AUTHORIZED"] * 3
    assert [line["event"] for line in logs if line["log_level"] == "error"] == [
        "outbox: part is down"
    ]


def test_an_unusable_url_is_told_at_once() -> None:
    with (
        pytest.raises(MisconfiguredError, match="redis_url is not a usable URL"),
        background_publishing("localhost"),
    ):
        pass
