"""What Postgres' and psycopg's errors mean to the worker (DESIGN §8), in this one place.

Only the primary message of a server's error is passed on: its DETAIL quotes whole rows, and
with them the names of customers.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    OutboxError,
    RowsRefusedError,
)

# By class (two characters) or by code (five).
_OUTAGES: Final = frozenset({"08", "40", "53", "57", "58", "55P03", "25006", "25P03", "25P04"})
_MISCONFIGURATIONS: Final = frozenset({"26", "28", "34", "3D", "3F", "42"})

_REMEDIES: Final = {
    "28": "check the user and the password in DATABASE_URL",
    "34": "a pooler takes our session away between statements: connect to Postgres itself",
    "3D": "check the database's name in DATABASE_URL",
    "3F000": "run `outbox-worker migrate`",
    "42P01": "run `outbox-worker migrate`",
    "42703": "run `outbox-worker migrate`",
    "42501": "grant the role in DATABASE_URL the rights that docs/running.md lists",
}

# libpq does not hand out the SQLSTATE of a failed connection attempt, only the server's words.
# A server that speaks another language than English is taken for one that is away; its words
# are in the message all the same.
_CONNECT_MISCONFIGURATION: Final = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|pg_hba\.conf rejects"
    r"|(role|database) \".*\" does not exist|is not permitted to log in"
    r"|permission denied for database|unrecognized configuration parameter"
    r"|invalid (integer )?value"
    r"|does not support SSL|certificate verify failed|root certificate file"
)
_CONNECT_REMEDY: Final = "check DATABASE_URL"
_POOLER_REMEDY: Final = (
    "a pooler refuses what DATABASE_URL or PGOPTIONS sets: take it out there, and set it for"
    " the role (ALTER ROLE ... SET ...)"
)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the errors of reading, and of ending a transaction."""
    try:
        yield
    except psycopg.Error as error:
        raise _known(error) or DatabaseUnavailableError(_text(error)) from error


@contextmanager
def translated_write_errors() -> Iterator[None]:
    """Translate the errors of writing rows: what is not the database's fault is a row's."""
    try:
        yield
    except psycopg.Error as error:
        raise _known(error) or RowsRefusedError(_text(error)) from error
    except OutboxError:
        raise
    except Exception as error:
        # Python could not even make the parameters out of some row.
        raise RowsRefusedError(f"{type(error).__name__}: {error}") from error


def connect_error(error: psycopg.Error) -> OutboxError:
    """Translate the error of an attempt to connect."""
    text = str(error)
    if "unsupported startup parameter" in text:
        return DatabaseMisconfiguredError(f"{text}: {_POOLER_REMEDY}")
    if _CONNECT_MISCONFIGURATION.search(text):
        return DatabaseMisconfiguredError(f"{text}: {_CONNECT_REMEDY}")
    return _known(error) or DatabaseUnavailableError(
        f"{text}: start Postgres, or correct DATABASE_URL"
    )


def _known(error: psycopg.Error) -> OutboxError | None:
    code = error.sqlstate
    if code is None:
        # The driver's own words. What it could not convert is a row's fault; the rest of these
        # two kinds are connections that broke or are closed.
        gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return DatabaseUnavailableError(str(error)) if gone else None
    if not _OUTAGES.isdisjoint((code, code[:2])):
        return DatabaseUnavailableError(_text(error))
    if not _MISCONFIGURATIONS.isdisjoint((code, code[:2])):
        remedy = _REMEDIES.get(code) or _REMEDIES.get(code[:2])
        return DatabaseMisconfiguredError(f"{_text(error)}: {remedy}" if remedy else _text(error))
    return None


def _text(error: psycopg.Error) -> str:
    if error.sqlstate is None:
        return str(error)
    return f"{error.diag.message_primary} (SQLSTATE {error.sqlstate})"
