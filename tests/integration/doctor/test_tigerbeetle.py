"""What is found of a real TigerBeetle, and of accounts on it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest

from adapters.postgres.account_map import PostgresAccountMap
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.probe import TigerBeetleProbe
from application.accounts_probe import AccountsProbe
from domain.findings import Verdict
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from tests.contracts.ledger import new_id
from tests.contracts.ledger_accounts import LedgerAccountsContract
from tests.helpers.findings import faults, of, reds
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.tigerbeetle.bank import TigerBeetleBank, bank_at

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]

DEADLINE_S = 30.0
SHORT_S = 2.0


@contextmanager
def ledger_at(
    address: str, *, cluster_id: int = CLUSTER_ID, deadline_s: float = DEADLINE_S
) -> Iterator[TigerBeetleLedger]:
    ledger = TigerBeetleLedger(addresses=address, cluster_id=cluster_id, deadline_s=deadline_s)
    try:
        yield ledger
    finally:
        ledger.close()


@pytest.fixture
def ledger(tigerbeetle_address: str) -> Iterator[TigerBeetleLedger]:
    with ledger_at(tigerbeetle_address) as ledger:
        yield ledger


@pytest.fixture
def bank(tigerbeetle_address: str) -> Iterator[TigerBeetleBank]:
    with bank_at(tigerbeetle_address) as bank:
        yield bank


class TestLedgerAccounts(LedgerAccountsContract):
    """The contract, on a real server."""

    @pytest.fixture
    def accounts(self, ledger: TigerBeetleLedger) -> TigerBeetleLedger:
        return ledger


class TestCluster:
    def test_a_cluster_for_development_is_reached_and_told_from_others(
        self, tigerbeetle_address: str, ledger: TigerBeetleLedger
    ) -> None:
        findings = TigerBeetleProbe(addresses=tigerbeetle_address, ledger=ledger).examine()

        assert [finding.what for finding in findings if finding.is_ok] == [
            "io_uring",
            "replicas",
            "answers",
        ]
        assert of(findings, "limits").verdict is Verdict.WARNING

    def test_a_wrong_cluster_id_is_met_with_silence_and_red(self, tigerbeetle_address: str) -> None:
        with ledger_at(
            tigerbeetle_address, cluster_id=CLUSTER_ID + 1, deadline_s=SHORT_S
        ) as ledger:
            findings = TigerBeetleProbe(addresses=tigerbeetle_address, ledger=ledger).examine()

        assert reds(findings) == ["answers"]
        assert of(findings, "answers").remedy.startswith("compare TIGERBEETLE_CLUSTER_ID")

    def test_a_cluster_behind_a_black_hole_is_red_within_the_deadline(
        self, tigerbeetle_address: str, proxy_to: Callable[[str], TcpProxy]
    ) -> None:
        proxy = proxy_to(tigerbeetle_address)
        proxy.blackhole()

        with ledger_at(proxy.address, deadline_s=SHORT_S) as ledger:
            findings = TigerBeetleProbe(addresses=proxy.address, ledger=ledger).examine()
        assert reds(findings) == ["answers"]


class TestAccounts:
    @pytest.fixture
    def probe(self, database_url: str, ledger: TigerBeetleLedger) -> AccountsProbe:
        return AccountsProbe(
            account_map=PostgresAccountMap(dsn=database_url, timeout_s=DEADLINE_S),
            ledger=ledger,
            fee_codes=("revenue.THB", "nostro.ipps.THB"),
        )

    @pytest.fixture
    def map_account(self, database_url: str) -> Callable[[str, int, int], None]:
        def add(code: str, account_id: int, ledger: int) -> None:
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute(
                    "INSERT INTO pm.tb_account_map VALUES (%s, %s, %s)",
                    [code, UUID(int=account_id), ledger],
                )

        return add

    def test_accounts_that_exist_in_their_ledger_are_green(
        self,
        probe: AccountsProbe,
        bank: TigerBeetleBank,
        map_account: Callable[[str, int, int], None],
    ) -> None:
        for code in probe.fee_codes:
            map_account(code, bank.open_account(ledger=764), 764)

        assert faults(probe.examine()) == []

    def test_a_missing_account_and_one_of_another_ledger_are_named(
        self,
        probe: AccountsProbe,
        bank: TigerBeetleBank,
        map_account: Callable[[str, int, int], None],
    ) -> None:
        map_account("revenue.THB", bank.open_account(ledger=1), 764)
        map_account("nostro.ipps.THB", new_id(), 764)

        findings = probe.examine()

        assert reds(findings) == ["in the ledger"]
        assert of(findings, "in the ledger").detail == (
            "without an account: nostro.ipps.THB;"
            " of another ledger: revenue.THB (ledger 1, mapped as 764)"
        )
