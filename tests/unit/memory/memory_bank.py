"""Accounts and frozen money on an in-memory ledger."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from domain.transfer_status import TransferStatus
from domain.transfers import (
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)


@dataclass(frozen=True, slots=True)
class MemoryBank:
    """Implements ``tests.contracts.ledger.Bank``; ids count up and never meet random ones."""

    ledger: InMemoryLedger
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1_000))

    def open_account(
        self, *, ledger: int = 1, flags: AccountFlags = AccountFlags.NONE
    ) -> AccountId:
        """Create an account with a new id."""
        account = Account(id=AccountId(next(self._ids)), ledger=ledger, code=1, flags=flags)
        assert self.ledger.create_accounts([account]) == [AccountStatus.CREATED]
        return account.id

    def freeze(
        self,
        debit: AccountId,
        credit: AccountId,
        amount: int,
        timeout_s: int = 0,
        user_data_128: int = 0,
        flags: TransferFlags = TransferFlags.NONE,
    ) -> TransferId:
        """Create a pending transfer with a new id."""
        pending = Transfer(
            id=TransferId(next(self._ids)),
            debit_account_id=debit,
            credit_account_id=credit,
            amount=amount,
            timeout_s=timeout_s,
            user_data_128=user_data_128,
            ledger=self.balances(debit).ledger,
            code=1,
            flags=TransferFlags.PENDING | flags,
        )
        assert self.ledger.create_transfers([pending]) == [TransferStatus.CREATED]
        return pending.id

    def balances(self, account_id: AccountId) -> Account:
        """Return the account as it stands now."""
        return self.ledger.lookup_accounts([account_id])[account_id]

    def wait_expired(self, pending_id: TransferId) -> None:
        """Let the pending transfer's whole time-out pass at once."""
        (pending,) = self.ledger.lookup_transfers([pending_id])
        self.ledger.advance_ns(pending.timeout_s * 1_000_000_000)
