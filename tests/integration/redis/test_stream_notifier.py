"""Push jobs on a real stream: the port's contract, names, trimming, answers lost half-way."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from adapters.redis.pipeline import PIPELINE_LENGTH_MAX
from adapters.redis.stream_notifier import RedisStreamNotifier
from application.errors import RedisUnavailableError
from tests.contracts.notifier import NotifierContract, a_job, jobs, keys
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import (
    FIELD,
    STREAM,
    RedisStreamReader,
    client_under_test,
    peer,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def proxy(redis_url: str, proxy_to: Callable[[str], TcpProxy]) -> TcpProxy:
    return proxy_to(redis_url)


@pytest.fixture
def notifier(proxy: TcpProxy) -> Iterator[RedisStreamNotifier]:
    with client_under_test(proxy.url) as client:
        yield RedisStreamNotifier(client, stream=STREAM, field=FIELD, maxlen=None)


@pytest.fixture
def reader(redis_url: str, proxy: TcpProxy) -> Iterator[RedisStreamReader]:
    with peer(redis_url) as client:
        yield RedisStreamReader(client, proxy)


class TestRedisStreamNotifier(NotifierContract):
    """Its fixtures are those of the module."""


def test_stream_and_field_have_the_names_that_they_are_given(redis_url: str) -> None:
    with client_under_test(redis_url) as client:
        RedisStreamNotifier(client, stream="s", field="f", maxlen=None).deliver(jobs(1))

    with peer(redis_url) as client:
        assert client.keys() == [b"s"]
        assert [fields for _, fields in client.xrange("s")] == [{b"f": a_job(1).encode()}]


def test_a_stream_with_a_bound_is_trimmed_but_never_below_it(redis_url: str) -> None:
    with client_under_test(redis_url) as client:
        notifier = RedisStreamNotifier(client, stream=STREAM, field=FIELD, maxlen=500)
        notifier.deliver(jobs(*range(2_000)))

        assert 500 <= client.xlen(STREAM) < 1_000


def test_jobs_confirmed_before_the_connection_broke_are_not_lost_with_it(
    notifier: RedisStreamNotifier, reader: RedisStreamReader, proxy: TcpProxy
) -> None:
    in_second_pipeline = a_job(PIPELINE_LENGTH_MAX + 1)
    proxy.lose_answer_to(in_second_pipeline.encode())

    confirmed = notifier.deliver(jobs(*range(3 * PIPELINE_LENGTH_MAX)))

    assert confirmed == keys(*range(PIPELINE_LENGTH_MAX))
    assert proxy.answers_lost_total == 1
    # The second pipeline arrived, once, without our knowing; the third was not sent.
    on_stream = reader.jobs()
    assert on_stream[:PIPELINE_LENGTH_MAX] == list(jobs(*range(PIPELINE_LENGTH_MAX)).values())
    assert len(on_stream) == len(set(on_stream)) <= 2 * PIPELINE_LENGTH_MAX
    assert in_second_pipeline in on_stream


def test_a_server_too_slow_for_all_jobs_is_given_as_many_as_there_is_time_for(
    reader: RedisStreamReader, redis_url: str
) -> None:
    with client_under_test(redis_url) as client:
        notifier = RedisStreamNotifier(client, stream=STREAM, field=FIELD, maxlen=None, budget_s=0)
        confirmed = notifier.deliver(jobs(*range(3 * PIPELINE_LENGTH_MAX)))

    assert confirmed == keys(*range(PIPELINE_LENGTH_MAX))
    assert reader.jobs() == list(jobs(*range(PIPELINE_LENGTH_MAX)).values())


def test_a_stream_key_of_another_type_is_an_outage_until_it_is_gone(
    notifier: RedisStreamNotifier, redis_url: str
) -> None:
    with peer(redis_url) as operator:
        operator.set(STREAM, "x")
        with pytest.raises(RedisUnavailableError, match="WRONGTYPE"):
            notifier.deliver(jobs(1))
        operator.delete(STREAM)

    assert notifier.deliver(jobs(1)) == keys(1)


def test_threads_share_a_notifier(notifier: RedisStreamNotifier, reader: RedisStreamReader) -> None:
    shares = [jobs(*range(share, 1_000, 4)) for share in range(4)]

    with ThreadPoolExecutor(max_workers=4) as pool:
        confirmed = list(pool.map(notifier.deliver, shares))

    assert frozenset().union(*confirmed) == keys(*range(1_000))
    assert sorted(reader.jobs()) == sorted(jobs(*range(1_000)).values())
