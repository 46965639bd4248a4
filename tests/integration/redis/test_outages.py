"""A real server that is away, silent, read-only, full or locked, and then well again.

Every fault must be a RedisUnavailableError within the time-out, and must heal by itself on the
client that met it.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from redis import Redis

from adapters.redis.status_publisher import RedisStatusPublisher
from adapters.redis.stream_notifier import RedisStreamNotifier
from application.errors import RedisUnavailableError
from entrypoints.sandbox.valkey_server import ValkeyServer
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.notifier import jobs, keys
from tests.contracts.status_publisher import a_message
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import FIELD, STREAM, client_under_test, peer

pytestmark = pytest.mark.integration

TIMEOUT_S = 1.0
# What counts is that it comes back at all, on a loaded machine, too.
RETURNS_WITHIN_S = 60.0

Call = Callable[[Redis], None]


def publish_one(client: Redis) -> None:
    RedisStatusPublisher(client, full_message=False).publish([a_message(1)])


def deliver_one(client: Redis) -> None:
    assert notifier_on(client).deliver(jobs(1)) == keys(1)


def notifier_on(client: Redis) -> RedisStreamNotifier:
    return RedisStreamNotifier(client, stream=STREAM, field=FIELD, maxlen=None)


def probe(client: Redis) -> None:
    notifier_on(client).probe()


either_call = pytest.mark.parametrize("call", [publish_one, deliver_one])
any_call = pytest.mark.parametrize("call", [publish_one, deliver_one, probe])


def assert_fails_in_time(call: Callable[[], object]) -> None:
    start_s = time.monotonic()
    with pytest.raises(RedisUnavailableError):
        call()
    assert time.monotonic() - start_s < RETURNS_WITHIN_S


def xadds_done(operator: Redis) -> int:
    stats = operator.info("commandstats").get("cmdstat_xadd", {"calls": 0})
    return int(stats["calls"])


@pytest.fixture
def open_client() -> Iterator[Callable[[str], Redis]]:
    with ExitStack() as clients:
        yield lambda url: clients.enter_context(client_under_test(url, timeout_s=TIMEOUT_S))


@pytest.fixture
def operator(private_valkey: ValkeyServer) -> Iterator[Redis]:
    """Somebody with a connection of their own to ``private_valkey``."""
    with peer(private_valkey.url) as client:
        yield client


@any_call
def test_a_server_that_comes_later_is_found(
    call: Call, private_valkey: ValkeyServer, open_client: Callable[[str], Redis]
) -> None:
    private_valkey.stop()
    client = open_client(private_valkey.url)
    assert_fails_in_time(partial(call, client))

    private_valkey.start()

    call(client)


@any_call
def test_a_server_that_restarts_is_found_again(
    call: Call, private_valkey: ValkeyServer, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    call(client)
    private_valkey.kill()
    assert_fails_in_time(partial(call, client))

    private_valkey.start()

    call(client)


@any_call
def test_a_restart_between_two_calls_goes_unnoticed(
    call: Call, private_valkey: ValkeyServer, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    call(client)
    private_valkey.stop()
    private_valkey.start()

    call(client)


@any_call
def test_a_black_hole_costs_one_time_out(
    call: Call,
    redis_url: str,
    proxy_to: Callable[[str], TcpProxy],
    open_client: Callable[[str], Redis],
) -> None:
    proxy = proxy_to(redis_url)
    client = open_client(proxy.url)
    call(client)
    proxy.blackhole()
    assert_fails_in_time(partial(call, client))  # on the connection that was there
    assert_fails_in_time(partial(call, client))  # on a new one, that cannot even say its name

    proxy.pass_through()

    call(client)


@any_call
def test_a_host_that_does_not_take_the_connection_costs_one_time_out(
    call: Call, open_client: Callable[[str], Redis]
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as queue:
        host, port = listener.getsockname()
        while True:  # fill the queue of connections that nobody accepts
            waiting = queue.enter_context(socket.socket())
            waiting.settimeout(0.2)
            try:
                waiting.connect((host, port))
            except TimeoutError:
                break

        assert_fails_in_time(partial(call, open_client(f"redis://{host}:{port}")))


@any_call
def test_a_frozen_server_costs_one_time_out(
    call: Call, private_valkey: ValkeyServer, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    call(client)
    private_valkey.pause()
    assert_fails_in_time(partial(call, client))

    private_valkey.resume()

    call(client)


def test_a_job_without_an_answer_is_not_sent_again_by_the_client(
    private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    client.ping()
    private_valkey.pause()
    assert_fails_in_time(lambda: notifier_on(client).deliver(jobs(1)))

    private_valkey.resume()

    wait_until(lambda: xadds_done(operator) > 0, what="the frozen server did the XADD")
    client.ping()  # nothing of an earlier attempt is left to come after this
    assert (xadds_done(operator), operator.xlen(STREAM)) == (1, 1)


def test_a_late_answer_is_never_taken_for_that_to_a_later_job(
    private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    client.ping()
    private_valkey.pause()
    assert_fails_in_time(lambda: notifier_on(client).deliver(jobs(1)))
    private_valkey.resume()
    wait_until(lambda: xadds_done(operator) > 0, what="the server has answered, too late")
    operator.replicaof("127.0.0.1", "1")

    # The late answer says that a job is on the stream; this one is not.
    with pytest.raises(RedisUnavailableError, match="READONLY"):
        notifier_on(client).deliver(jobs(2))


def test_a_server_that_became_a_replica_is_left_for_whoever_is_primary_now(
    private_valkey: ValkeyServer,
    operator: Redis,
    proxy_to: Callable[[str], TcpProxy],
    open_client: Callable[[str], Redis],
) -> None:
    proxy = proxy_to(private_valkey.url)
    client = open_client(proxy.url)
    deliver_one(client)
    operator.replicaof("127.0.0.1", "1")
    with pytest.raises(RedisUnavailableError, match="READONLY"):
        deliver_one(client)
    operator.replicaof("NO", "ONE")

    deliver_one(client)

    assert proxy.connections_total == 2


def test_a_full_server_is_an_outage_until_it_has_room(
    private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    operator.config_set("maxmemory", "1")
    with pytest.raises(RedisUnavailableError, match="OOM"):
        deliver_one(client)

    operator.config_set("maxmemory", "0")

    deliver_one(client)


@any_call
def test_a_password_that_is_wanted_all_at_once_is_an_outage_that_names_it(
    call: Call, private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    client = open_client(private_valkey.url)
    operator.config_set("requirepass", "wanted")
    with pytest.raises(RedisUnavailableError, match=r"password.*NOAUTH"):
        call(client)

    operator.config_set("requirepass", "")

    call(client)


@any_call
def test_a_changed_password_is_an_outage_until_it_is_ours_again(
    call: Call, private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    operator.config_set("requirepass", "hunter2/:@")
    client = open_client(private_valkey.url.replace("//", "//:hunter2%2F%3A%40@"))
    call(client)
    operator.config_set("requirepass", "another")
    operator.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(RedisUnavailableError, match=r"password.*WRONGPASS") as caught:
        call(client)
    assert "hunter2" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__cause__}"

    operator.config_set("requirepass", "hunter2/:@")

    call(client)


def test_missing_rights_are_an_outage_that_names_the_command(
    private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    operator.acl_setuser(
        "worker", enabled=True, passwords=["+hunter2"], keys=["*"], commands=["+client"]
    )
    client = open_client(private_valkey.url.replace("//", "//worker:hunter2@"))
    with pytest.raises(RedisUnavailableError, match=r"rights.*NOPERM.*xadd"):
        deliver_one(client)

    operator.acl_setuser(
        "worker", enabled=True, passwords=["+hunter2"], keys=["*"], commands=["+client", "+xadd"]
    )

    deliver_one(client)


@either_call
def test_a_connection_begins_with_nothing_but_its_name(
    call: Call, private_valkey: ValkeyServer, operator: Redis, open_client: Callable[[str], Redis]
) -> None:
    operator.config_resetstat()
    client = open_client(private_valkey.url)
    call(client)
    call(client)

    stats = {
        name.removeprefix("cmdstat_"): values["calls"]
        for name, values in operator.info("commandstats").items()
    }
    stats.pop("config|resetstat")
    assert stats == {"client|setname": 1, "publish" if call is publish_one else "xadd": 2}
    assert "pm-outbox-test" in [each["name"] for each in operator.client_list()]
