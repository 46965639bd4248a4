"""What a port raises. Adapters translate their driver's errors into these, in one place.

The class says what the caller owes (DESIGN §8): an outage rolls back, waits and repeats
the same request; a misconfiguration stops claiming until somebody has mended it; refused
rows concern some rows of a batch. None of the first two counts against an event.
"""

from domain.intents import IntentId


class OutboxError(Exception):
    """Base of all errors that ports raise."""


class OutageError(OutboxError):
    """A part is away or did not answer; the outcome of the call is unknown.

    Repeat the same request later, with the same ids.
    """


class LedgerUnavailableError(OutageError):
    """TigerBeetle did not answer within the deadline, or its client was closed or evicted."""


class DatabaseUnavailableError(OutageError):
    """Postgres is away, overloaded, in recovery, or took the connection back."""


class HeldByOthersError(DatabaseUnavailableError):
    """A worker or PM held the row for longer than an operator's command waits for it."""


class RedisUnavailableError(OutageError):
    """Redis is away, refuses writes, or did not answer within the time-out."""


class MisconfiguredError(OutboxError):
    """The worker can do nothing useful until somebody changes a setting or the deployment.

    The message names the thing and the remedy, and no secret.
    """


class LedgerMisconfiguredError(MisconfiguredError):
    """Address, cluster or release of TigerBeetle do not fit."""


class DatabaseMisconfiguredError(MisconfiguredError):
    """Address, password, rights or schema of Postgres do not fit."""


class SharedSessionError(DatabaseMisconfiguredError):
    """What needs a session of its own has none: a pooler lends a connection to many."""


class WakeUpError(OutboxError):
    """Nobody tells when orders come. Looking for them from time to time goes on."""


class UnknownIntentError(OutboxError):
    """There is no such intent."""

    def __init__(self, intent_id: IntentId) -> None:
        super().__init__(f"there is no intent {intent_id}")


class RowsRefusedError(OutboxError):
    """Postgres refused the values of some row; nothing of the write was kept.

    The claim and its locks still stand: write fewer rows to find the culprit.
    """
