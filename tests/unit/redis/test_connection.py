"""What the client is built with, and which URLs are refused before anything is connected."""

import pytest
from redis import Redis

from adapters.redis.connection import build_client
from application.errors import MisconfiguredError

SECRET = "hunter2"


def client_of(url: str) -> Redis:
    return build_client(
        url,
        setting="REDIS_URL",
        client_name="pm-outbox",
        connect_timeout_s=1.5,
        socket_timeout_s=2.5,
    )


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1",
        "redis://127.0.0.1:1/",
        f"redis://:{SECRET}@cache.internal:6380/2",
        f"redis://worker:{SECRET}@[::1]:6380",
        "redis://h?db=3",
        f"rediss://worker:{SECRET}@h/0?ssl_cert_reqs=none&ssl_check_hostname=false",
        f"unix://:{SECRET}@/run/valkey.sock?db=1",
    ],
)
def test_a_usable_url_makes_a_client_without_connecting(url: str) -> None:
    with client_of(url) as client:
        assert client.connection_pool.get_connection_count()[0][0] == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        SECRET,
        f"http://:{SECRET}@h",
        f"REDIS://:{SECRET}@h",
        f"redis:/:{SECRET}@h",
        f"redis://:{SECRET}@",
        f"redis://:{SECRET}@h:port",
        f"redis://:{SECRET}@h:66000",
        f"redis://:{SECRET}@[::1",
        f"redis://:a/{SECRET}@h/0",
        f"redis://:a#{SECRET}@h/0",
        f"redis://:a?{SECRET}@h/0",
        f"redis://:1?{SECRET}=@h/0",
        f"redis://:{SECRET}@h/zero",
        f"redis://:{SECRET}@h/1/2",
        f"redis://:{SECRET}@h/²",
        f"redis://:{SECRET}@h?db=zero",
        f"redis://:{SECRET}@h?ssl_ca_certs=/ca.pem",
        f"rediss://:{SECRET}@h?ssl_cert_reqs=perhaps",
        f"unix://:{SECRET}@",
    ],
)
def test_an_unusable_url_is_refused_by_the_name_of_its_setting_alone(url: str) -> None:
    with pytest.raises(MisconfiguredError, match=r"^REDIS_URL is not a usable URL: ") as caught:
        client_of(url)

    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "option",
    [
        "socket_timeout=60",
        "socket_connect_timeout=60",
        "retry_on_timeout=yes",
        "retry_on_error=x",
        "health_check_interval=1",
        "max_connections=1",
        "protocol=3",
        "client_name=other",
        "no_such_option=1",
    ],
)
def test_a_url_cannot_override_what_the_settings_decide(option: str) -> None:
    with pytest.raises(MisconfiguredError, match="options other than"):
        client_of(f"redis://127.0.0.1?{option}")
