"""Compare what the database says of intents with what the ledger did; change nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from application.ports.fee_scan import FeeScan
from application.ports.intent_records import IntentRecords
from application.ports.ledger import Ledger
from domain.fees import AccountCode, FeeRule, MappedAccount
from domain.reconciliation.differences import Difference
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import Selection


@dataclass(frozen=True, slots=True)
class Checked:
    """A step of the way: how many intents it compared, and what it found."""

    intents: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconcile:
    """Compares page by page; never more than a page is in memory.

    ``accounts`` is ``pm.tb_account_map``, for the accounts that fees are credited to.
    """

    records: IntentRecords
    ledger: Ledger
    fee_scan: FeeScan
    fee: FeeRule
    accounts: Mapping[AccountCode, MappedAccount]
    limits: Limits

    def __call__(self, selection: Selection) -> Iterator[Checked]:
        """Yield what each page gives, then what only shows across pages (``intents`` 0).

        Raises, while iterating:
            OutageError, MisconfiguredError: of the database or the ledger; begin again.
        """
        raise NotImplementedError
