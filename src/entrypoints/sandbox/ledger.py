"""A ledger of one's own: a TigerBeetle where there is a server binary, else one in memory."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import tigerbeetle as tb

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from adapters.memory.remote_ledger import LedgerServer
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.official_client import official_client
from application.ports.ledger import Ledger
from domain.transfers import Account
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer, find_tigerbeetle


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLedger:
    """A running ledger; ``addresses`` is what a worker is told, ``pid`` the process it lives in."""

    name: str
    addresses: str
    pid: int
    ledger: Ledger
    open_accounts: Callable[[Sequence[Account]], None]
    pause: Callable[[], None]
    resume: Callable[[], None]


@contextmanager
def sandbox_ledger(*, development: bool = True) -> Iterator[SandboxLedger]:
    """Start the ledger; it is gone at the end of the block.

    *development* is for the small limits, which start quickly.

    Raises:
        ServerFailedError: the server binary that there is does not do.
    """
    program = find_tigerbeetle()
    with ExitStack() as stack:
        if program is None:
            yield _in_memory(stack)
        else:
            yield _tigerbeetle(stack, program, development=development)


def _in_memory(stack: ExitStack) -> SandboxLedger:
    memory = InMemoryLedger()
    served = stack.enter_context(LedgerServer(memory, fee_scan=memory))
    return SandboxLedger(
        name="in memory, since there is no TigerBeetle server (TIGERBEETLE_BIN, PATH)",
        addresses=served.url,
        pid=os.getpid(),
        ledger=memory,
        open_accounts=lambda accounts: open_in_memory(memory, accounts),
        pause=served.pause,
        resume=served.resume,
    )


def _tigerbeetle(stack: ExitStack, program: Path, *, development: bool) -> SandboxLedger:
    server = stack.enter_context(TigerBeetleServer(development=development))
    ledger = TigerBeetleLedger(addresses=server.address, cluster_id=CLUSTER_ID)
    stack.callback(ledger.close)
    return SandboxLedger(
        name=f"TigerBeetle, {program}",
        addresses=server.address,
        pid=server.pid,
        ledger=ledger,
        open_accounts=lambda accounts: _open_in_tigerbeetle(server.address, accounts),
        pause=server.pause,
        resume=server.resume,
    )


def open_in_memory(ledger: InMemoryLedger, accounts: Sequence[Account]) -> None:
    """Open *accounts*, all of which are new."""
    statuses = ledger.create_accounts(accounts)
    if any(status is not AccountStatus.CREATED for status in statuses):
        raise RuntimeError(f"accounts were not opened: {statuses}")


def _open_in_tigerbeetle(address: str, accounts: Sequence[Account]) -> None:
    client = official_client(CLUSTER_ID, address)
    try:
        results = client.create_accounts(
            [tb.Account(id=one.id, ledger=one.ledger, code=one.code) for one in accounts]
        )
    finally:
        client.close()
    if any(result.status != tb.CreateAccountStatus.CREATED for result in results):
        raise RuntimeError(f"accounts were not opened: {results}")
