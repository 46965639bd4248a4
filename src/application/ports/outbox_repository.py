"""Where the orders are kept: claiming events and writing what became of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from domain.conclusions import Conclusion, StatusMessage
from domain.fees import AccountCode, MappedAccount
from domain.intents import ClaimedEvent
from domain.transfers import AccountId


class ClaimedBatch(Protocol):
    """Events that this caller alone holds, until the block of ``claim`` ends."""

    @property
    def events(self) -> Sequence[ClaimedEvent]:
        """The claimed events, oldest first; no two of one intent."""
        ...

    def fee_accounts(self, codes: Collection[AccountCode]) -> Mapping[AccountCode, MappedAccount]:
        """Return the accounts of those *codes* that ``pm.tb_account_map`` has.

        Raises:
            DatabaseUnavailableError, DatabaseMisconfiguredError: as ``OutboxRepository.claim``.
        """
        ...

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """As ``OutboxRepository.some_mapped_accounts``, within the claim."""
        ...

    def write(self, conclusions: Sequence[Conclusion]) -> Sequence[StatusMessage]:
        """Write all of *conclusions*, or nothing; it becomes visible when the block ends.

        ``Settle`` changes its intent only where that is ``AUTHORIZED`` or ``SETTLING``, the
        others their event only where that is ``pending``. Returns a message for each
        ``Settle``, in order. May be called several times in a block, for different events.

        Raises:
            RowsRefusedError: the values of some row were refused, or an event or intent did
                not become what it was to be; nothing of this call was kept, what earlier
                calls wrote is, and the locks stand.
            DatabaseMisconfiguredError: a table, a column or a right is missing, for all rows
                or for what a trigger does with one of them; otherwise likewise.
            DatabaseUnavailableError: the block is lost; leave it.
        """
        ...


class OutboxRepository(Protocol):
    """Claim due events in order, exactly-once effects (DESIGN §6).

    An event is due when it is ``pending``, the first pending event of its intent, its
    intent is not in ``MANUAL_REVIEW``, and it has no backoff running (``retry_count`` 0
    ends any backoff). Order: ``created_at``, then ``id``. Database time decides.
    """

    def rehearse(self) -> None:
        """Find out whether events could be claimed and written, without touching any.

        Raises what ``claim`` and ``write`` would raise whatever the rows: a table or column
        that is missing, a right, a server that is away. Asked before the first claim and
        after a fault, since a claim's locks are in the payment manager's way.
        """
        ...

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """Return the accounts of the first *limit* codes that ``pm.tb_account_map`` has.

        Raises:
            DatabaseUnavailableError, DatabaseMisconfiguredError: as ``claim``.
        """
        ...

    def claim(self, *, limit: int) -> AbstractContextManager[ClaimedBatch]:
        """Lock up to *limit* due events and their intents for the length of the block.

        Rows locked by others are skipped, never waited for. An event whose intent does not
        exist is claimed too, without intent. Of a full batch, events that failed before
        (``retry_count`` not 0) get no more than half, lest the others wait behind them; or
        more, as far as there are no others.

        Leaving the block normally commits what ``write`` wrote; leaving it by an exception
        rolls back, and the events are as before: not an attempt.

        Raises, on entry or on leaving:
            DatabaseUnavailableError: nothing is known to be written. On leaving, the commit
                may have happened: the next claim will tell.
            DatabaseMisconfiguredError: wrong password, database, schema or rights.
        """
        ...
