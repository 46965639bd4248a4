"""Settings, all from the environment.

``DATABASE_URL``, ``REDIS_URL``, ``NOTIFICATIONS_REDIS_URL`` and ``TIGERBEETLE_*`` are PM's
names; everything of ours starts with ``OUTBOX_``. Times are integers with their unit in the
name. Secrets are never printed, not even by an error about another setting.
"""

import os
import re
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field, PositiveInt, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from adapters.memory import remote_ledger
from adapters.tigerbeetle.addresses import address_fault
from application.errors import OutboxError
from domain.chains import REQUEST_EVENTS_MAX

PREFIX: Final = "OUTBOX_"
NOTIFICATIONS_STREAM: Final = "stream.notifications.jobs"
"""Fixed by the sources: the Notifications Service reads this stream."""

Milliseconds = Annotated[int, Field(ge=1, le=24 * 60 * 60 * 1_000)]
"""A time of at most a day: threads cannot wait for ever so long."""


class SettingsError(OutboxError):
    """A setting is missing or bad; the message is one line that names each of them."""


class DatabaseSettings(BaseSettings):
    """What a command needs that only touches Postgres."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
    )

    database_url: Annotated[SecretStr, Field(validation_alias="DATABASE_URL")]
    log_format: Literal["auto", "json", "console"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class LiveStatusSettings(DatabaseSettings):
    """What a command needs that touches Postgres and the Redis of live statuses."""

    redis_url: Annotated[SecretStr, Field(validation_alias="REDIS_URL")]
    redis_timeout_ms: Milliseconds = 2_000


class LedgerSettings(DatabaseSettings):
    """What a command needs that touches Postgres and the ledger, and no Redis."""

    tigerbeetle_addresses: Annotated[str, Field(validation_alias="TIGERBEETLE_ADDRESSES")]
    """``host:port`` of every replica, separated by commas; names are resolved. For trying
    things out, ``memory://host:port`` is a ledger that the demo serves."""
    tigerbeetle_cluster_id: Annotated[
        int, Field(validation_alias="TIGERBEETLE_CLUSTER_ID", ge=0, lt=2**128)
    ]

    ledger_deadline_ms: Annotated[int, Field(ge=1_000, le=600_000)] = 10_000
    """A new client needs 0.6 s for its first answer; what is shorter would never get one."""
    ledger_request_events_max: Annotated[int, Field(ge=1, le=REQUEST_EVENTS_MAX)] = (
        REQUEST_EVENTS_MAX
    )
    connect_timeout_ms: Milliseconds = 5_000
    statement_timeout_ms: Annotated[int, Field(ge=1_000, le=24 * 60 * 60 * 1_000)] = 30_000
    """What is shorter would cut off sound statements of a batch, each time anew."""

    psp_fee_code: Annotated[int, Field(ge=1, lt=2**16)] = 50
    """TigerBeetle's code of PSP fee transfers. Has to be what PM uses as ``PSP_FEE``; the
    default is ours, since the sources name the code and give no number."""
    psp_fee_debit_account: Annotated[str, Field(min_length=1)] = "revenue.{currency}"
    psp_fee_credit_account: Annotated[str, Field(min_length=1)] = "nostro.{psp}.{currency}"
    """Account codes in ``pm.tb_account_map``. ``{psp}`` stands for the PSP's name in lower
    case, ``{currency}`` for the intent's currency."""

    @field_validator("tigerbeetle_cluster_id", mode="before")
    @classmethod
    def _plain_integer(cls, value: object) -> object:
        # Pydantic also takes "1_000" and "1.0"; a cluster id that somebody has to compare
        # with `tigerbeetle format --cluster` should look the same there.
        if isinstance(value, str) and not value.strip().isdecimal():
            raise ValueError("must be a decimal integer")
        return value

    @field_validator("psp_fee_debit_account", "psp_fee_credit_account")
    @classmethod
    def _known_placeholders(cls, value: str) -> str:
        if set(re.findall(r"\{[^}]*\}?|\}", value)) - {"{psp}", "{currency}"}:
            raise ValueError("knows only the placeholders {psp} and {currency}")
        return value

    @field_validator("tigerbeetle_addresses")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        fault = None if value.startswith(remote_ledger.SCHEME) else address_fault(value)
        if fault is not None:
            raise ValueError(fault)
        return value


class Settings(LedgerSettings, LiveStatusSettings):
    """Every setting, with its default. A field's own name, in capitals, follows ``OUTBOX_``."""

    notifications_redis_url: Annotated[
        SecretStr | None, Field(validation_alias="NOTIFICATIONS_REDIS_URL")
    ] = None
    """A Redis of its own for push jobs; without it they go to ``REDIS_URL``."""

    lanes: Annotated[int, Field(ge=1, le=64)] = 2
    batch_size: Annotated[int, Field(ge=1, le=8_000)] = 1_000
    tick_ms: Milliseconds = 1_000
    """The longest that a lane without work sleeps."""
    first_pause_ms: Milliseconds = 50
    """How long it sleeps at first; doubles up to ``tick_ms`` while it finds nothing."""
    wake_up: Literal["auto", "off"] = "auto"
    """``auto``: listen on a connection more for what `outbox-worker wake-up on` switches on."""
    exclusive: bool = False
    """Claim only while no other exclusive worker does; ``run --exclusive`` sets it."""
    grace_ms: Milliseconds = 15_000
    """After SIGTERM: how long what is in flight may take."""

    give_up: Literal["auto", "never"] = "auto"
    """``never``: no event is ever set to ``failed`` (the sources' rule)."""
    attempts_max: Annotated[int, Field(ge=1, le=1_000_000)] = 12
    attempts_max_not_found: Annotated[int, Field(ge=1, le=1_000_000)] = 5
    backoff_first_ms: Milliseconds = 1_000
    backoff_max_ms: Milliseconds = 300_000
    outage_backoff_max_ms: Milliseconds = 10_000
    """The longest pause of a loop while a part is away."""

    ledger_budget_ms: Milliseconds = 30_000
    """How long a batch, whose locks are in PM's way, may keep asking the ledger."""

    status_full: bool = False
    """Publish ``{"intentId","status","updatedAt"}`` instead of ``{"status"}``."""
    status_queue_size_max: PositiveInt = 10_000
    notifications_field: Annotated[str, Field(min_length=1)] = "payload"
    notifications_maxlen: Annotated[int, Field(ge=0, lt=2**63)] = 10_000_000
    """Trim the stream to about this length, which bounds its memory at some 4 GB; 0: never."""
    notifications_batch_size: Annotated[int, Field(ge=1, le=10_000)] = 500

    health_host: str = "127.0.0.1"
    health_port: Annotated[int, Field(ge=0, le=65_535)] = 8_080
    """Port of ``/livez`` and ``/readyz``; 0 switches them off."""


def connections_needed(settings: Settings) -> int:
    """Return how many connections to Postgres a worker holds at the same time."""
    # Each lane, and the delivery of push jobs.
    return settings.lanes + 1 + (settings.wake_up == "auto") + settings.exclusive


S = TypeVar("S", bound=DatabaseSettings)


def load_settings() -> Settings:
    """Read every setting from the environment.

    Raises:
        SettingsError: with every fault, by the name of its variable.
    """
    return _load(Settings)


def load_ledger_settings() -> LedgerSettings:
    """Read what a command needs that touches no Redis; raises like ``load_settings``."""
    return _load(LedgerSettings)


def load_live_status_settings() -> LiveStatusSettings:
    """Read what a command needs that hears live statuses; raises like ``load_settings``."""
    return _load(LiveStatusSettings)


def load_database_settings() -> DatabaseSettings:
    """Read what a command needs that only touches Postgres; raises like ``load_settings``."""
    return _load(DatabaseSettings)


def _load(kind: type[S]) -> S:
    try:
        return kind()
    except ValidationError as error:
        faults = "; ".join(
            f"{_variable(str(fault['loc'][0]))}: {_words(fault['msg'])}" for fault in error.errors()
        )
    # Outside of the handler: the original would be printed along, and it quotes values.
    raise SettingsError(faults)


def unknown_variables() -> list[str]:
    """Return variables that look like ours and are not: most likely a slip of the pen."""
    known = {
        _variable(str(field.validation_alias or name))
        for name, field in Settings.model_fields.items()
    }
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _words(message: str) -> str:
    return message.removeprefix("Value error, ").lower()


def _variable(location: str) -> str:
    return location if location.isupper() else f"{PREFIX}{location.upper()}"
