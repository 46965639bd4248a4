"""Settling on the fakes."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.ledger import new_id
from tests.contracts.settling import SettlingContract, assert_waiting
from tests.contracts.settling_foreign_ledger import ForeignLedgerContract
from tests.contracts.settling_poison import PoisonContract
from tests.contracts.settling_replays import ReplayContract
from tests.contracts.settling_reviews import ReviewContract
from tests.contracts.wallet import POST, Wallet
from tests.unit.memory.memory_bank import MemoryBank
from tests.unit.memory.memory_bench import InMemoryBench


@pytest.fixture
def wallet() -> Wallet:
    ledger = InMemoryLedger()
    return Wallet(bench=InMemoryBench(), ledger=FaultyLedger(ledger), bank=MemoryBank(ledger))


@pytest.fixture
def other_database() -> DatabaseBench:
    return InMemoryBench()


class TestVerdicts(SettlingContract):
    """The verdict table."""


class TestPoison(PoisonContract):
    """Events that cannot be settled."""


class TestReplays(ReplayContract):
    """Deaths, repeats and neighbours."""


class TestForeignLedger(ForeignLedgerContract):
    """Ledgers that are not ours."""

    def test_without_any_mapped_account_nothing_can_be_told_and_a_missing_transfer_counts(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, missing=[new_id()])
        assert isinstance(wallet.bench, InMemoryBench)
        wallet.bench.database.tables.accounts.clear()

        wallet.settle()

        assert_waiting(wallet, case)
        assert "lookup_accounts" not in [call.method for call in wallet.ledger.calls]


class TestReviews(ReviewContract):
    """Giving up and coming back."""


def test_the_lines_of_a_batch_are_logged_together(wallet: Wallet) -> None:
    cases = [wallet.add_case(POST) for _ in range(3)]
    logged: list[list[str]] = []

    @contextmanager
    def together() -> Iterator[None]:
        logged.append([line["event"] for line in logs])
        yield
        logged.append([line["event"] for line in logs])

    with capture_logs() as logs:
        wallet.settle(lines_together=together)

    assert logged == [[], ["outbox: intent settled"] * len(cases)]
    assert len(logs) == len(cases)
