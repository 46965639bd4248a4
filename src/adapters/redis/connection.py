"""Build the Redis client: explicit time-outs, and nothing repeated behind our back.

A push job that is sent twice is on the stream twice, so only the relay may repeat one.
"""

from typing import Final
from urllib.parse import parse_qsl, urlsplit

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from application.errors import MisconfiguredError

_URL_OPTIONS: Final = (
    "db",
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_keyfile",
    "ssl_password",
)
"""What a URL may say after its ``?``. redis-py lets it override every argument, time-outs and
retries included, and meets an unknown one only at the first connection."""


def build_client(
    url: str,
    *,
    setting: str,
    client_name: str,
    connect_timeout_s: float,
    socket_timeout_s: float,
    connections_max: int = 4,
) -> Redis:
    """Return a client for *url* that connects at its first command, and again after a fault.

    ``connect_timeout_s`` bounds the attempt at each address that the host name has,
    ``socket_timeout_s`` each wait for the server to take a pipeline, or to send something. Each
    thread that is in a call holds a connection; more than ``connections_max`` at once get an error.
    ``client_name`` is what ``CLIENT LIST`` shows: no spaces.

    Raises:
        MisconfiguredError: *url*, the value of *setting*, is not usable.
    """
    fault = _url_fault(url)
    if fault is not None:
        raise _misconfigured(setting, fault)
    try:
        client = Redis.from_url(
            url,
            client_name=client_name,
            socket_connect_timeout=connect_timeout_s,
            socket_timeout=socket_timeout_s,
            max_connections=connections_max,
            retry=Retry(NoBackoff(), 0),
            # RESP3 would turn maintenance notifications on, and with them off the check
            # that a connection has no answers left over before it is used again.
            protocol=2,
            # No CLIENT SETINFO: two round trips, and an error in the statistics of old servers.
            driver_info=None,
        )
        # Made and thrown away, never connected: it tells now what is wrong with the options.
        client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)
    except (RedisError, TypeError, ValueError):
        # The chained error would print pieces of the URL, perhaps of the password.
        raise _misconfigured(setting, "an option has a wrong value") from None
    return client


def _url_fault(url: str) -> str | None:
    """Return what is wrong with *url*, without quoting any of it; None when it is usable."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
        options = parse_qsl(parts.query, strict_parsing=True) if parts.query else []
    except ValueError:
        return "host, port or options cannot be read"
    path = parts.path.removeprefix("/")
    if not url.startswith(("redis://", "rediss://", "unix://")):
        return "it does not begin with redis://, rediss:// or unix://"
    if parts.fragment:
        return "there is a '#' in it"
    if any(name not in _URL_OPTIONS for name, _ in options):
        return f"it has options other than {', '.join(_URL_OPTIONS)}"
    if parts.scheme == "unix":
        return None if path else "it names no socket"
    if not host:
        return "it names no host"
    if path and not (path.isascii() and path.isdigit()):
        return "the database is not a number"
    return None


def _misconfigured(setting: str, fault: str) -> MisconfiguredError:
    return MisconfiguredError(
        f"{setting} is not a usable URL: {fault}. Expected redis://[user:password@]host[:port][/db]"
        " (rediss:// for TLS) or unix:///path, special characters percent-encoded"
    )
