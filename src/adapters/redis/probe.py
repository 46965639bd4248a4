"""Does Redis take what the worker writes? Asked by commands that leave nothing behind.

A server judges a command (login, rights on command, key and channel, memory, disk, replica)
before it carries it out. So the worker's own commands are sent, on its own key and channels,
in a form that has no effect. Rights that are just wide enough for the worker will do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from redis import Redis

from adapters.redis.errors import redis_errors
from adapters.redis.probe_checks import Check, remedy
from application.errors import RedisUnavailableError
from domain.findings import Examined, Finding
from domain.sanitising import sanitise


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisProbe:
    """Fulfils ``Probe`` for one use of Redis, which *checks* stand for, by name.

    *make_client* builds a client of the URL in *setting*, or raises MisconfiguredError.
    """

    name: str
    setting: str
    make_client: Callable[[], Redis]
    checks: Sequence[tuple[str, Check]]

    def examine(self) -> Sequence[Finding]:
        """See ``Probe.examine``."""
        findings: list[Finding] = []
        with self.make_client() as client:
            for what, check in (_REACHABLE, *self.checks):
                findings.append(self._checked(client, what, check))
                if not findings[0].is_ok:
                    break
        return findings

    def _checked(self, client: Redis, what: str, check: Check) -> Finding:
        examined = Examined(self.name)
        try:
            with redis_errors(client):
                return check(client, examined)
        except RedisUnavailableError as error:
            return examined.red(what, sanitise(str(error)), remedy(error.__cause__, self.setting))


def _reachable(client: Redis, examined: Examined) -> Finding:
    # Connecting also logs in, names the connection and selects the database.
    client.connection_pool.release(client.connection_pool.get_connection())
    return examined.ok("reachable", "connected and logged in")


_REACHABLE: Final = ("reachable", _reachable)
