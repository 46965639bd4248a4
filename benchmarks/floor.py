"""The SQL floor: as many sessions as ours has lanes, and one that delivers, call procedures."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg

from domain.intents import Intent, IntentId, IntentStatus, UserId
from domain.notifications import notifications_for

_PROCEDURES: Final = Path(__file__).with_name("floor.sql")
_PAUSE_S: Final = 0.002


def install_floor(connection: psycopg.Connection) -> None:
    """Add the procedures, in a schema of their own."""
    connection.execute(_PROCEDURES.read_bytes())


def settle_at_the_floor(url: str, *, lanes: int, batch_size: int, delivery_batch_size: int) -> None:
    """Settle every pending event, and deliver every job, by *lanes* sessions and one more.

    Each call of a procedure is a transaction.
    """
    buyer, merchant = _job_templates()
    lanes_ended = threading.Event()

    def settle() -> None:
        _repeat(url, "SELECT bench.settle(%s, %s, %s)", [batch_size, buyer, merchant], until=None)

    def deliver() -> None:
        _repeat(url, "SELECT bench.deliver(%s)", [delivery_batch_size], until=lanes_ended.is_set)

    with ThreadPoolExecutor(lanes + 1) as sessions:
        settling = [sessions.submit(settle) for _ in range(lanes)]
        delivering = sessions.submit(deliver)
        try:
            for lane in settling:
                lane.result()
        finally:
            lanes_ended.set()
        delivering.result()


def _repeat(
    url: str, call: str, arguments: list[object], *, until: Callable[[], bool] | None
) -> None:
    """Call until nothing was left to do, and *until* says that nothing will come."""
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            # Asked before, lest something comes between the last call and the question.
            is_last = until is None or until()
            [(count,)] = connection.execute(call.encode(), arguments).fetchall()
            if count:
                continue
            if is_last:
                return
            time.sleep(_PAUSE_S)


def _job_templates() -> tuple[str, str]:
    """Return the texts of two jobs as ours have them; only their size matters."""
    intent = Intent(
        id=IntentId(UUID(int=1)),
        status="AUTHORIZED",
        operation_type="INVOICE_PAYMENT",
        amount_satang=1_234_56,
        currency="THB",
        user_id=UserId(UUID(int=2)),
        issued_by_user_id=UserId(UUID(int=3)),
        metadata_json=f'{{"traceId":"{UUID(int=4).hex}"}}',
        tb_transfer_ids=(),
    )
    buyer, merchant = notifications_for(intent, IntentStatus.SETTLED)
    return buyer.job_json, merchant.job_json
