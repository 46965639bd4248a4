"""Send many commands in one round trip, and keep each one's answer.

On a connection itself: by redis-py's own pipeline, each command costs three times as much.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from redis import Redis, ResponseError
from redis.connection import AbstractConnection

from adapters.redis.errors import redis_errors

PIPELINE_LENGTH_MAX: Final = 100
"""A connection that breaks leaves this many commands at most in the dark."""

T = TypeVar("T")


def in_pipelines(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut *items* into parts of at most ``PIPELINE_LENGTH_MAX``, in order."""
    for start in range(0, len(items), PIPELINE_LENGTH_MAX):
        yield items[start : start + PIPELINE_LENGTH_MAX]


def send(client: Redis, commands: Sequence[bytes]) -> Sequence[object]:
    """Send *commands*, each packed as ``protocol`` does; return the answers in order.

    A command that the server refused is answered by an exception object, and the others
    are carried out all the same: this is no transaction.

    Raises:
        RedisUnavailableError: the answers are lost; any of the commands may have been
            carried out.
    """
    pool = client.connection_pool
    with redis_errors(client):
        connection = pool.get_connection()
        try:
            connection.send_packed_command([b"".join(commands)])  # type: ignore[no-untyped-call]
            return [_answer(connection) for _ in commands]
        except BaseException:
            # Answers that are still to come must never be taken for those to later commands.
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        finally:
            pool.release(connection)


def raise_first_refusal(client: Redis, answers: Sequence[object]) -> None:
    """Raise the first refusal among *answers*, if there is one, as RedisUnavailableError."""
    with redis_errors(client):
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer


def _answer(connection: AbstractConnection) -> object:
    try:
        return connection.read_response()
    except ResponseError as refusal:
        return refusal
