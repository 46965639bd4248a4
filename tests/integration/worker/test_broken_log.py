"""Nobody takes the worker's log any more: it settles all the same, and ends in order."""

import sys
from collections.abc import Sequence

import pytest
from redis import Redis

from adapters.memory.remote_ledger import SCHEME
from entrypoints.sandbox.resources import free_port
from tests.helpers.worker_process import CONSOLE_SCRIPT
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import PaymentManager, assert_on_stream_once

pytestmark = pytest.mark.integration

IN_A_PIPE_THAT_NOBODY_READS = """
import os, sys
reading, writing = os.pipe()
os.dup2(writing, 2)
os.close(reading)
os.close(writing)
os.execv(sys.argv[1], sys.argv[1:])
"""
READER_GONE = (sys.executable, "-c", IN_A_PIPE_THAT_NOBODY_READS)
DISK_FULL = ("sh", "-c", 'exec "$@" 2>/dev/full', "sh")


@pytest.mark.parametrize("broken", [READER_GONE, DISK_FULL], ids=["reader gone", "disk full"])
def test_log_that_cannot_be_written_stops_no_work(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
    broken: Sequence[str],
) -> None:
    payments = payment_manager.order(60)
    worker = start_worker(
        *broken,
        CONSOLE_SCRIPT,
        "run",
        **settings
        | {
            "TIGERBEETLE_ADDRESSES": SCHEME + settings["TIGERBEETLE_ADDRESSES"],
            "OUTBOX_BATCH_SIZE": "10",
            "OUTBOX_HEALTH_PORT": str(free_port()),
        },
    )

    payment_manager.wait_delivered(worker)

    assert worker.probe("/livez") == (200, {"alive": True})
    assert worker.probe("/readyz")[0] == 200
    assert worker.stop() == 0
    assert worker.lines == []
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
