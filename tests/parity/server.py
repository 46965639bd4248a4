"""Run ledger programs on a real TigerBeetle server, many side by side.

The server keeps everything, so each run of a program has ids of its own. Its time is real:
programs that wait do it together, for one of their time-outs to end them all.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar, cast

import tigerbeetle as tb

from adapters.memory.ledger_account_status import AccountStatus
from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.client_holder import ClientHolder
from adapters.tigerbeetle.conversion import (
    account_from_client,
    from_client,
    status_from_client,
    to_client,
)
from adapters.tigerbeetle.errors import NoAnswerError, translated
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.official_client import OfficialClient, official_client
from application.errors import LedgerUnavailableError
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfer_status import AnyStatus
from domain.transfers import Account, AccountId, Transfer, TransferFlags, TransferId
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from entrypoints.sandbox.waiting import wait_until
from tests.ledger_programs import Answers, Program
from tests.ledger_runs import ProgramLedger, Run, start
from tests.parity.events import EXPIRES_S

T = TypeVar("T")

ANSWER_TIMEOUT_S: Final = 30.0
RELEASE_TIMEOUT_S: Final = 30.0
CLOSE_TIMEOUT_S: Final = 5.0
RUN_ATTEMPTS_MAX: Final = 5
IN_TIME_S: Final = 0.9 * EXPIRES_S
"""A run that takes longer between two waits may see a time-out end, and so tells nothing."""


class ServerTooSlowError(Exception):
    """Programs took so long, again and again, that their time-outs passed meanwhile."""


class ServerLostError(Exception):
    """The server does not answer any more."""

    def __init__(self, program: Program | None) -> None:
        super().__init__("the server does not answer any more")
        self.program = program
        """What it was last asked to run; None when it was let alone to end time-outs."""


class ServerLedger:
    """A ``tests.ledger_runs.ProgramLedger``; searches go through our own adapter.

    Every call raises LedgerUnavailableError when the server does not answer in time.
    """

    def __init__(self, address: str) -> None:
        self._clients = ClientHolder(
            lambda: cast(Client, official_client(CLUSTER_ID, address)),
            close_timeout_s=CLOSE_TIMEOUT_S,
        )
        self._adapter = TigerBeetleLedger(
            addresses=address, cluster_id=CLUSTER_ID, deadline_s=ANSWER_TIMEOUT_S
        )

    def create_accounts(self, accounts: Sequence[Account]) -> list[AccountStatus]:
        """Create accounts as one request."""
        sent = list(map(_account_to_client, accounts))
        results = self._call(lambda client: client.create_accounts(sent))
        return [AccountStatus(int(result.status)) for result in results]

    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        """Create transfers as one request."""
        sent = list(map(to_client, transfers))
        results = self._call(lambda client: client.create_transfers(sent))
        return list(map(status_from_client, results))

    def lookup_accounts(self, ids: Sequence[AccountId]) -> Mapping[AccountId, Account]:
        """Return those accounts that exist."""
        found = self._call(lambda client: client.lookup_accounts(list[int](ids)))
        return {account.id: account for account in map(account_from_client, found)}

    def lookup_transfers(self, ids: Sequence[TransferId]) -> list[Transfer]:
        """Return those transfers that exist."""
        found = self._call(lambda client: client.lookup_transfers(list[int](ids)))
        return list(map(from_client, found))

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """See the port."""
        return self._adapter.find_resolutions(search)

    def close(self) -> None:
        """Close both clients."""
        self._clients.close()
        self._adapter.close()

    def _call(self, request: Callable[[OfficialClient], T]) -> T:
        try:
            return self._clients.call(
                lambda client: request(cast(OfficialClient, client)), timeout_s=ANSWER_TIMEOUT_S
            )
        except NoAnswerError as error:
            raise translated(error) from error


class Server:
    """Runs programs on a ledger that others use and whose time nobody can move."""

    def __init__(
        self, ledger: ProgramLedger, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._ledger = ledger
        self._now_s = now_s

    def __call__(self, programs: Sequence[Program]) -> list[Answers]:
        """Run *programs* and return the answers to each, in their order.

        Raises:
            ServerTooSlowError: after several attempts.
            ServerLostError: it does not answer, or time-outs do not end.
        """
        answers: dict[int, Answers] = {}
        for _ in range(RUN_ATTEMPTS_MAX):
            answers |= self._run(
                {n: program for n, program in enumerate(programs) if n not in answers}
            )
            if len(answers) == len(programs):
                return [answers[number] for number in range(len(programs))]
        raise ServerTooSlowError(f"{len(programs) - len(answers)} programs, {IN_TIME_S} s each")

    def _run(self, programs: dict[int, Program]) -> dict[int, Answers]:
        """Return the answers to those programs whose time-outs ended in waits only."""
        answers: dict[int, Answers] = {}
        runs: dict[int, Run] = {
            number: start(program, self._ledger, first_id=_first_id())
            for number, program in programs.items()
        }
        while runs:
            waiting: dict[int, Run] = {}
            for number, run in runs.items():
                started_s = self._now_s()
                ended = _next_part(programs[number], run)
                if self._now_s() - started_s > IN_TIME_S and _expires(programs[number]):
                    continue
                if ended is None:
                    waiting[number] = run
                else:
                    answers[number] = ended
            if waiting:
                self._let_time_out()
            runs = waiting
        return answers

    def _let_time_out(self) -> None:
        """Return when what is pending for ``EXPIRES_S`` now is released.

        The server releases in the order of expiry, so the last one to expire tells.
        """
        id_ = _first_id()
        payer, payee = AccountId(id_), AccountId(id_ + 1)
        pending = Transfer(
            id=TransferId(id_),
            debit_account_id=payer,
            credit_account_id=payee,
            amount=1,
            timeout_s=EXPIRES_S,
            ledger=1,
            code=1,
            flags=TransferFlags.PENDING,
        )
        self._ledger.create_accounts(
            [Account(id=each, ledger=1, code=1) for each in (payer, payee)]
        )
        self._ledger.create_transfers([pending])

        def is_released() -> bool:
            return self._ledger.lookup_accounts([payer])[payer].debits_pending == 0

        try:
            wait_until(is_released, timeout_s=RELEASE_TIMEOUT_S, what="a time-out has ended")
        except (LedgerUnavailableError, TimeoutError) as error:
            raise ServerLostError(None) from error


@contextmanager
def server_at(address: str) -> Iterator[Server]:
    """Connect to a server; the clients are closed at the end of the block."""
    ledger = ServerLedger(address)
    try:
        yield Server(ledger)
    finally:
        ledger.close()


def _next_part(program: Program, run: Run) -> Answers | None:
    """Run up to the next wait, or to the end, which brings the answers."""
    try:
        next(run)
    except StopIteration as end:
        answers: Answers = end.value
        return answers
    except LedgerUnavailableError as error:
        raise ServerLostError(program) from error
    return None


def _first_id() -> int:
    """Return where 2^32 ids begin that nobody else uses; later ones are greater."""
    return time.time_ns() << 63 | secrets.randbits(31) << 32


def _expires(program: Program) -> bool:
    return any(transfer.timeout_s == EXPIRES_S for transfer in program.transfers)


def _account_to_client(account: Account) -> tb.Account:
    return tb.Account(
        id=account.id,
        debits_pending=account.debits_pending,
        debits_posted=account.debits_posted,
        credits_pending=account.credits_pending,
        credits_posted=account.credits_posted,
        user_data_128=account.user_data_128,
        user_data_64=account.user_data_64,
        user_data_32=account.user_data_32,
        ledger=account.ledger,
        code=account.code,
        flags=tb.AccountFlags(account.flags),
        timestamp=account.timestamp_ns,
    )
