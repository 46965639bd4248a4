"""Send many commands in one round trip, and keep each one's answer."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from redis import Redis
from redis.client import Pipeline

from adapters.redis.errors import redis_errors

PIPELINE_LENGTH_MAX: Final = 100
"""A connection that breaks leaves this many commands at most in the dark."""

T = TypeVar("T")


def in_pipelines(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut *items* into parts of at most ``PIPELINE_LENGTH_MAX``, in order."""
    for start in range(0, len(items), PIPELINE_LENGTH_MAX):
        yield items[start : start + PIPELINE_LENGTH_MAX]


def send(
    client: Redis, items: Sequence[T], add_command: Callable[[Pipeline, T], object]
) -> Sequence[object]:
    """Send the command that *add_command* adds for each item; return the answers in order.

    A command that the server refused is answered by an exception object, and the others
    are carried out all the same: this is no transaction.

    Raises:
        RedisUnavailableError: the answers are lost; any of the commands may have been
            carried out.
    """
    with redis_errors(client), client.pipeline(transaction=False) as pipeline:
        for item in items:
            add_command(pipeline, item)
        # raise_on_error would quote the refused command, so a person's payment, in the message.
        return pipeline.execute(raise_on_error=False)


def raise_first_refusal(client: Redis, answers: Sequence[object]) -> None:
    """Raise the first refusal among *answers*, if there is one, as RedisUnavailableError."""
    with redis_errors(client):
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
