"""Is the database one that the worker can work on?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from adapters.postgres import (
    probe_growth,
    probe_pooler,
    probe_rehearsal,
    probe_schema,
    probe_server,
    probe_wake_up,
)
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors
from adapters.postgres.probe_connection import probe_connection
from application.errors import DatabaseUnavailableError, OutboxError
from domain.findings import Examined, Finding, Verdict
from domain.sanitising import sanitise

_EXAMINED: Final = Examined("Postgres")

Check = Callable[[BoundedConnection, Examined], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresProbe:
    """Fulfils ``Probe``. Connecting and each answer take *timeout_s* at most.

    *connections_needed* is how many connections a worker holds at the same time. *listens* and
    *is_exclusive* are whether it wants a session of its own, and whether it needs one.
    """

    dsn: str
    timeout_s: float
    connections_needed: int
    listens: bool = True
    is_exclusive: bool = False
    name: str = _EXAMINED.subject

    def examine(self) -> Sequence[Finding]:
        """See ``Probe.examine``."""
        findings: list[Finding] = []
        try:
            with probe_connection(self.dsn, timeout_s=self.timeout_s) as connection:
                findings.append(_reachable(connection))
                for what, check in self._checks(findings):
                    findings.append(_checked(connection, what, check))
        except OutboxError as error:
            what = "answers" if findings else "reachable"
            findings.append(_EXAMINED.red(what, sanitise(str(error)), _remedy(error)))
        return findings

    def _checks(self, findings: Sequence[Finding]) -> Iterator[tuple[str, Check]]:
        """Yield what to check next, with its name, by what was found so far.

        Without a table, or without a right, what builds on it would only repeat the fault,
        and less clearly.
        """
        yield "version", probe_server.version
        yield "writable", probe_server.writable
        yield (
            "connections",
            partial(probe_server.connections, needed=self.connections_needed),
        )
        if findings[-1].verdict is not Verdict.RED:
            yield (
                "pooler",
                partial(
                    probe_pooler.pooler,
                    dsn=self.dsn,
                    timeout_s=self.timeout_s,
                    listens=self.listens,
                    is_exclusive=self.is_exclusive,
                ),
            )
        yield "schema", probe_schema.schema
        has_schema = findings[-1].verdict is not Verdict.RED
        yield "migrations", probe_schema.migrations
        if has_schema:
            yield "rights", probe_schema.rights
            yield "event ids", probe_server.event_ids
            yield "wake-up", probe_wake_up.wake_up
            yield "dead rows", probe_growth.dead_rows
            yield "oldest snapshot", probe_growth.oldest_snapshot
        if all(finding.verdict is not Verdict.RED for finding in findings):
            yield "statements", probe_rehearsal.statements


def _reachable(connection: BoundedConnection) -> Finding:
    info = connection.info
    detail = f"database {info.dbname!r} as user {info.user!r} at {info.host}"
    return _EXAMINED.ok("reachable", sanitise(detail))


def _checked(connection: BoundedConnection, what: str, check: Check) -> Finding:
    """Run one check; its own failure is its finding, and only a lost connection ends all."""
    try:
        with translated_errors():
            return check(connection, _EXAMINED)
    except OutboxError as error:
        if connection.closed:
            raise
        return _EXAMINED.red(what, sanitise(str(error)), "mend what the message names")


def _remedy(error: OutboxError) -> str:
    if isinstance(error, DatabaseUnavailableError):
        return "start Postgres, or correct host and port in DATABASE_URL"
    return "correct DATABASE_URL: user, password and database"
