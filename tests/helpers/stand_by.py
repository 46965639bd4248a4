"""A Postgres and a second one that follows it, to take its place."""

from typing import Final

import psycopg

from entrypoints.sandbox.postgres_server import SUPERUSER, PostgresServer
from entrypoints.sandbox.resources import HOST
from entrypoints.sandbox.waiting import wait_until

REPLICATING: Final = {"wal_level": "replica", "max_wal_senders": "4"}
PROMOTION_TIMEOUT_S: Final = 60


class Primary(PostgresServer):
    """The one that others can follow."""

    def __init__(self) -> None:
        super().__init__(settings=REPLICATING)

    def lose_nothing(self) -> None:
        """From now on, acknowledge a commit only when a stand-by has it, too."""
        self._tell("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._tell("SELECT pg_reload_conf()")
        wait_until(
            lambda: self._tell("SELECT sync_state FROM pg_stat_replication") == [("sync",)],
            what="the stand-by is in step",
        )

    def _tell(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []


class StandBy(PostgresServer):
    """A copy of *primary* that follows it, and answers readers, until it is promoted."""

    def __init__(self, primary: Primary) -> None:
        self._primary = primary
        super().__init__(settings=REPLICATING)

    def make_cluster(self) -> None:
        """Copy the primary's."""
        self.run(
            [
                str(self.binaries / "pg_basebackup"),
                f"--pgdata={self.data}",
                f"--dbname=host={HOST} port={self._primary.port} user={SUPERUSER}",
                "--checkpoint=fast",
                "--write-recovery-conf",
                "--no-sync",
            ]
        )

    def promote(self) -> None:
        """Take writes from now on."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            row = connection.execute(
                "SELECT pg_promote(wait_seconds => %s)", [PROMOTION_TIMEOUT_S]
            ).fetchone()
        assert row == (True,), self.log
