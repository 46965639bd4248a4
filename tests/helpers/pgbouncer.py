"""A PgBouncer in front of a Postgres, in the pool mode that a test asks for."""

import os
import shutil
import socket
from typing import Final

from entrypoints.sandbox.local_server import LocalServer
from entrypoints.sandbox.postgres_server import SUPERUSER, UNPRIVILEGED_USER, PostgresServer
from entrypoints.sandbox.resources import HOST

PROGRAM: Final = "pgbouncer"
HOW_TO_GET_ONE: Final = "put pgbouncer on PATH (on Debian: apt-get install pgbouncer)"


def find_pgbouncer() -> str | None:
    """Return the program's path, or None where there is none."""
    return shutil.which(PROGRAM, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


class PgBouncer(LocalServer):
    """One PgBouncer for every database of *postgres*; all clients are its superuser.

    *settings* are those of its section ``[pgbouncer]``.
    """

    name = "pgbouncer"

    def __init__(self, postgres: PostgresServer, *, pool_mode: str, **settings: str) -> None:
        super().__init__(user=UNPRIVILEGED_USER if os.geteuid() == 0 else None)
        self._postgres = postgres
        self._settings = {"pool_mode": pool_mode, **settings}

    def command(self) -> list[str]:
        """Write the file of settings; return the program, in the foreground."""
        program = find_pgbouncer()
        assert program is not None, HOW_TO_GET_ONE
        settings = {
            "listen_addr": HOST,
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "any",
            **self._settings,
        }
        upstream = f"host={HOST} port={self._postgres.port} user={SUPERUSER}"
        file = self.folder / "pgbouncer.ini"
        file.write_text(
            f"[databases]\n* = {upstream}\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in settings.items())
        )
        file.chmod(0o644)
        return [program, str(file)]

    def is_ready(self) -> bool:
        """Say whether it accepts connections."""
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def url(self, database_url: str) -> str:
        """Return *database_url*, through the pooler."""
        return database_url.replace(self._postgres.address, self.address)
