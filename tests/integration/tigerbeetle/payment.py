"""A payment on a real TigerBeetle, and the ledger under test that is to settle it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from adapters.tigerbeetle.client import ClientFactory
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.ledger_client import ledger_client
from application.errors import LedgerUnavailableError
from domain.chains import close_chain
from domain.ledger_requests import ChainAnswer
from domain.transfer_status import TransferStatus
from domain.transfers import Transfer
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from tests.contracts.ledger import LEDGER, post_of
from tests.helpers.holdings import nothing_left
from tests.integration.tigerbeetle.bank import bank_at

DEADLINE_S: Final = 2.0
CREATED: Final = (TransferStatus.CREATED, TransferStatus.CREATED)
EXISTS: Final = (TransferStatus.EXISTS, TransferStatus.LINKED_EVENT_FAILED)
NOT_FOUND: Final = (TransferStatus.PENDING_TRANSFER_NOT_FOUND, TransferStatus.LINKED_EVENT_FAILED)


class Payment:
    """Two pending transfers, the chain that posts them, and what became of them."""

    def __init__(self, address: str) -> None:
        self._address = address
        with bank_at(address) as bank:
            self.payer = bank.open_account(ledger=LEDGER)
            payee = bank.open_account(ledger=LEDGER)
            self.chain: tuple[Transfer, ...] = close_chain(
                [post_of(bank.freeze(self.payer, payee, 10)) for _ in range(2)]
            )

    def posted(self) -> int:
        """Return what has left the payer for good."""
        with bank_at(self._address) as bank:
            return bank.balances(self.payer).debits_posted


@contextmanager
def ledger_at(
    address: str,
    *,
    cluster_id: int = CLUSTER_ID,
    deadline_s: float = DEADLINE_S,
    keep_alive_s: float = 0.0,
    client_factory: ClientFactory = ledger_client,
) -> Iterator[TigerBeetleLedger]:
    """Open a ledger, and close it after the block."""
    ledger = TigerBeetleLedger(
        addresses=address,
        cluster_id=cluster_id,
        deadline_s=deadline_s,
        keep_alive_s=keep_alive_s,
        client_factory=client_factory,
    )
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def clean_ledger_at(
    address: str, *, cluster_id: int = CLUSTER_ID, deadline_s: float = DEADLINE_S
) -> Iterator[TigerBeetleLedger]:
    """Open a ledger that must give back all that it took, once it is closed."""
    with nothing_left(), ledger_at(address, cluster_id=cluster_id, deadline_s=deadline_s) as ledger:
        yield ledger


def settle(ledger: TigerBeetleLedger, payment: Payment) -> ChainAnswer:
    """Send the same ids until there is an answer, as the worker does."""
    for _ in range(20):
        try:
            (answer,) = ledger.create_chains([payment.chain])
        except LedgerUnavailableError:
            continue
        return answer
    raise AssertionError("the ledger did not come back")
