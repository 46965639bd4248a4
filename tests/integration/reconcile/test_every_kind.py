"""Every kind of difference, through the whole command, over either ledger."""

import json
from dataclasses import replace
from typing import Final
from uuid import uuid4

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.remote_ledger import LedgerServer
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from domain.intents import IntentId
from domain.reconciliation.differences import DifferenceKind
from tests.contracts import reconciling
from tests.contracts.reconciling import FIXABLE, OTHERS, Desk, Fault
from tests.contracts.wallet import FEE_CODE, Wallet
from tests.helpers.worker_process import run_command
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.integration.reconcile.patient_bank import PatientBank
from tests.integration.tigerbeetle.bank import TigerBeetleBank

pytestmark = pytest.mark.integration

LEAVE_AN_ORDER: Final[tuple[Fault, ...]] = (
    reconciling.ordering_what_is_done,
    reconciling.dying_before_the_commit,
    reconciling.listing_what_was_never_frozen,
    reconciling.letting_money_wait_too_long,
)
"""In this order and last: any fault before them may let the worker work."""


def listing_a_transfer_twice(desk: Desk) -> IntentId:
    intent, _ = desk.wallet.freeze()
    desk.database.add_intent(replace(intent, tb_transfer_ids=intent.tb_transfer_ids * 2))
    return intent.id


def commit_all_faults(desk: Desk) -> set[tuple[str, str]]:
    """Put every fault in, and return what has to be told of whom."""
    faults = dict([*FIXABLE, *OTHERS, (listing_a_transfer_twice, DifferenceKind.TRANSFER_SHARED)])
    first = [fault for fault in faults if fault not in LEAVE_AN_ORDER]
    return {(str(fault(desk)), str(faults[fault])) for fault in (*first, *LEAVE_AN_ORDER)}


def assert_all_are_told(desk: Desk, bench: PostgresBench, ledger_address: str) -> None:
    expected = commit_all_faults(desk)
    settings = {
        "DATABASE_URL": bench.url,
        "TIGERBEETLE_ADDRESSES": ledger_address,
        "TIGERBEETLE_CLUSTER_ID": "0",
        "OUTBOX_PSP_FEE_CODE": str(FEE_CODE),
    }

    period = run_command("reconcile", "--json", "--grace", "0s", environment=settings)
    named = run_command("reconcile", "--json", str(uuid4()), environment=settings)

    assert (period.returncode, period.stderr) == (1, "")
    body = json.loads(period.stdout)
    told = {(one["intent_id"], one["kind"]) for one in body["differences"]}
    assert told == expected
    assert len(body["differences"]) == len(expected)
    kinds = {kind for _, kind in told}
    kinds |= {one["kind"] for one in json.loads(named.stdout)["differences"]}
    # That one is for rows that nobody can foresee.
    assert kinds == set(DifferenceKind) - {DifferenceKind.NOT_COMPARED}


def test_each_is_told_over_the_in_memory_ledger(bench: PostgresBench) -> None:
    memory = InMemoryLedger()
    ledger = FaultyLedger(memory)
    wallet = Wallet(bench=bench, ledger=ledger, bank=PatientBank(memory))
    desk = Desk(wallet=wallet, database=bench, fee_scan=memory)

    with LedgerServer(memory, fee_scan=memory) as server:
        assert_all_are_told(desk, bench, server.url)


@pytest.mark.tigerbeetle
def test_each_is_told_over_a_real_tigerbeetle(
    bench: PostgresBench,
    tigerbeetle_ledger: TigerBeetleLedger,
    tigerbeetle_bank: TigerBeetleBank,
    tigerbeetle_address: str,
) -> None:
    ledger = FaultyLedger(tigerbeetle_ledger)
    wallet = Wallet(bench=bench, ledger=ledger, bank=tigerbeetle_bank)
    desk = Desk(wallet=wallet, database=bench, fee_scan=tigerbeetle_ledger)

    assert_all_are_told(desk, bench, tigerbeetle_address)
