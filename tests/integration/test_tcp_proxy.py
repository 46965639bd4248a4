"""The proxy itself: what a client sees in each mode, and what the server gets."""

import os
import re
import time
from collections.abc import Callable
from threading import Thread

import psycopg
import pytest
import redis

from entrypoints.sandbox.valkey_server import ValkeyServer, valkey_client
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

ProxyTo = Callable[[str], TcpProxy]
SHORT_S = 0.3


def test_passes_both_ways(redis_url: str, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(redis_url)
    with valkey_client(proxy.url) as client:
        assert client.ping()

    assert proxy.connections_total == 1


def test_carries_more_than_a_buffer(redis_url: str, proxy_to: ProxyTo) -> None:
    big = os.urandom(5_000_000)
    with valkey_client(proxy_to(redis_url).url) as client:
        client.set("big", big)

        assert client.get("big") == big


def test_blackhole_holds_back_until_it_passes(redis_url: str, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(redis_url)
    with valkey_client(proxy.url, timeout_s=SHORT_S) as client:
        client.ping()
        proxy.blackhole()
        with pytest.raises(redis.TimeoutError):
            client.set("written", "late")
        with pytest.raises(redis.TimeoutError):
            client.ping()
    with valkey_client(redis_url) as direct:
        assert direct.get("written") is None
        proxy.pass_through()
        wait_until(lambda: direct.get("written") == b"late", what="request comes through")


def test_blackhole_hides_that_the_client_is_gone(
    empty_database_url: str, proxy_to: ProxyTo
) -> None:
    proxy = proxy_to(empty_database_url)
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'behind'"
    with psycopg.connect(empty_database_url, autocommit=True) as direct:
        with psycopg.connect(proxy.url, application_name="behind"):
            proxy.blackhole()
        time.sleep(SHORT_S)
        assert direct.execute(query).fetchone() == (1,)
        proxy.pass_through()
        wait_until(lambda: direct.execute(query).fetchone() == (0,), what="session is over")


def test_refused_until_it_passes(redis_url: str, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(redis_url)
    with valkey_client(proxy.url) as client:
        client.ping()
        proxy.refuse()
        with pytest.raises(redis.ConnectionError):
            client.ping()
        with pytest.raises(redis.ConnectionError, match="refused"):
            client.ping()
        proxy.pass_through()

        assert client.ping()


def test_cut_ends_connections_and_takes_new_ones(
    empty_database_url: str, proxy_to: ProxyTo
) -> None:
    proxy = proxy_to(empty_database_url)
    with psycopg.connect(proxy.url) as client:
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    psycopg.connect(proxy.url).close()

    assert proxy.connections_total == 2


def test_another_server_can_take_the_place_of_the_first(
    redis_url: str, private_valkey: ValkeyServer, proxy_to: ProxyTo
) -> None:
    proxy = proxy_to(redis_url)
    with valkey_client(redis_url) as first, valkey_client(private_valkey.url) as second:
        first.set("who", "first")
        second.set("who", "second")
        with valkey_client(proxy.url) as client:
            assert client.get("who") == b"first"
            proxy.redirect(private_valkey.url)
            assert client.get("who") == b"second"
            proxy.redirect(redis_url)
        with valkey_client(proxy.url) as client:
            assert client.get("who") == b"first"


def test_dropped_answers_belong_to_requests_that_were_carried_out(
    redis_url: str, proxy_to: ProxyTo
) -> None:
    proxy = proxy_to(redis_url)
    with valkey_client(proxy.url, timeout_s=SHORT_S) as client:
        client.ping()
        proxy.drop_answers()
        with pytest.raises(redis.TimeoutError):
            client.incr("done")
    with valkey_client(redis_url) as direct:
        assert direct.get("done") == b"1"


def test_only_the_answer_to_the_commit_is_lost(empty_database_url: str, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(empty_database_url)
    with psycopg.connect(proxy.url, autocommit=True) as client:
        client.execute("CREATE TABLE sums (sum int)")
    proxy.lose_answer_to(b"COMMIT")
    with psycopg.connect(proxy.url) as client:
        client.execute("INSERT INTO sums VALUES (1)")
        with pytest.raises(psycopg.OperationalError):
            client.commit()
    with psycopg.connect(proxy.url) as client:
        assert client.execute("SELECT sum FROM sums").fetchone() == (1,)
        client.commit()

    assert proxy.answers_lost_total == 1


def test_a_commit_can_be_held_on_its_way(empty_database_url: str, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(empty_database_url)
    sums = "SELECT array_agg(sum ORDER BY sum) FROM sums"
    with psycopg.connect(empty_database_url, autocommit=True) as direct:
        direct.execute("CREATE TABLE sums (sum int)")
        proxy.freeze_at(re.compile(rb"(?=COMMIT)"), after=b"VALUES (2)")
        for number in (b"1", b"2"):
            client = psycopg.connect(proxy.url)
            client.execute(b"INSERT INTO sums VALUES (" + number + b")")
            Thread(target=commit_and_close, args=(client,), daemon=True).start()
        wait_until(lambda: proxy.frozen_total == 1, what="the second one is on its way")
        wait_until(lambda: direct.execute(sums).fetchone() == ([1],), what="the first one is there")
        proxy.pass_through()
        wait_until(lambda: direct.execute(sums).fetchone() == ([1, 2],), what="both are there")


def test_a_pipeline_can_be_held_in_its_middle(redis_url: str, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(redis_url)
    proxy.freeze_at(re.compile(rb"INCR.*?(?=INCR)", re.DOTALL))
    with (
        valkey_client(redis_url) as direct,
        valkey_client(proxy.url, timeout_s=SHORT_S) as client,
        client.pipeline(transaction=False) as pipeline,
    ):
        with pytest.raises(redis.TimeoutError):
            pipeline.incr("done").incr("done").execute()
        assert direct.get("done") == b"1"
        proxy.pass_through()
        wait_until(lambda: direct.get("done") == b"2", what="the rest comes through")


def commit_and_close(client: psycopg.Connection) -> None:
    client.commit()
    client.close()


def test_connection_ends_when_the_server_is_gone(
    private_valkey: ValkeyServer, proxy_to: ProxyTo
) -> None:
    proxy = proxy_to(private_valkey.address)
    private_valkey.stop()
    with (
        valkey_client(f"redis://{proxy.address}") as client,
        pytest.raises(redis.ConnectionError),
    ):
        client.ping()
