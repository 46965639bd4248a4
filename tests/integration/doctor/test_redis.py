"""What is found of a real Valkey, healthy and refusing in each way that it can."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from redis import Redis

from adapters.redis import probe_checks
from adapters.redis.connection import build_client
from adapters.redis.probe import RedisProbe
from application.errors import MisconfiguredError
from domain.findings import Finding, Verdict
from entrypoints.sandbox.resources import free_port
from entrypoints.sandbox.valkey_server import ValkeyServer, valkey_client
from tests.helpers.findings import faults, of, reds
from tests.helpers.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

STREAM = "stream.notifications.jobs"
PASSWORD = "hunter2"
SETTING = "REDIS_URL"
CHECKS = [
    ("server", probe_checks.server),
    ("publishing", probe_checks.publishing),
    ("appending", probe_checks.appending_to(STREAM)),
    ("keeping", probe_checks.keeping),
]
WORKER_RIGHTS = (f"~{STREAM}", "&intent.*", "+publish", "+xadd", "+client|setname")
DOCTOR_RIGHTS = ("+info", "+multi", "+type")


def examine(url: str, *, timeout_s: float = 30.0) -> Sequence[Finding]:
    make_client = partial(
        build_client,
        url,
        setting=SETTING,
        client_name="pm-outbox-test",
        connect_timeout_s=timeout_s,
        socket_timeout_s=timeout_s,
    )
    findings = RedisProbe(
        name="Redis", setting=SETTING, make_client=make_client, checks=CHECKS
    ).examine()
    assert PASSWORD not in repr(findings)
    return findings


@pytest.fixture
def server(private_valkey: ValkeyServer) -> Iterator[Redis]:
    """An operator's client of a server that the test may spoil."""
    with valkey_client(private_valkey.url) as client:
        yield client


def url_of_user(valkey: ValkeyServer, server: Redis, *rights: str) -> str:
    """Make a user with *rights* alone; return the URL that logs in as that user."""
    server.execute_command("ACL", "SETUSER", "worker", "on", f">{PASSWORD}", *rights)  # type: ignore[no-untyped-call]
    return valkey.url.replace("redis://", f"redis://worker:{PASSWORD}@")


def test_a_healthy_server_is_green(redis_url: str) -> None:
    findings = examine(redis_url)

    assert faults(findings) == []
    assert [finding.what for finding in findings] == [
        "reachable",
        *(what for what, _ in CHECKS),
    ]


def test_nothing_is_written_and_nobody_hears_anything(redis_url: str) -> None:
    with valkey_client(redis_url) as client, client.pubsub() as listener:
        listener.psubscribe("*")
        assert listener.get_message(timeout=10.0) is not None

        examine(redis_url)

        client.publish("end", "")
        heard = listener.get_message(timeout=10.0)
        assert heard is not None
        assert heard["channel"] == b"end"
        assert client.keys() == []


def test_a_stream_that_is_there_stays_as_it_is(redis_url: str) -> None:
    with valkey_client(redis_url) as client:
        client.xgroup_create(STREAM, "readers", mkstream=True)

        assert faults(examine(redis_url)) == []
        assert client.xlen(STREAM) == 0


def test_the_rights_of_the_worker_are_enough_for_what_it_does(
    private_valkey: ValkeyServer, server: Redis
) -> None:
    url = url_of_user(private_valkey, server, *WORKER_RIGHTS)

    findings = examine(url)

    assert reds(findings) == []
    assert of(findings, "appending").is_ok
    assert faults(examine(url_of_user(private_valkey, server, *DOCTOR_RIGHTS))) == []


@pytest.mark.parametrize(
    ("lost", "red"),
    [
        ("-publish", "publishing"),
        ("-xadd", "appending"),
        ("resetchannels", "publishing"),
        ("resetkeys", "appending"),
        ("-client|setname", "reachable"),
    ],
)
def test_a_right_that_is_missing_is_red(
    private_valkey: ValkeyServer, server: Redis, lost: str, red: str
) -> None:
    url = url_of_user(private_valkey, server, *WORKER_RIGHTS, *DOCTOR_RIGHTS, lost)

    findings = examine(url)

    assert reds(findings) == [red]
    assert "NOPERM" in of(findings, red).detail
    assert "+client|setname, +publish on &intent.*, +xadd" in of(findings, red).remedy


def test_a_wrong_password_is_red(private_valkey: ValkeyServer, server: Redis) -> None:
    url = url_of_user(private_valkey, server, *WORKER_RIGHTS)

    (finding,) = examine(url.replace(PASSWORD, f"not-{PASSWORD}"))

    assert "WRONGPASS" in finding.detail
    assert finding.remedy == f"put the right user and password into {SETTING}"


def test_no_password_where_one_is_asked_for_is_red(
    private_valkey: ValkeyServer, server: Redis
) -> None:
    server.config_set("requirepass", PASSWORD)

    (finding,) = examine(private_valkey.url)

    assert "NOAUTH" in finding.detail
    assert finding.remedy == f"put the right user and password into {SETTING}"


def test_a_full_server_is_red(private_valkey: ValkeyServer, server: Redis) -> None:
    server.config_set("maxmemory", 1)

    findings = examine(private_valkey.url)

    assert reds(findings) == ["appending"]
    assert "OOM" in of(findings, "appending").detail
    assert "maxmemory" in of(findings, "appending").remedy


def test_a_server_that_may_evict_the_stream_is_a_warning(
    private_valkey: ValkeyServer, server: Redis
) -> None:
    server.config_set("maxmemory", 10**9)
    server.config_set("maxmemory-policy", "allkeys-lru")

    (fault,) = faults(examine(private_valkey.url))

    assert (fault.what, fault.verdict) == ("keeping", Verdict.WARNING)
    assert "noeviction" in fault.remedy


def test_a_replica_is_red_for_both_uses(private_valkey: ValkeyServer, server: Redis) -> None:
    server.replicaof("127.0.0.1", str(free_port()))

    findings = examine(private_valkey.url)

    # It takes a PUBLISH without a word.
    assert reds(findings) == ["server", "appending"]
    assert "is a replica" in of(findings, "server").detail
    assert "READONLY" in of(findings, "appending").detail
    assert (
        of(findings, "appending").remedy == f"let {SETTING} lead to the primary, not to a replica"
    )


def test_a_server_that_refuses_for_a_reason_of_its_own_is_red(
    private_valkey: ValkeyServer, server: Redis
) -> None:
    server.config_set("min-replicas-to-write", 1)

    findings = examine(private_valkey.url)

    assert reds(findings) == ["appending"]
    assert "NOREPLICAS" in of(findings, "appending").detail


def test_a_key_of_another_kind_in_place_of_the_stream_is_red(redis_url: str) -> None:
    with valkey_client(redis_url) as client:
        client.set(STREAM, "x")

        findings = examine(redis_url)

    assert reds(findings) == ["appending"]
    assert of(findings, "appending").detail == f"{STREAM} is a string"


def test_a_server_that_is_away_is_red() -> None:
    (finding,) = examine(f"redis://:{PASSWORD}@127.0.0.1:{free_port()}")

    assert (finding.what, finding.verdict) == ("reachable", Verdict.RED)
    assert SETTING in finding.remedy


def test_a_server_behind_a_black_hole_is_red_within_the_time_out(
    redis_url: str, proxy_to: Callable[[str], TcpProxy]
) -> None:
    proxy = proxy_to(redis_url)
    proxy.blackhole()

    (finding,) = examine(proxy.url, timeout_s=0.5)

    assert (finding.what, finding.verdict) == ("reachable", Verdict.RED)


def test_a_url_that_is_none_is_told_before_anything_is_examined() -> None:
    with pytest.raises(MisconfiguredError, match=SETTING):
        examine(f"http://:{PASSWORD}@host")
