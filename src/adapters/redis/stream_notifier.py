"""Push jobs on the Redis stream that the Notifications Service reads (DESIGN §3)."""

import time
from collections.abc import Mapping
from typing import Final

from redis import Redis

from adapters.redis.errors import redis_errors
from adapters.redis.pipeline import in_pipelines, raise_first_refusal, send
from adapters.redis.protocol import opening, word
from application.errors import RedisUnavailableError
from application.ports.notification_queue import JobKey

BUDGET_S: Final = 30.0
"""Far below what ends a transaction that idles: its jobs would all come again, each time anew."""


class RedisStreamNotifier:
    """``Notifier`` by XADD: one entry a job, its JSON in *field*. Safe to share between threads.

    *maxlen* trims the stream to about that many entries, read or not, so it must lie far
    above any backlog; None never trims. No part of a delivery begins after *budget_s*.
    """

    def __init__(
        self,
        client: Redis,
        *,
        stream: str,
        field: str,
        maxlen: int | None,
        budget_s: float = BUDGET_S,
    ) -> None:
        self._client = client
        self._budget_s = budget_s
        trim = () if maxlen is None else ("MAXLEN", "~", str(maxlen))
        self._xadd = opening("XADD", stream, *trim, "*", field, more=1)

    def deliver(self, jobs: Mapping[JobKey, str]) -> frozenset[JobKey]:
        """Append in order; stop at a part that Redis does not take whole, or when time is up.

        What was confirmed before that is returned, not lost in an error: those jobs would
        else be on the stream twice. If Redis is away, the next call will say so.
        """
        confirmed: set[JobKey] = set()
        deadline_s = time.monotonic() + self._budget_s
        try:
            for part in in_pipelines(list(jobs.items())):
                if confirmed and time.monotonic() >= deadline_s:
                    break
                answers = send(self._client, [self._xadd + word(job.encode()) for _, job in part])
                confirmed.update(
                    key
                    for (key, _), answer in zip(part, answers, strict=True)
                    if not isinstance(answer, Exception)
                )
                raise_first_refusal(self._client, answers)
        except RedisUnavailableError:
            if not confirmed:
                raise
        return frozenset(confirmed)

    def probe(self) -> None:
        """See ``Notifier.probe``; it takes no rights but those of connecting."""
        pool = self._client.connection_pool
        with redis_errors(self._client):
            # A connection that is there says nothing of the server. A new one logs in.
            pool.disconnect(inuse_connections=False)
            pool.release(pool.get_connection())
