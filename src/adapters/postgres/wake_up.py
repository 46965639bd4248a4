"""The optional trigger on ``pm.outbox_event`` that sends a notification for each insert.

It is the one thing that is ever added to a table of the payment manager's, and only when
somebody asks for it; ``migrate`` does not know it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import psycopg

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.migration_files import migrations_folder
from adapters.postgres.probe_connection import probe_connection
from application.errors import DatabaseMisconfiguredError, DatabaseUnavailableError

CHANNEL: Final = "pm_outbox_event"
LOCK_TIMEOUT_S: Final = 1
_ANSWER_TIMEOUT_S: Final = 10.0
_OPTIONAL: Final = "optional"

_STATE: Final = """
    SELECT
        to_regclass('pm.outbox_event') IS NOT NULL,
        (SELECT t.tgenabled::text FROM pg_trigger t
         WHERE t.tgrelid = to_regclass('pm.outbox_event') AND t.tgname = 'outbox_wake_up'),
        to_regprocedure('pm.outbox_wake_up()') IS NOT NULL,
        pg_notification_queue_usage()
"""


class Trigger(StrEnum):
    """How the trigger stands."""

    ON = "on"
    OFF = "off"
    DISABLED = "disabled"
    """It is there, but somebody switched it off by ALTER TABLE."""
    FUNCTION_ONLY = "function only"
    """Somebody dropped it by hand, and left its function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUpState:
    """The trigger, and how full the server's queue of notifications is, 0 to 1.

    When it is full, transactions that notify cannot commit.
    """

    trigger: Trigger
    queue_usage: float


def wake_up_state(dsn: str) -> WakeUpState:
    """Return how things stand.

    Raises:
        DatabaseMisconfiguredError: there is no ``pm.outbox_event``; wrong *dsn*, no rights.
        DatabaseUnavailableError: the server is away.
    """
    with probe_connection(dsn, timeout_s=_ANSWER_TIMEOUT_S) as connection:
        return read_state(connection)


def switch_on(dsn: str) -> None:
    """Make the trigger, or enable it again; nothing happens where it is on. Raises as below."""
    with _switching(dsn) as connection:
        if read_state(connection).trigger is not Trigger.ON:
            _run_file(connection, "wake_up_on")
            # CREATE OR REPLACE leaves a disabled one disabled.
            connection.execute("ALTER TABLE pm.outbox_event ENABLE TRIGGER outbox_wake_up")


def switch_off(dsn: str) -> None:
    """Remove the trigger and its function; nothing happens where they are not.

    Raises:
        DatabaseMisconfiguredError: the role may not, or there is no ``pm.outbox_event``.
        DatabaseUnavailableError: the table was in use for longer than ``LOCK_TIMEOUT_S``, so
            that nothing was changed; or the server is away, and whether it was is unknown.
    """
    with _switching(dsn) as connection:
        if read_state(connection).trigger is not Trigger.OFF:
            _run_file(connection, "wake_up_off")


def read_state(connection: BoundedConnection) -> WakeUpState:
    """Return how things stand, by *connection*; raises what psycopg raises, and as above."""
    ((has_table, enabled, has_function, queue_usage),) = connection.execute(_STATE).fetchall()
    if not has_table:
        raise DatabaseMisconfiguredError(
            "there is no table pm.outbox_event: run `outbox-worker migrate`, or let DATABASE_URL"
            " name the payment manager's database"
        )
    match enabled:
        case None:
            trigger = Trigger.FUNCTION_ONLY if has_function else Trigger.OFF
        case "D" | "R":
            trigger = Trigger.DISABLED
        case _:
            trigger = Trigger.ON
    return WakeUpState(trigger=trigger, queue_usage=queue_usage)


@contextmanager
def _switching(dsn: str) -> Iterator[BoundedConnection]:
    """Yield a transaction that would rather fail than keep the payment manager waiting.

    Whoever waits for a lock on a table has all others wait behind him.
    """
    with probe_connection(dsn, timeout_s=_ANSWER_TIMEOUT_S) as connection:
        try:
            with connection.begun():
                connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'")
                yield connection
        except psycopg.errors.LockNotAvailable as error:
            raise DatabaseUnavailableError(
                f"pm.outbox_event was in use for longer than {LOCK_TIMEOUT_S} s; nothing was"
                " changed. Try again, or look in pg_stat_activity for old transactions"
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseMisconfiguredError(
                f"{error.diag.message_primary}: run this as the owner of pm.outbox_event"
            ) from error


def _run_file(connection: BoundedConnection, name: str) -> None:
    path = migrations_folder() / _OPTIONAL / f"{name}.sql"
    connection.execute(path.read_bytes())
