"""Where contestants meet: the servers of one run, and a fresh, equally filled database for each.

Postgres commits durably, TigerBeetle has its production limits: what is measured is what a
production machine would have to do.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

import psycopg
from redis import Redis

from adapters.postgres.migrations import apply_migrations
from benchmarks.payments import (
    Payment,
    accounts,
    freeze,
    insert,
    make_payments,
    map_accounts,
    order,
    random_ids,
    time_ordered_ids,
)
from entrypoints.sandbox.ledger import SandboxLedger, sandbox_ledger
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from entrypoints.sandbox.valkey_server import ValkeyServer, valkey_client

POSTGRES_SETTINGS: Final = {
    "shared_preload_libraries": "pg_stat_statements",
    # Off unless a section asks for it: it costs something for each statement.
    "pg_stat_statements.track": "none",
}
DURABILITY: Final = ("fsync", "synchronous_commit", "full_page_writes")
_PORTION: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A migrated database with authorized payments; their settling is not ordered yet."""

    database_url: str
    redis_url: str
    tigerbeetle_addresses: str
    payments: Sequence[Payment]

    def order(self) -> None:
        """Order the settling of every payment."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            order(connection, self.payments)

    def worker_settings(self, **settings: object) -> dict[str, str]:
        """Return a worker's environment; *settings* by their names without ``OUTBOX_``."""
        return {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "TIGERBEETLE_ADDRESSES": self.tigerbeetle_addresses,
            "TIGERBEETLE_CLUSTER_ID": str(CLUSTER_ID),
            **{f"OUTBOX_{name.upper()}": str(value) for name, value in settings.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """The servers of a run. *ordered*: ids of intents and pending transfers are UUIDv7s."""

    postgres: PostgresServer
    valkey: ValkeyServer
    ledger: SandboxLedger
    template: str
    ordered: bool
    random: Random = field(default_factory=lambda: Random(1))

    def payments(self, count: int) -> Sequence[Payment]:
        """Make *count* payments that nobody has yet."""
        new_id = (
            time_ordered_ids(self.random, start_ms=time.time_ns() // 1_000_000)
            if self.ordered
            else random_ids(self.random)
        )
        return make_payments(count, random=self.random, new_id=new_id)

    @contextmanager
    def field(self, events: int, *, with_ledger: bool = True) -> Iterator[Field]:
        """Make a fresh field with *events* payments; its database is gone at the end."""
        self.valkey.flush()
        name = self.postgres.create_database(template=self.template)
        url = self.postgres.url(name)
        payments = self.payments(events)
        self.add(url, payments, with_ledger=with_ledger)
        with psycopg.connect(url, autocommit=True) as connection:
            # Nobody is to pay for what the population left to be done.
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
        yield Field(
            database_url=url,
            redis_url=self.valkey.url,
            tigerbeetle_addresses=self.ledger.addresses,
            payments=payments,
        )
        self.postgres.drop_database(name)

    def add(self, url: str, payments: Sequence[Payment], *, with_ledger: bool) -> None:
        """Write *payments* into the database, and freeze their money where *with_ledger*."""
        for start in range(0, len(payments), _PORTION):
            portion = payments[start : start + _PORTION]
            with psycopg.connect(url, autocommit=True) as connection:
                insert(connection, portion)
            if with_ledger:
                freeze(self.ledger.ledger, portion)

    def redis(self) -> Redis:
        """Return a client for looking on."""
        return valkey_client(self.valkey.url)

    def conditions(self) -> dict[str, str]:
        """Return what the numbers depend on, as the servers themselves say it."""
        with psycopg.connect(self.postgres.url(), autocommit=True) as connection:
            shown = {
                name: str(connection.execute(f"SHOW {name}".encode()).fetchall()[0][0])
                for name in ("server_version", *DURABILITY)
            }
            commit_ms = _commit_ms(connection)
        return {
            "Postgres": ", ".join(
                [shown["server_version"], *(f"{name} {shown[name]}" for name in DURABILITY)]
            ),
            "one small commit": f"{commit_ms:.2f} ms (median)",
            # Without the place of its program, which is nobody's business.
            "ledger": self.ledger.name.partition(", /")[0],
            "ids": "in order of time (UUIDv7)" if self.ordered else "random (UUIDv4)",
        }


def _commit_ms(connection: psycopg.Connection, *, rounds: int = 51) -> float:
    connection.execute("CREATE TABLE IF NOT EXISTS public.forced (n integer)")
    times = []
    for number in range(rounds):
        started = time.perf_counter()
        connection.execute("INSERT INTO public.forced VALUES (%s)", [number])
        times.append((time.perf_counter() - started) * 1_000)
    connection.execute("DROP TABLE public.forced")
    return sorted(times)[rounds // 2]


@contextmanager
def arena(*, ordered: bool) -> Iterator[Arena]:
    """Start the servers; all of it is gone at the end of the block.

    Raises:
        ServerFailedError: a server cannot be had or does not start.
    """
    with ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer(durable=True, settings=POSTGRES_SETTINGS))
        valkey = stack.enter_context(ValkeyServer())
        ledger = stack.enter_context(sandbox_ledger(development=False))
        ledger.open_accounts(accounts())
        template = postgres.create_database()
        url = postgres.url(template)
        apply_migrations(url)
        with psycopg.connect(url, autocommit=True) as connection:
            map_accounts(connection)
        postgres.freeze_database(template)
        yield Arena(
            postgres=postgres, valkey=valkey, ledger=ledger, template=template, ordered=ordered
        )
