"""The client under the adapter stops answering, is evicted, or cannot be made."""

import signal
import threading

import pytest
from structlog.testing import capture_logs
from tigerbeetle import (
    Account,
    ClientClosedError,
    ClientEvictedError,
    ClientReleaseTooHighError,
    ClientReleaseTooLowError,
    InitStatus,
)
from tigerbeetle.client import InitError

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.client_holder import EPOCHS_OPEN_MAX, ClientHolder
from adapters.tigerbeetle.errors import NoAnswerError
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from application.errors import LedgerUnavailableError, MisconfiguredError
from domain.transfer_status import TransferStatus, UnknownStatus
from domain.transfers import AccountId, TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.scripted_tigerbeetle import WAIT_S, Hang, ScriptedTigerBeetle, raises, replies
from tests.unit.tigerbeetle.ledgers import (
    LONG_S,
    SHORT_S,
    LedgerMaker,
    a_chain,
    adapter_threads,
    in_lane,
)

CREATED = [(TransferStatus.CREATED,)]


def look_up(client: Client) -> object:
    return client.lookup_transfers([1])


def assert_answers(ledger: TigerBeetleLedger) -> None:
    assert ledger.create_chains([a_chain(1)]) == CREATED


def test_no_client_is_made_before_the_first_call(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()

    ledger = a_ledger(cluster)
    assert cluster.addresses == []

    assert_answers(ledger)
    assert_answers(ledger)
    assert cluster.addresses == ["127.0.0.1:3000"]


def test_a_call_without_answer_comes_back_at_the_deadline_with_outcome_unknown(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(hang := Hang())
    ledger = a_ledger(cluster, deadline_s=SHORT_S)

    # All that silence can mean: away, paused, no free slot, another cluster's id.
    with pytest.raises(
        LedgerUnavailableError,
        match=r"outcome unknown: .* TIGERBEETLE_ADDRESSES and TIGERBEETLE_CLUSTER_ID, and run",
    ):
        ledger.create_chains([a_chain(1)])

    assert hang.entered.is_set()
    wait_until(lambda: cluster.closes == [1], what="the silent client is closed")
    assert_answers(ledger)
    assert cluster.closes == [1, 0]


def test_the_same_transfers_are_sent_again_after_a_lost_answer(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(Hang())
    ledger = a_ledger(cluster, deadline_s=SHORT_S)
    chains = [a_chain(1, 2), a_chain(7)]

    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains(chains)
    ledger.create_chains(chains)

    first, second = cluster.sent("create_transfers")
    assert first == second


@pytest.mark.parametrize("lanes", [2, 3])
def test_lanes_that_wait_on_one_client_all_come_back_and_it_is_replaced_once(
    a_ledger: LedgerMaker, lanes: int
) -> None:
    cluster = ScriptedTigerBeetle()
    hangs = [Hang() for _ in range(lanes)]
    cluster.script(*hangs)
    ledger = a_ledger(cluster, deadline_s=1.0)

    calls = [in_lane(lambda i=i: ledger.create_chains([a_chain(i + 1)])) for i in range(lanes)]  # type: ignore[misc]

    for call in calls:
        with pytest.raises(LedgerUnavailableError, match="outcome unknown"):
            call.result(WAIT_S)
    assert all(hang.entered.is_set() for hang in hangs)
    assert_answers(ledger)
    wait_until(lambda: cluster.closes == [1, 0], what="one client is closed, one in use")


def test_a_lane_whose_deadline_is_far_comes_back_with_the_first_that_expires() -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(patient_call := Hang(), Hang())
    cluster.close_may_go_on.clear()  # so only the holder can free the patient lane
    holder = ClientHolder(lambda: cluster.make_client(0, "3000"), close_timeout_s=LONG_S)
    patient = in_lane(lambda: holder.call(look_up, timeout_s=LONG_S))
    patient_call.wait_entered()

    with pytest.raises(NoAnswerError):
        holder.call(look_up, timeout_s=SHORT_S)

    with pytest.raises(NoAnswerError):
        patient.result(WAIT_S)
    cluster.close_may_go_on.set()
    holder.close()
    assert cluster.closes == [1]


def test_an_answer_of_the_last_moment_is_used_even_while_another_lane_gives_up(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(slow := Hang())
    ledger = a_ledger(cluster)

    call = in_lane(lambda: ledger.create_chains([a_chain(1)]))
    slow.wait_entered()
    slow.release()

    assert call.result(WAIT_S) == CREATED
    assert cluster.closes == [0]


@pytest.mark.parametrize("error", [ClientEvictedError(), ClientClosedError(), ValueError("odd")])
def test_a_client_that_fails_leaves_the_outcome_unknown_and_is_replaced(
    a_ledger: LedgerMaker, error: Exception
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(raises(error))
    ledger = a_ledger(cluster)

    with pytest.raises(LedgerUnavailableError) as caught:
        ledger.create_chains([a_chain(1)])

    assert caught.value.__cause__ is error
    assert_answers(ledger)
    wait_until(lambda: cluster.closes == [1, 0], what="the failed client is closed")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (ClientReleaseTooLowError(), "older than the cluster accepts"),
        (ClientReleaseTooHighError(), "newer than the cluster"),
    ],
)
def test_a_release_mismatch_is_a_misconfiguration_until_somebody_mends_it(
    a_ledger: LedgerMaker, error: Exception, remedy: str
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(raises(error))
    ledger = a_ledger(cluster)

    with pytest.raises(MisconfiguredError, match=remedy):
        ledger.lookup([TransferId(1)])

    assert_answers(ledger)
    assert len(cluster.clients) == 2


def test_a_release_mismatch_that_was_met_while_idle_is_named_by_the_next_client(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)
    assert_answers(ledger)
    cluster.script(raises(ClientClosedError()), raises(ClientReleaseTooHighError()))

    with pytest.raises(LedgerUnavailableError, match="logger tigerbeetle says why"):
        ledger.lookup([TransferId(1)])
    with pytest.raises(MisconfiguredError, match="newer than the cluster"):
        ledger.lookup([TransferId(1)])

    assert_answers(ledger)
    wait_until(lambda: cluster.closes == [1, 1, 0], what="both are closed")


def test_a_cluster_in_anothers_place_does_not_know_the_session_and_has_nothing_of_ours(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.accounts = [Account(id=1, ledger=1, code=1)]
    ledger = a_ledger(cluster)
    assert list(ledger.lookup_accounts([AccountId(1)])) == [1]
    own, cluster.accounts = cluster.accounts, []
    cluster.script(
        raises(ClientEvictedError()), replies([TransferStatus.PENDING_TRANSFER_NOT_FOUND])
    )

    with pytest.raises(LedgerUnavailableError, match="evicted"):
        ledger.create_chains([a_chain(1)])
    assert ledger.create_chains([a_chain(1)]) == [(TransferStatus.PENDING_TRANSFER_NOT_FOUND,)]
    assert ledger.lookup_accounts([AccountId(1)]) == {}

    cluster.accounts = own
    cluster.script(raises(ClientEvictedError()))
    with pytest.raises(LedgerUnavailableError):
        ledger.lookup_accounts([AccountId(1)])
    assert list(ledger.lookup_accounts([AccountId(1)])) == [1]
    assert_answers(ledger)
    wait_until(lambda: cluster.closes == [1, 1, 0], what="each lost client is closed")


def test_refused_addresses_are_a_misconfiguration_that_names_the_setting(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.init_errors.append(InitError(InitStatus.ADDRESS_LIMIT_EXCEEDED))
    ledger = a_ledger(cluster)

    with pytest.raises(MisconfiguredError, match="TIGERBEETLE_ADDRESSES: ADDRESS_LIMIT_EXCEEDED"):
        ledger.lookup([TransferId(1)])

    assert_answers(ledger)


def test_a_client_without_resources_is_an_outage(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.init_errors.append(InitError(InitStatus.SYSTEM_RESOURCES))
    ledger = a_ledger(cluster)

    with pytest.raises(LedgerUnavailableError, match="SYSTEM_RESOURCES"):
        ledger.lookup([TransferId(1)])

    assert_answers(ledger)


@pytest.mark.parametrize("cluster_id", [-1, 2**128])
def test_a_cluster_id_that_the_client_would_cut_is_a_misconfiguration(
    a_ledger: LedgerMaker, cluster_id: int
) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, cluster_id=cluster_id)

    with pytest.raises(MisconfiguredError, match="TIGERBEETLE_CLUSTER_ID"):
        ledger.lookup([TransferId(1)])

    assert cluster.clients == []


def test_a_client_that_takes_too_long_to_make_is_closed_once_it_is_there(
    a_ledger: LedgerMaker,
) -> None:
    """Resolving a name may take longer than the deadline."""
    cluster = ScriptedTigerBeetle()
    may_be_made = threading.Event()

    def slow_factory(cluster_id: int, addresses: str) -> Client:
        may_be_made.wait(WAIT_S)
        return cluster.make_client(cluster_id, addresses)

    ledger = a_ledger(cluster, deadline_s=SHORT_S, client_factory=slow_factory)

    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains([a_chain(1)])
    may_be_made.set()

    wait_until(lambda: cluster.closes == [1], what="the late client is closed")
    assert cluster.requests == []
    assert_answers(ledger)


def test_an_unknown_status_is_handed_over_and_is_not_success(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(replies([UnknownStatus(4711)]))
    ledger = a_ledger(cluster)

    assert ledger.create_chains([a_chain(1)]) == [(UnknownStatus(4711),)]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_results_that_do_not_match_the_transfers_are_never_success(
    a_ledger: LedgerMaker, count: int
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(replies([TransferStatus.CREATED] * count))
    ledger = a_ledger(cluster)

    with pytest.raises(LedgerUnavailableError, match=f"{count} results for 2 transfers"):
        ledger.create_chains([a_chain(1, 2)])

    assert_answers(ledger)


def test_no_thread_and_no_client_is_left_after_a_hundred_deadlines(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, deadline_s=0.005)

    cluster.script(*[Hang() for _ in range(200)])
    for _ in range(100):
        with pytest.raises(LedgerUnavailableError):
            ledger.lookup([TransferId(1)])

    wait_until(lambda: not adapter_threads(), what="all threads have ended")
    assert len(cluster.clients) > 1
    assert set(cluster.closes) == {1}


def test_calls_one_after_the_other_share_a_worker(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)

    for _ in range(50):
        assert_answers(ledger)

    assert len(cluster.call_threads) == 1
    ledger.close()


def test_a_signal_that_interrupts_the_caller_does_not_reach_into_the_call(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(hang := Hang())
    ledger = a_ledger(cluster)
    interrupted = threading.Event()

    def interrupt(number: int, frame: object) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    def send_signals() -> None:
        hang.wait_entered()
        # Once would not do: one that comes just before the wait begins does not end it.
        while not interrupted.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    sender = in_lane(send_signals)
    try:
        with pytest.raises(KeyboardInterrupt):
            ledger.create_chains([a_chain(1)])
        sender.result(WAIT_S)
    finally:
        signal.signal(signal.SIGUSR1, before)

    hang.release()
    assert_answers(ledger)
    assert cluster.closes == [0]
    assert threading.main_thread().name not in cluster.call_threads


def test_a_close_that_asserts_is_tolerated(a_ledger: LedgerMaker) -> None:
    """The official client's close asserts when freed calls have not yet left it."""
    cluster = ScriptedTigerBeetle()
    cluster.script(Hang())
    cluster.close_error = AssertionError()
    ledger = a_ledger(cluster, deadline_s=SHORT_S)

    with pytest.raises(LedgerUnavailableError):
        ledger.lookup([TransferId(1)])

    assert_answers(ledger)
    wait_until(lambda: cluster.closes == [1, 0], what="the client is closed")


def test_a_close_that_hangs_is_told_and_delays_nobody(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(Hang())
    cluster.close_may_go_on.clear()
    ledger = a_ledger(cluster, deadline_s=SHORT_S, close_timeout_s=SHORT_S)

    with capture_logs() as logs:
        with pytest.raises(LedgerUnavailableError):
            ledger.lookup([TransferId(1)])
        assert_answers(ledger)
        wait_until(
            lambda: any(line["event"] == "ledger_client_close_hangs" for line in logs),
            what="the hanging close is logged",
        )

    cluster.close_may_go_on.set()
    wait_until(lambda: cluster.clients[0].is_closed, what="the close ends after all")


def test_clients_do_not_pile_up_when_every_close_hangs(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.close_may_go_on.clear()
    ledger = a_ledger(cluster, deadline_s=SHORT_S)

    for _ in range(EPOCHS_OPEN_MAX):
        cluster.script(Hang())
        with pytest.raises(LedgerUnavailableError, match="no answer"):
            ledger.lookup([TransferId(1)])
    with pytest.raises(LedgerUnavailableError, match="restart the process"):
        ledger.lookup([TransferId(1)])

    assert len(cluster.clients) == EPOCHS_OPEN_MAX
    cluster.close_may_go_on.set()
    wait_until(lambda: all(c.is_closed for c in cluster.clients), what="the closes end")
    wait_until(lambda: not adapter_threads(), what="their threads end")
    assert_answers(ledger)


def test_an_outage_is_told_once_and_its_end_once(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)

    with capture_logs() as logs:
        assert_answers(ledger)
        for _ in range(3):
            cluster.script(raises(ClientEvictedError()))
            with pytest.raises(LedgerUnavailableError):
                ledger.lookup([TransferId(1)])
        assert_answers(ledger)
        assert_answers(ledger)

    # The worker says it too, to everybody; here it is for whoever looks into the client.
    told = [line["event"] for line in logs if line["event"] != "ledger_client_close_failed"]
    assert told == ["ledger_client_lost", "ledger_client_recovered"]
    assert {line["log_level"] for line in logs} == {"debug"}
