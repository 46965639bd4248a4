"""Settling on the fakes."""

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.settling import SettlingContract
from tests.contracts.settling_poison import PoisonContract
from tests.contracts.settling_replays import ReplayContract
from tests.contracts.settling_reviews import ReviewContract
from tests.contracts.wallet import Wallet
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


class TestReviews(ReviewContract):
    """Giving up and coming back."""
