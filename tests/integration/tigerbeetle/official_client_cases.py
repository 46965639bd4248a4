"""What ``test_official_client`` runs, each case in a process of its own.

The client aborts its process where the kernel refuses io_uring, and on some mistakes; that
must not end the test run.
"""

import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tigerbeetle as tb

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.official_client import official_client
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import MendedClient
from application.errors import LedgerUnavailableError, MisconfiguredError
from domain.transfer_status import UnknownStatus
from domain.transfers import Transfer, TransferFlags, TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.holdings import Holdings, nothing_left, resident_bytes

# Nobody listens there, and the kernel gives it to nobody.
NOBODY = "127.0.0.1:1"
DEADLINE_S = 0.3
# On a machine that does other things too. Without a deadline, calls would never end.
FAR_BEYOND_S = 20.0
# About what one client needs.
CLIENT_BYTES = 20_000_000


def a_ledger(addresses: str = NOBODY, *, deadline_s: float = DEADLINE_S) -> TigerBeetleLedger:
    return TigerBeetleLedger(addresses=addresses, cluster_id=0, deadline_s=deadline_s)


def assert_unavailable(ledger: TigerBeetleLedger) -> None:
    started_s = time.monotonic()
    with pytest.raises(LedgerUnavailableError):
        ledger.lookup([TransferId(1)])
    assert time.monotonic() - started_s < FAR_BEYOND_S


def os_threads() -> int:
    """Return how many threads the process has, the client's own included."""
    return len(list(Path("/proc/self/task").iterdir()))


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def logged_lines() -> list[logging.LogRecord]:
    """Collect from now on whatever is logged, at every level."""
    handler = _Lines()
    logging.basicConfig(level=logging.DEBUG, handlers=[handler])
    return handler.records


def wait_call_in_flight() -> None:
    wait_until(
        lambda: any("-worker-" in thread.name for thread in threading.enumerate()),
        what="the call is in flight",
    )


def a_client_can_be_made() -> None:
    official_client(0, NOBODY).close()


def a_silent_cluster_is_unavailable_at_the_deadline_and_the_client_closes_cleanly() -> None:
    ledger = a_ledger()
    assert_unavailable(ledger)
    ledger.close()
    wait_until(lambda: os_threads() == 1, what="all threads have ended")


def lanes_that_time_out_together_all_come_back() -> None:
    ledger = a_ledger()
    came_back: list[int] = []

    def lane(number: int) -> None:
        for _ in range(3):
            assert_unavailable(ledger)
        came_back.append(number)

    lanes = [threading.Thread(target=lane, args=(number,)) for number in range(3)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    assert sorted(came_back) == [0, 1, 2]
    ledger.close()


def many_deadlines_leave_nothing_behind() -> None:
    ledger = a_ledger(deadline_s=0.02)
    for _ in range(5):
        assert_unavailable(ledger)
    wait_until(lambda: os_threads() == 1, what="all threads have ended")
    before_bytes = resident_bytes()
    with nothing_left():
        for _ in range(30):
            assert_unavailable(ledger)
    assert os_threads() == 1
    assert resident_bytes() - before_bytes < CLIENT_BYTES


def a_close_that_asserts_leaves_no_client_behind() -> None:
    client = official_client(0, NOBODY)
    # As if a freed call had not left the client yet.
    client._inflight_packets[0] = None  # type: ignore[assignment]
    with pytest.raises(AssertionError):
        client.close()
    assert Holdings.now().clients == 0
    wait_until(lambda: os_threads() == 1, what="its thread has ended")


def the_process_exits_with_a_call_in_flight_and_nothing_closed() -> None:
    ledger = a_ledger(deadline_s=FAR_BEYOND_S)
    threading.Thread(target=ledger.lookup, args=([TransferId(1)],), daemon=True).start()
    wait_call_in_flight()


def close_frees_a_call_in_flight() -> None:
    ledger = a_ledger(deadline_s=FAR_BEYOND_S)
    lane = threading.Thread(target=assert_unavailable, args=(ledger,))
    lane.start()
    wait_call_in_flight()
    ledger.close()
    lane.join(FAR_BEYOND_S)
    assert not lane.is_alive()


def more_addresses_than_a_cluster_has_are_a_misconfiguration() -> None:
    ledger = a_ledger(",".join(["127.0.0.1:3000"] * 20))
    with pytest.raises(MisconfiguredError, match="TIGERBEETLE_ADDRESSES: ADDRESS_LIMIT_EXCEEDED"):
        ledger.lookup([TransferId(1)])


def host_names_are_taken() -> None:
    for addresses in ("localhost:1", "localhost:1, 127.0.0.1:2"):
        ledger = a_ledger(addresses)
        assert_unavailable(ledger)
        ledger.close()


def a_fork_leaves_the_parents_client_alone() -> None:
    ledger = a_ledger()
    assert_unavailable(ledger)
    other = a_ledger(deadline_s=FAR_BEYOND_S)
    lane = threading.Thread(target=assert_unavailable, args=(other,))
    lane.start()
    wait_call_in_flight()

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert_unavailable(ledger)
            ledger.close()
            other.close()
            code = 0
        finally:
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert lane.is_alive()
    other.close()
    lane.join(FAR_BEYOND_S)
    assert not lane.is_alive()


def the_library_is_sent_the_same_bytes_every_way_and_every_status_is_an_answer() -> None:
    """The library's echo client sends events back as results: 16 of their bytes for each."""
    tb.bindings.tb_client_init = tb.bindings.tb_client_init_echo
    odd_status = 4711
    assert odd_status not in set(tb.CreateTransferStatus)
    transfers = [
        Transfer(id=TransferId(odd_status << 64), code=7, flags=TransferFlags.LINKED),
        Transfer(id=TransferId(2**128 - 1), amount=2**127 + 1, timestamp_ns=2**63 + 5),
    ]
    ids = [TransferId(2**128 - number) for number in range(1, 65)]
    official = official_client(0, NOBODY)

    mended, packed = MendedClient(official), PackedClient(official)

    statuses = packed.create_transfers(transfers)
    assert statuses[0] == UnknownStatus(odd_status)
    assert len(statuses) == 16
    assert mended.create_transfers(transfers) == statuses
    found = packed.lookup_transfers(ids)
    assert found[0].id == ids[0]
    assert mended.lookup_transfers(ids) == found
    official.close()


def failed_attempts_to_connect_do_not_fill_the_log() -> None:
    lines = logged_lines()

    assert_unavailable(a_ledger(deadline_s=1.0))

    assert any(line.name == "tigerbeetle" for line in lines), "nothing was forwarded"
    assert {line.levelno for line in lines if line.name == "tigerbeetle"} == {logging.DEBUG}


def errors_of_the_client_are_forwarded_as_errors() -> None:
    lines = logged_lines()
    from adapters.tigerbeetle.official_client import _forward_log

    message = b"session evicted: reason=\xff"
    _forward_log(tb.LogLevel.ERR, ctypes.cast(ctypes.c_char_p(message), ctypes.c_void_p), 25)

    (line,) = lines
    assert (line.name, line.levelno) == ("tigerbeetle", logging.ERROR)
    assert line.getMessage() == "session evicted: reason=\ufffd"


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        a_silent_cluster_is_unavailable_at_the_deadline_and_the_client_closes_cleanly,
        lanes_that_time_out_together_all_come_back,
        many_deadlines_leave_nothing_behind,
        a_close_that_asserts_leaves_no_client_behind,
        the_process_exits_with_a_call_in_flight_and_nothing_closed,
        close_frees_a_call_in_flight,
        more_addresses_than_a_cluster_has_are_a_misconfiguration,
        host_names_are_taken,
        a_fork_leaves_the_parents_client_alone,
        the_library_is_sent_the_same_bytes_every_way_and_every_status_is_an_answer,
        failed_attempts_to_connect_do_not_fill_the_log,
        errors_of_the_client_are_forwarded_as_errors,
    )
}

if __name__ == "__main__":
    {**CASES, a_client_can_be_made.__name__: a_client_can_be_made}[sys.argv[1]]()
    print("held")
