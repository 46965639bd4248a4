"""Accounts and frozen money on a real TigerBeetle, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager

import tigerbeetle as tb

from adapters.tigerbeetle.conversion import account_from_client
from adapters.tigerbeetle.official_client import official_client
from domain.transfers import Account, AccountFlags, AccountId, TransferId
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.ledger import LEDGER, new_id

FREEZE_CODE = 10


class TigerBeetleBank:
    """Fulfils ``tests.contracts.ledger.Bank``; ledgers are ``LEDGER`` unless told otherwise."""

    def __init__(self, client: tb.ClientSync) -> None:
        self._client = client
        self._ledger_of: dict[AccountId, int] = {}

    def open_account(
        self, *, ledger: int = LEDGER, flags: AccountFlags = AccountFlags.NONE
    ) -> AccountId:
        """Create an account with a new id."""
        account_id = AccountId(new_id())
        (result,) = self._client.create_accounts(
            [tb.Account(id=account_id, ledger=ledger, code=1, flags=tb.AccountFlags(flags))]
        )
        assert result.status == tb.CreateAccountStatus.CREATED
        self._ledger_of[account_id] = ledger
        return account_id

    def freeze(
        self,
        debit: AccountId,
        credit: AccountId,
        amount: int,
        timeout_s: int = 0,
        user_data_128: int = 0,
    ) -> TransferId:
        """Create a pending transfer with a new id."""
        pending_id = new_id()
        (result,) = self._client.create_transfers(
            [
                tb.Transfer(
                    id=pending_id,
                    debit_account_id=debit,
                    credit_account_id=credit,
                    amount=amount,
                    user_data_128=user_data_128,
                    timeout=timeout_s,
                    ledger=self._ledger_of[debit],
                    code=FREEZE_CODE,
                    flags=tb.TransferFlags.PENDING,
                )
            ]
        )
        assert result.status == tb.CreateTransferStatus.CREATED
        return pending_id

    def balances(self, account_id: AccountId) -> Account:
        """Return the account as it stands now."""
        (account,) = self._client.lookup_accounts([account_id])
        return account_from_client(account)

    def wait_expired(self, pending_id: TransferId) -> None:
        """Return when nothing is frozen any more on the account that the transfer debits."""
        (pending,) = self._client.lookup_transfers([pending_id])
        payer = AccountId(pending.debit_account_id)
        wait_until(
            lambda: self.balances(payer).debits_pending == 0,
            timeout_s=30.0,
            what="the pending transfer has expired",
        )


@contextmanager
def bank_at(address: str) -> Iterator[TigerBeetleBank]:
    """Open a bank; its client is closed at the end of the block."""
    client = official_client(CLUSTER_ID, address)
    try:
        yield TigerBeetleBank(client)
    finally:
        client.close()
