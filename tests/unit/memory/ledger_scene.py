"""A small scene on the in-memory ledger, and short ways to send transfers."""

from dataclasses import replace
from typing import Any

from adapters.memory.ledger import InMemoryLedger
from domain.transfer_status import AnyStatus
from domain.transfers import AMOUNT_MAX, AccountId, Transfer, TransferFlags, TransferId
from tests.unit.memory.memory_bank import MemoryBank

F = TransferFlags


class Scene:
    """A payer with 100 frozen towards a payee, and short ways to send transfers."""

    def __init__(self) -> None:
        self.ledger = InMemoryLedger()
        self.bank = MemoryBank(self.ledger)
        self.payer = self.bank.open_account()
        self.payee = self.bank.open_account()
        self.pending_id = self.bank.freeze(self.payer, self.payee, 100, user_data_128=5)

    def send(self, *transfers: Transfer) -> list[AnyStatus]:
        return self.ledger.create_transfers(transfers)

    def payment(self, id_: int = 1, **changes: Any) -> Transfer:
        return replace(
            Transfer(
                id=TransferId(id_),
                debit_account_id=self.payer,
                credit_account_id=self.payee,
                amount=10,
                ledger=1,
                code=1,
            ),
            **changes,
        )

    def pending(self, id_: int = 1, **changes: Any) -> Transfer:
        return self.payment(id_, **{"flags": F.PENDING, **changes})

    def post(self, id_: int = 1, amount: int = AMOUNT_MAX, **changes: Any) -> Transfer:
        return replace(
            Transfer(
                id=TransferId(id_),
                pending_id=self.pending_id,
                amount=amount,
                flags=F.POST_PENDING_TRANSFER,
            ),
            **changes,
        )

    def void(self, id_: int = 1, amount: int = 0, **changes: Any) -> Transfer:
        return self.post(id_, amount, **{"flags": F.VOID_PENDING_TRANSFER, **changes})

    def debits(self, account_id: AccountId) -> tuple[int, int]:
        account = self.bank.balances(account_id)
        return account.debits_pending, account.debits_posted


def linked(transfer: Transfer) -> Transfer:
    return replace(transfer, flags=transfer.flags | F.LINKED)
