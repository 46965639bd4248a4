"""Order again what the worker itself can put right: what ``--fix`` does for one difference."""

from dataclasses import dataclass

from application.ports.event_store import EventStore
from domain.intents import EventId
from domain.reconciliation.differences import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAgain:
    """Insert the event that lets the worker mend a difference, and an audit row that says so.

    *store* is on the caller's own transaction, one for each difference; the caller commits it.
    """

    store: EventStore

    def __call__(self, difference: Difference) -> EventId | None:
        """Return the id of the new event; None if nothing was inserted.

        That is so where the difference has no ``mend``, the intent's status is another by now,
        it has a pending event, or the order to repeat cannot be read any more.

        Raises:
            RowsRefusedError: Postgres refuses the audit row; roll back.
            DatabaseUnavailableError, DatabaseMisconfiguredError: the transaction is lost.
        """
        raise NotImplementedError
