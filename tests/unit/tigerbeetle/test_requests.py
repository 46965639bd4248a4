"""What is sent: whole chains, within the cluster's limit, nothing invalid."""

from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from application.errors import LedgerUnavailableError
from domain.ledger_requests import ChainAnswer, ChainRefused
from domain.transfer_status import TransferStatus
from domain.transfers import Transfer, TransferFlags, TransferId
from tests.helpers.scripted_tigerbeetle import ScriptedTigerBeetle
from tests.unit.tigerbeetle.ledgers import LedgerMaker, a_chain, a_transfer

CREATED = TransferStatus.CREATED


def sent_ids(cluster: ScriptedTigerBeetle) -> list[list[int]]:
    return [[event.id for event in events] for events in cluster.sent("create_transfers")]


def taken_ids(cluster: ScriptedTigerBeetle) -> list[list[int]]:
    return [ids for ids in sent_ids(cluster) if len(ids) <= cluster.create_events_max]


def test_many_chains_go_in_one_request_in_their_order(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()

    answers = a_ledger(cluster).create_chains([a_chain(1, 2), a_chain(5), a_chain(3, 2)])

    assert answers == [(CREATED, CREATED), (CREATED,), (CREATED, CREATED)]
    assert sent_ids(cluster) == [[1, 2, 5, 3, 4]]


def test_nothing_is_sent_for_nothing(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)

    assert ledger.create_chains([]) == []
    assert ledger.lookup([]) == {}
    assert cluster.addresses == []


def test_a_chain_is_never_split_over_two_requests(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, request_events_max=5)

    ledger.create_chains([a_chain(1, 3), a_chain(4, 3), a_chain(7, 2), a_chain(9, 5)])

    assert sent_ids(cluster) == [[1, 2, 3], [4, 5, 6, 7, 8], [9, 10, 11, 12, 13]]


def test_a_smaller_limit_of_the_cluster_is_learned_once_and_remembered(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle(create_events_max=7)
    ledger = a_ledger(cluster, request_events_max=16)
    chains = [a_chain(first, 2) for first in range(1, 41, 2)]

    with capture_logs() as logs:
        answers = ledger.create_chains(chains)

    assert answers == [(CREATED, CREATED)] * 20
    assert [len(ids) for ids in sent_ids(cluster)] == [16, 8] + [4] * 10
    assert [i for ids in taken_ids(cluster) for i in ids] == list(range(1, 41))
    assert [line["events_max"] for line in logs] == [8, 4]

    cluster.requests.clear()
    assert ledger.create_chains(chains[:4]) == [(CREATED, CREATED)] * 4
    assert [len(ids) for ids in sent_ids(cluster)] == [4, 4]
    assert len(cluster.clients) == 1


def test_a_limit_far_below_the_setting_is_found_whatever_the_size_of_the_request(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle(create_events_max=2)
    ledger = a_ledger(cluster)

    answers = ledger.create_chains([a_chain(i) for i in range(1, 6)])

    assert answers == [(CREATED,)] * 5
    assert taken_ids(cluster) == [[1, 2], [3, 4], [5]]


def test_only_the_chain_that_no_request_holds_is_refused(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle(create_events_max=10)
    ledger = a_ledger(cluster)

    answers = ledger.create_chains(
        [a_chain(1), a_chain(2, 2), a_chain(100, 11), a_chain(4, 2), a_chain(200, 10), a_chain(6)]
    )

    short, refused, long = answers[0], answers[2], answers[4]
    assert short == (CREATED,)
    assert isinstance(refused, ChainRefused)
    assert "11 transfers" in refused.detail
    assert long == (CREATED,) * 10
    assert [i for ids in taken_ids(cluster) for i in ids] == [1, 2, 3, 4, 5, *range(200, 210), 6]


def test_a_chain_that_is_too_long_costs_others_no_more_than_half_the_limit(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle(create_events_max=100)
    ledger = a_ledger(cluster, request_events_max=100)

    ledger.create_chains([a_chain(1000, 101)])
    ledger.create_chains([a_chain(i) for i in range(1, 101)])
    assert [len(ids) for ids in taken_ids(cluster)] == [100]

    cluster.requests.clear()
    ledger.create_chains([a_chain(1000, 101), *(a_chain(i) for i in range(1, 101))])
    assert [len(ids) for ids in taken_ids(cluster)] == [100]


def test_the_limits_of_creating_and_looking_up_are_learned_apart(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle(create_events_max=2, lookup_events_max=5)
    ledger = a_ledger(cluster, request_events_max=8)

    ledger.create_chains([a_chain(i) for i in range(1, 9)])
    ledger.lookup([TransferId(i) for i in range(1, 9)])

    assert [len(ids) for ids in cluster.sent("lookup_transfers")] == [8, 4, 4]


def test_a_cluster_that_takes_not_even_one_id_is_unavailable(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle(lookup_events_max=0)

    with pytest.raises(LedgerUnavailableError, match="TooMuchDataError"):
        a_ledger(cluster).lookup([TransferId(1), TransferId(2)])


@pytest.mark.parametrize(
    ("field", "value", "detail"),
    [
        ("id", True, "id is no unsigned integer"),
        ("id", "7", "id is no unsigned integer"),
        ("id", UUID(int=7), "id is no unsigned integer"),
        ("pending_id", None, "pending_id is no unsigned integer"),
        ("amount", 1.0, "amount is no unsigned integer"),
        ("amount", Decimal(1), "amount is no unsigned integer"),
        ("amount", -1, "amount is no unsigned integer of 128 bits"),
        ("id", 2**128, "id is no unsigned integer of 128 bits"),
        ("debit_account_id", 2**128, "debit_account_id is no unsigned integer of 128 bits"),
        ("credit_account_id", -1, "credit_account_id is no unsigned integer of 128 bits"),
        ("user_data_128", 2**128, "user_data_128 is no unsigned integer of 128 bits"),
        ("user_data_64", 2**64, "user_data_64 is no unsigned integer of 64 bits"),
        ("user_data_32", 2**32, "user_data_32 is no unsigned integer of 32 bits"),
        ("timeout_s", 2**32, "timeout_s is no unsigned integer of 32 bits"),
        ("ledger", 2**32, "ledger is no unsigned integer of 32 bits"),
        ("code", 2**16, "code is no unsigned integer of 16 bits"),
        ("flags", 2**16, "flags is no unsigned integer of 16 bits"),
        ("flags", False, "flags is no unsigned integer"),
        ("timestamp_ns", 2**64, "timestamp_ns is no unsigned integer of 64 bits"),
    ],
)
def test_a_value_that_the_client_would_refuse_or_bend_costs_its_own_chain_only(
    a_ledger: LedgerMaker, field: str, value: object, detail: str
) -> None:
    cluster = ScriptedTigerBeetle()
    changes: dict[str, Any] = {field: value}
    bad = replace(a_transfer(2), **changes)

    answers = a_ledger(cluster).create_chains([a_chain(1), (bad,), a_chain(3)])

    assert [answers[0], answers[2]] == [(CREATED,), (CREATED,)]
    assert isinstance(answers[1], ChainRefused)
    assert detail in answers[1].detail
    assert sent_ids(cluster) == [[1, 3]]


def linked(transfer: Transfer) -> Transfer:
    return replace(transfer, flags=transfer.flags | TransferFlags.LINKED)


@pytest.mark.parametrize(
    ("chain", "detail"),
    [
        ((), "empty chain"),
        ((linked(a_transfer(2)),), "open chain"),
        ((linked(a_transfer(2)), linked(a_transfer(3))), "open chain"),
        ((a_transfer(2), a_transfer(3)), "torn chain: member 0"),
    ],
)
def test_what_is_not_one_closed_chain_is_refused_and_touches_no_other(
    a_ledger: LedgerMaker, chain: tuple[Transfer, ...], detail: str
) -> None:
    cluster = ScriptedTigerBeetle()

    first: ChainAnswer
    first, refused, last = a_ledger(cluster).create_chains([a_chain(1), chain, a_chain(9)])

    assert (first, last) == ((CREATED,), (CREATED,))
    assert isinstance(refused, ChainRefused)
    assert detail in refused.detail
    assert sent_ids(cluster) == [[1, 9]]


def test_a_batch_of_nothing_but_refused_chains_needs_no_ledger(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()

    (refused,) = a_ledger(cluster).create_chains([()])

    assert isinstance(refused, ChainRefused)
    assert cluster.addresses == []


def test_ids_are_looked_up_once_and_those_out_of_range_never(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)
    odd: list[Any] = [-1, 2**128, 2**128 + 5, True, "5", None, 5.0, UUID(int=5)]

    found = ledger.lookup([TransferId(5), *odd, TransferId(5), TransferId(2**128 - 1)])

    assert found == {}
    assert cluster.sent("lookup_transfers") == [[5, 2**128 - 1]]
