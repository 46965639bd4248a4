"""Thousands of events that nothing can be made of, and a good one behind them."""

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from domain.retry import Backoff, RetryPolicy
from tests.contracts.settling import assert_settled
from tests.contracts.wallet import POST, Case, Wallet
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.unit.memory.memory_bank import MemoryBank

pytestmark = pytest.mark.integration

POISON, BATCH = 10_000, 500
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Tens of thousands of log lines would take longer than all else."""
    with capture_logs():
        yield


@pytest.fixture
def wallet(bench: PostgresBench) -> Wallet:
    ledger = InMemoryLedger()
    return Wallet(bench=bench, ledger=FaultyLedger(ledger), bank=MemoryBank(ledger))


def pour_poison(bench: PostgresBench) -> None:
    """Order what nobody authorized, older than anything else."""
    bench.execute(
        "INSERT INTO pm.outbox_event (intent_id, action, created_at)"
        " SELECT gen_random_uuid(), 'post_pending',"
        "        timestamptz '2025-12-31' + number * interval '1 ms'"
        " FROM generate_series(1, %s) AS number",
        POISON,
    )


def pour_refused(bench: PostgresBench, *, count: int, every: int = 1) -> None:
    """Order *count* voids, each *every*-th with an error of the PSP's that is too long for PM."""
    bench.execute("ALTER TABLE pm.intent ALTER COLUMN failure_reason TYPE varchar(20)")
    bench.execute(
        "WITH numbered AS ("
        "  SELECT number, gen_random_uuid() AS id FROM generate_series(1, %s) AS number"
        "), intents AS ("
        "  INSERT INTO pm.intent (id, status, operation_type, amount_satang, currency, user_id,"
        "                         tb_transfer_ids)"
        "  SELECT id, 'AUTHORIZED', 'QR_PAYMENT', 100, 'THB', gen_random_uuid(), '{}'"
        "  FROM numbered"
        "), psp AS ("
        "  INSERT INTO pm.psp_tx_map (intent_id, psp, last_error)"
        "  SELECT id, 'IPPS', repeat('x', CASE number %% %s WHEN 0 THEN 21 ELSE 20 END)"
        "  FROM numbered"
        ")"
        " INSERT INTO pm.outbox_event (intent_id, action, created_at)"
        " SELECT id, 'void_pending', timestamptz '2025-12-31' + number * interval '1 ms'"
        " FROM numbered",
        count,
        every,
    )


def batches_until_settled(wallet: Wallet, case: Case) -> int:
    """Run batches until *case* is settled; each finds work, so that no lane sleeps between."""
    batches = 0
    while wallet.event_status(case) == "pending":
        assert wallet.settle().written > 0
        batches += 1
    return batches


def test_what_was_just_ordered_is_worked_off_without_a_pause(
    wallet: Wallet, bench: PostgresBench
) -> None:
    pour_poison(bench)
    behind = wallet.add_case(POST)

    assert batches_until_settled(wallet, behind) == POISON // BATCH + 1
    assert_settled(wallet, behind, posted_satang=100)

    later = wallet.add_case(POST)
    assert batches_until_settled(wallet, later) == 1
    assert_settled(wallet, later, posted_satang=100)


def test_what_backs_off_for_ever_is_passed_over(wallet: Wallet, bench: PostgresBench) -> None:
    wallet.policy = RetryPolicy(gives_up=False, backoff=Backoff(first_ms=HOUR_MS, max_ms=HOUR_MS))
    pour_poison(bench)
    for _ in range(POISON // BATCH):
        assert wallet.settle().retried == BATCH
    assert wallet.settle().claimed == 0

    later = wallet.add_case(POST)

    report = wallet.settle()
    assert (report.claimed, report.settled) == (1, 1)
    assert_settled(wallet, later, posted_satang=100)


def test_what_is_due_again_leaves_room_for_what_was_never_tried(
    wallet: Wallet, bench: PostgresBench
) -> None:
    # Backoffs that have ended come first in the order; there are always more than a batch.
    wallet.policy = RetryPolicy(gives_up=False, backoff=Backoff(first_ms=0, max_ms=0))
    pour_poison(bench)
    bench.execute("UPDATE pm.outbox_event SET retry_count = 1")

    for _ in range(3):
        later = wallet.add_case(POST)
        report = wallet.settle()

        assert_settled(wallet, later, posted_satang=100)
        assert report.retried == BATCH - 1, "it takes no more room than it needs"


def test_what_the_database_refuses_holds_nobody_up_for_longer_than_a_batch(
    wallet: Wallet, bench: PostgresBench
) -> None:
    # What was refused is due again at once, so that there is always a batch of it.
    wallet.policy = RetryPolicy(backoff=Backoff(first_ms=0, max_ms=0))
    pour_refused(bench, count=BATCH)
    behind = wallet.add_case(POST)

    assert batches_until_settled(wallet, behind) == 2
    assert_settled(wallet, behind, posted_satang=100)

    later = wallet.add_case(POST)
    report = wallet.settle()
    assert (report.settled, report.refused) == (1, BATCH - 1)
    assert_settled(wallet, later, posted_satang=100)


def test_good_rows_between_refused_ones_settle_in_the_same_batch(
    wallet: Wallet, bench: PostgresBench
) -> None:
    pour_refused(bench, count=BATCH, every=2)

    report = wallet.settle()

    assert (report.failed, report.retried, report.refused) == (BATCH // 2,) * 3
    assert len(wallet.announced()) == BATCH // 2
    assert bench.execute(
        "SELECT e.status, e.retry_count, i.status, count(*), count(a.intent_id), count(r.event_id)"
        " FROM pm.outbox_event e JOIN pm.intent i ON i.id = e.intent_id"
        " LEFT JOIN pm.intent_event a ON a.intent_id = i.id"
        " LEFT JOIN pm.outbox_retry r ON r.event_id = e.id"
        " GROUP BY 1, 2, 3 ORDER BY 1"
    ) == [
        ("pending", 1, "AUTHORIZED", BATCH // 2, 0, BATCH // 2),
        ("processed", 0, "FAILED", BATCH // 2, BATCH // 2, 0),
    ]
