"""What the tests of the adapter build and watch."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from adapters.tigerbeetle.client import ClientFactory
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from domain.chains import close_chain
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId
from tests.helpers.scripted_tigerbeetle import ScriptedTigerBeetle

T = TypeVar("T")

LONG_S = 60.0
"""A deadline that no test reaches."""

SHORT_S = 0.25
"""A deadline that a test lets pass: enough for a call to begin, on a busy machine too."""


class LedgerMaker(Protocol):
    """The fixture ``a_ledger``."""

    def __call__(
        self,
        cluster: ScriptedTigerBeetle,
        *,
        addresses: str = ...,
        cluster_id: int = ...,
        deadline_s: float = ...,
        request_events_max: int = ...,
        close_timeout_s: float = ...,
        keep_alive_s: float = ...,
        client_factory: ClientFactory | None = ...,
    ) -> TigerBeetleLedger:
        """Return a ledger over *cluster*'s clients."""
        ...


def a_chain(first_id: int, length: int = 1) -> tuple[Transfer, ...]:
    """Return a chain of posts with ids from *first_id* on."""
    return close_chain(
        tuple(
            Transfer(
                id=TransferId(first_id + i),
                pending_id=TransferId(10_000 + first_id + i),
                flags=TransferFlags.POST_PENDING_TRANSFER,
            )
            for i in range(length)
        )
    )


def a_transfer(transfer_id: int = 1) -> Transfer:
    """Return a plain transfer."""
    return Transfer(
        id=TransferId(transfer_id),
        debit_account_id=AccountId(1),
        credit_account_id=AccountId(2),
        amount=100,
        ledger=1,
        code=1,
    )


def in_lane(call: Callable[[], T]) -> "Future[T]":
    """Run *call* in a thread of its own, as a lane does."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="lane").start()
    return future


def adapter_threads() -> list[str]:
    """Return the names of the adapter's threads that live."""
    return [
        thread.name for thread in threading.enumerate() if thread.name.startswith("tigerbeetle-")
    ]
