"""Is this the ledger that holds our accounts, or an empty one, or one of somebody else's?

A cluster that was formatted anew, or that belongs to another environment, answers as politely
as the right one: whatever is asked for is not found. Taken for the fault of an event, that
would end every payment in ``MANUAL_REVIEW``.
"""

from collections.abc import Collection
from typing import Final

from application.errors import LedgerMisconfiguredError
from application.ports.ledger_accounts import LedgerAccounts
from domain.transfers import AccountId

ACCOUNTS_MAX: Final = 8_000
"""As many accounts are asked for as fit into one request: many may have been mapped in advance,
and never opened."""


def require_own_ledger(ledger: LedgerAccounts, mapped: Collection[AccountId]) -> None:
    """Find at least one of the accounts that ``pm.tb_account_map`` has, some of which are *mapped*.

    Without any of them nothing can be told, and nothing is asked.

    Raises:
        LedgerMisconfiguredError: the ledger has none of them.
        LedgerUnavailableError: it did not answer.
    """
    if mapped and not ledger.lookup_accounts(mapped):
        raise LedgerMisconfiguredError(
            f"the ledger has none of the accounts in pm.tb_account_map ({len(mapped)} looked up):"
            " TIGERBEETLE_ADDRESSES leads to an empty cluster or to that of another environment;"
            " correct it, or bring the right cluster back"
        )
