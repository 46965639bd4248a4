"""The wiring of ``outbox-worker doctor``: what it examines, and with which settings."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from adapters.memory.probe import RemoteLedgerProbe
from adapters.memory.remote_ledger import RemoteLedger
from adapters.postgres.probe import PostgresProbe
from adapters.redis import probe_checks
from adapters.redis.probe import RedisProbe
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.probe import TigerBeetleProbe
from application.accounts_probe import AccountsProbe
from application.ports.ledger import Ledger
from application.ports.probe import Probe
from application.use_cases.diagnose import Diagnose
from domain.concluding import Rules
from entrypoints.adapter_builders import build_account_map
from entrypoints.redis_builders import build_notifications_redis, build_redis
from entrypoints.settings import NOTIFICATIONS_STREAM, Settings, connections_needed
from entrypoints.worker_builders import known_fee_codes

_PATIENCE_S: Final = 10.0
"""On top of the ledger's deadline: time-outs of Postgres and Redis, and a few round trips."""


def build_diagnose(settings: Settings, ledger: Ledger, rules: Rules) -> Diagnose:
    """Return the diagnosis of everything that *settings* name; probes share the one *ledger*."""
    dsn = settings.database_url.get_secret_value()
    timeout_s = settings.connect_timeout_ms / 1_000
    probes: Sequence[Probe] = [
        PostgresProbe(
            dsn=dsn,
            timeout_s=timeout_s,
            connections_needed=connections_needed(settings),
            listens=settings.wake_up == "auto",
            is_exclusive=settings.exclusive,
        ),
        *_ledger_probes(settings, ledger),
        AccountsProbe(
            account_map=build_account_map(settings),
            ledger=ledger,
            fee_codes=known_fee_codes(rules.fee),
        ),
        RedisProbe(
            name="Redis, live status",
            setting="REDIS_URL",
            make_client=partial(build_redis, settings),
            checks=[
                ("server", probe_checks.server),
                ("publishing", probe_checks.publishing),
            ],
        ),
        RedisProbe(
            name="Redis, push jobs",
            setting="NOTIFICATIONS_REDIS_URL" if settings.notifications_redis_url else "REDIS_URL",
            make_client=partial(build_notifications_redis, settings),
            checks=[
                ("server", probe_checks.server),
                ("appending", probe_checks.appending_to(NOTIFICATIONS_STREAM)),
                ("keeping", probe_checks.keeping),
            ],
        ),
    ]
    return Diagnose(probes=probes, timeout_s=settings.ledger_deadline_ms / 1_000 + _PATIENCE_S)


def _ledger_probes(settings: Settings, ledger: Ledger) -> Sequence[Probe]:
    match ledger:
        case TigerBeetleLedger():
            return [TigerBeetleProbe(addresses=settings.tigerbeetle_addresses, ledger=ledger)]
        case RemoteLedger():
            return [RemoteLedgerProbe(ledger=ledger)]
        case _:  # of somebody's own: whether it answers, its accounts tell
            return []
