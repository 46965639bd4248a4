"""Turn everything that Redis or its client raises into ``RedisUnavailableError``.

That includes a refused login, missing rights and a read-only or full server. Nobody has to
restart the worker once such a thing is mended, so the caller must go on trying; and it
never stops settlements (DESIGN §8), as a misconfigured database would.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis import AuthenticationError, Redis, RedisError
from redis.exceptions import AuthorizationError, NoPermissionError

from application.errors import RedisUnavailableError

_LOGIN_ERRORS: Final = (AuthenticationError, AuthorizationError, NoPermissionError)


@contextmanager
def redis_errors(client: Redis) -> Iterator[None]:
    """Translate what the block raises, and start afresh after it.

    The idle connections are dropped: after a fail-over the name leads to another server,
    and one that has just become a replica would refuse writes for as long as we stay on it.
    """
    try:
        yield
    except (RedisError, OSError) as error:
        client.connection_pool.disconnect(inuse_connections=False)
        raise RedisUnavailableError(_message(error)) from error


def _message(error: RedisError | OSError) -> str:
    # redis-py cuts the code ("READONLY") off the text of the errors that it knows.
    code = getattr(error, "status_code", None)
    text = f"{code} {error}" if code else str(error)
    if isinstance(error, _LOGIN_ERRORS):
        return f"Redis refused the user, the password or the rights of the user: {text}"
    return text or type(error).__name__
