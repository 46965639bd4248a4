"""What is looked at on a Redis, and what to do about each of its refusals."""

from collections.abc import Callable
from typing import Any, Final, cast
from uuid import uuid4

from redis import AuthenticationError, OutOfMemoryError, ReadOnlyError, Redis, ResponseError
from redis.connection import AbstractConnection
from redis.exceptions import NoPermissionError

from adapters.redis.status_publisher import CHANNEL_PREFIX
from domain.findings import Examined, Finding

VERSION_MIN: Final = (5, 0)
"""The first release with streams."""

# An entry must have a greater id. That is found last of all, when nothing was written yet.
_IMPOSSIBLE_ID: Final = "0-0"
_REFUSED_FOR_ITS_ID: Final = "must be greater than 0-0"

Check = Callable[[Redis, Examined], Finding]


def server(client: Redis, examined: Examined) -> Finding:
    """Is the server of a sufficient version, and a primary?"""
    what = "server"
    info = _info(client)
    if info is None:
        return examined.warning(
            what,
            "version and role are not known: the user may not run INFO",
            "let the user run INFO (+info); a replica would swallow what is published there",
        )
    name = info.get("server_name", "redis").capitalize()
    version = str(info.get("valkey_version") or info.get("redis_version") or "0")
    if tuple(int(part) for part in version.split(".")[:2]) < VERSION_MIN:
        oldest = ".".join(map(str, VERSION_MIN))
        return examined.red(what, f"{name} {version}", f"upgrade it to {oldest} or later")
    if info.get("role") != "master":
        return examined.red(
            what,
            f"{name} {version} is a replica: what is published there is not heard at the"
            " primary, without any error",
            "let the URL lead to the primary",
        )
    return examined.ok(what, f"{name} {version}, primary")


def publishing(client: Redis, examined: Examined) -> Finding:
    """Does the server take a PUBLISH on an intent's channel? Nobody hears this one."""
    what = "publishing"
    connection = client.connection_pool.get_connection()
    try:
        # Judged as always, then queued, then forgotten with the connection.
        try:
            _send(connection, "MULTI")
        except NoPermissionError:
            return examined.warning(
                what,
                "not checked: the user may not run MULTI",
                "let the user run MULTI (+multi), which only this check asks for; or see that the"
                f" user may PUBLISH (+publish) on &{CHANNEL_PREFIX}*",
            )
        _send(connection, "PUBLISH", f"{CHANNEL_PREFIX}{uuid4()}", "{}")
    finally:
        connection.disconnect()  # type: ignore[no-untyped-call]
        client.connection_pool.release(connection)
    return examined.ok(what, f"PUBLISH on {CHANNEL_PREFIX}* is taken")


def appending_to(stream: str) -> Check:
    """Return the check whether the server takes an XADD to *stream*; nothing is added."""

    def appending(client: Redis, examined: Examined) -> Finding:
        what = "appending"
        try:
            client.xadd(stream, {"doctor": ""}, id=_IMPOSSIBLE_ID)
        except ResponseError as error:
            if _REFUSED_FOR_ITS_ID not in str(error):
                raise
        kind = _kind_of(client, stream)
        if kind not in (None, "none", "stream"):
            return examined.red(what, f"{stream} is a {kind}", f"rename or delete the key {stream}")
        return examined.ok(what, f"XADD to {stream} is taken")

    return appending


def keeping(client: Redis, examined: Examined) -> Finding:
    """Does the server keep what it was given, or does it evict under pressure?"""
    what = "keeping"
    info = _info(client)
    if info is None:
        return examined.warning(
            what,
            "not checked: the user may not run INFO",
            "let the user run INFO (+info), or see that maxmemory-policy is noeviction",
        )
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if info.get("maxmemory", 0) and policy.startswith("allkeys"):
        return examined.warning(
            what,
            f"maxmemory-policy is {policy}: the whole stream may be evicted, push jobs with it",
            "set maxmemory-policy noeviction (or volatile-*), or give push jobs a Redis of their"
            " own by NOTIFICATIONS_REDIS_URL",
        )
    return examined.ok(what, f"the stream is never evicted ({policy})")


def remedy(error: BaseException | None, setting: str) -> str:
    """Return what to do about *error* of the Redis that *setting* leads to."""
    match error:
        case AuthenticationError():
            return f"put the right user and password into {setting}"
        case NoPermissionError():
            return (
                f"give the user of {setting} what the worker needs: +client|setname, +publish on"
                f" &{CHANNEL_PREFIX}*, +xadd on ~stream.notifications.jobs"
            )
        case ReadOnlyError():
            return f"let {setting} lead to the primary, not to a replica"
        case OutOfMemoryError():
            return "free memory on the server or raise its maxmemory"
        case ResponseError():
            return "mend what the server's message names"
        case _:
            return f"start Redis, or correct host, port and scheme in {setting}"


def _send(connection: AbstractConnection, *command: str) -> None:
    """Send one command and wait for its answer, raising a refusal."""
    connection.send_command(*command)  # type: ignore[no-untyped-call]
    connection.read_response()


def _info(client: Redis) -> dict[str, Any] | None:
    """Return what the server tells of itself; None when the user may not ask."""
    try:
        return client.info()
    except NoPermissionError:
        return None


def _kind_of(client: Redis, key: str) -> str | None:
    try:
        return cast(bytes, client.type(key)).decode()
    except NoPermissionError:
        return None
