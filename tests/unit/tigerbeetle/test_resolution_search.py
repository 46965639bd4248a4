"""Finding transfers that somebody else sent."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from adapters.tigerbeetle.resolution_search import PAGE_EVENTS, PAGES_MAX, find_resolutions
from application.errors import LedgerUnavailableError
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId
from tests.helpers.scripted_tigerbeetle import Hang, ScriptedClient, ScriptedTigerBeetle
from tests.unit.tigerbeetle.ledgers import LONG_S, SHORT_S, LedgerMaker

INTENT_ID = IntentId(uuid4())
FEE_CODE = 77
NOSTRO = AccountId(900)


def a_pending(transfer_id: int, *, at: int, payer: int = 1) -> Transfer:
    return Transfer(
        id=TransferId(transfer_id),
        debit_account_id=AccountId(payer),
        credit_account_id=AccountId(2),
        amount=100,
        ledger=1,
        code=10,
        flags=TransferFlags.PENDING,
        timestamp_ns=at,
    )


def post_of(pending: Transfer, transfer_id: int, *, at: int, intent: int = 0) -> Transfer:
    """Return the post as the cluster keeps it: with what it inherited."""
    return Transfer(
        id=TransferId(transfer_id),
        debit_account_id=pending.debit_account_id,
        credit_account_id=pending.credit_account_id,
        amount=pending.amount,
        pending_id=pending.id,
        user_data_128=intent,
        ledger=pending.ledger,
        code=pending.code,
        flags=TransferFlags.POST_PENDING_TRANSFER,
        timestamp_ns=at,
    )


def a_fee(transfer_id: int, *, at: int, intent: int = 0, code: int = FEE_CODE) -> Transfer:
    return Transfer(
        id=TransferId(transfer_id),
        debit_account_id=AccountId(800),
        credit_account_id=NOSTRO,
        amount=2,
        user_data_128=intent,
        ledger=1,
        code=code,
        timestamp_ns=at,
    )


def search_for(*pendings: Transfer) -> ResolutionSearch:
    return ResolutionSearch(
        intent_id=INTENT_ID,
        pendings=pendings,
        fee_code=FEE_CODE,
        fee_credit_account_id=NOSTRO,
    )


def test_resolutions_and_fees_that_carry_the_intents_id_need_no_account_scan(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    pending = a_pending(1, at=10)
    cluster.transfers = [
        post_of(pending, 5, at=20, intent=INTENT_ID.int),
        a_fee(6, at=30, intent=INTENT_ID.int),
        a_fee(7, at=40, intent=INTENT_ID.int, code=1),
        a_fee(8, at=50),
    ]

    found = a_ledger(cluster).find_resolutions(search_for(pending)).transfers

    assert [transfer.id for transfer in found] == [5, 6]
    (fee_query,) = cluster.sent("get_account_transfers")
    assert fee_query[0].account_id == NOSTRO


def test_other_resolutions_are_found_among_the_later_debits_of_their_accounts(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    pendings = [
        a_pending(1, at=10),
        a_pending(2, at=11),
        a_pending(3, at=12, payer=4),
        a_pending(9, at=13, payer=4),
    ]
    stranger = a_pending(99, at=14)
    cluster.transfers = [
        post_of(pendings[0], 5, at=20, intent=INTENT_ID.int),
        post_of(stranger, 6, at=21),
        post_of(pendings[1], 7, at=22),
        post_of(pendings[2], 8, at=24),
    ]

    found = a_ledger(cluster).find_resolutions(search_for(*pendings)).transfers

    assert [transfer.id for transfer in found] == [5, 7, 8]
    scans = [q for (q,) in cluster.sent("get_account_transfers") if q.account_id != NOSTRO]
    assert [(q.account_id, q.timestamp_min) for q in scans] == [(1, 12), (4, 13)]


def test_a_fee_is_looked_for_only_at_the_next_timestamp_after_the_last_of_a_chain(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    pendings = [a_pending(1, at=10), a_pending(2, at=11)]
    cluster.transfers = [
        post_of(pendings[0], 5, at=20, intent=INTENT_ID.int),
        post_of(pendings[1], 6, at=21, intent=INTENT_ID.int),
        a_fee(7, at=22),
        a_fee(8, at=23),
    ]

    found = a_ledger(cluster).find_resolutions(search_for(*pendings)).transfers

    assert [transfer.id for transfer in found] == [5, 6, 7]
    (fee_query,) = cluster.sent("get_account_transfers")
    assert (fee_query[0].timestamp_min, fee_query[0].timestamp_max) == (22, 22)


@pytest.mark.parametrize(
    "changes", [{"fee_credit_account_id": None}, {"fee_code": 0}], ids=["no account", "no code"]
)
def test_no_fee_is_looked_for_when_it_is_not_known_what_one_looks_like(
    a_ledger: LedgerMaker, changes: dict[str, None]
) -> None:
    cluster = ScriptedTigerBeetle()
    pending = a_pending(1, at=10)
    cluster.transfers = [post_of(pending, 5, at=20, intent=INTENT_ID.int), a_fee(6, at=21)]
    search = replace(search_for(pending), **changes)  # type: ignore[arg-type]

    found = a_ledger(cluster).find_resolutions(search).transfers

    assert [transfer.id for transfer in found] == [5]
    assert cluster.sent("get_account_transfers") == []


def test_an_intent_id_of_zero_does_not_match_everybodys_transfers(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.transfers = [a_fee(6, at=21)]
    search = replace(search_for(a_pending(1, at=10)), intent_id=IntentId(UUID(int=0)))

    found = a_ledger(cluster).find_resolutions(search).transfers

    assert found == ()
    assert cluster.sent("query_transfers") == []


def test_a_resolution_behind_many_pages_is_found_and_the_search_stops_there(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    pending, stranger = a_pending(1, at=10), a_pending(99, at=11)
    crowd = [post_of(stranger, 1000 + i, at=20 + i) for i in range(2 * PAGE_EVENTS)]
    later = [post_of(stranger, 9000 + i, at=90_000 + i) for i in range(2 * PAGE_EVENTS)]
    cluster.transfers = [*crowd, post_of(pending, 5, at=50_000), *later]

    found = a_ledger(cluster).find_resolutions(search_for(pending)).transfers

    assert [transfer.id for transfer in found] == [5]
    scans = [q for (q,) in cluster.sent("get_account_transfers") if q.account_id != NOSTRO]
    assert [q.timestamp_min for q in scans] == [11, 20 + PAGE_EVENTS, 20 + 2 * PAGE_EVENTS]


def test_a_search_of_a_busy_account_ends_and_says_so(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    pending, stranger = a_pending(1, at=10), a_pending(99, at=11)
    cluster.transfers = [
        post_of(stranger, 1000 + i, at=20 + i) for i in range(PAGES_MAX * PAGE_EVENTS + 1)
    ]

    with capture_logs() as logs:
        found = a_ledger(cluster).find_resolutions(search_for(pending))

    # The fees that carry the intent's id were all read before.
    assert found == SearchAnswer((), has_all_resolvers=False, has_all_fees=True)
    scans = [q for (q,) in cluster.sent("get_account_transfers") if q.account_id != NOSTRO]
    assert len(scans) == PAGES_MAX
    assert [line["event"] for line in logs] == ["ledger_search_cut_short"]


def test_a_search_that_ends_at_one_account_goes_on_at_the_next(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    busy, quiet, stranger = a_pending(1, at=10), a_pending(2, at=11, payer=4), a_pending(9, at=12)
    crowd = [post_of(stranger, 1000 + i, at=20 + i) for i in range(PAGES_MAX * PAGE_EVENTS + 1)]
    cluster.transfers = [*crowd, post_of(quiet, 5, at=90_000), a_fee(6, at=90_001)]

    found = a_ledger(cluster).find_resolutions(search_for(busy, quiet))

    assert [transfer.id for transfer in found.transfers] == [5, 6]
    assert not found.has_all_resolvers
    assert found.has_all_fees


def an_intent_with_too_many_transfers() -> list[Transfer]:
    stranger = a_pending(99, at=11)
    return [
        post_of(stranger, 1000 + i, at=20 + i, intent=INTENT_ID.int)
        for i in range(PAGES_MAX * PAGE_EVENTS + 1)
    ]


def test_an_intent_with_too_many_transfers_may_have_a_fee_that_is_not_found(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    pending = a_pending(1, at=10)
    cluster.transfers = [
        post_of(pending, 5, at=15, intent=INTENT_ID.int),
        *an_intent_with_too_many_transfers(),
        a_fee(6, at=90_000, intent=INTENT_ID.int),
    ]

    found = a_ledger(cluster).find_resolutions(search_for(pending))

    assert [transfer.id for transfer in found.transfers] == [5]
    assert found.has_all_resolvers
    assert not found.has_all_fees


def test_a_search_for_fees_alone_is_not_lost_among_other_transfers(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.transfers = [
        *an_intent_with_too_many_transfers(),
        a_fee(6, at=90_000, intent=INTENT_ID.int),
    ]

    found = a_ledger(cluster).find_resolutions(search_for())

    assert found == SearchAnswer((cluster.transfers[-1],))
    assert len(cluster.requests) == 1


# Time.


def search_with_time_for(
    requests: int, cluster: ScriptedTigerBeetle, search: ResolutionSearch
) -> SearchAnswer:
    """Search *cluster*; after so many requests the time is over."""
    client = cluster.make_client(0, "")

    def has_time() -> bool:
        return len(cluster.requests) < requests

    return find_resolutions(search, lambda request: request(client), has_time=has_time)


@pytest.mark.parametrize(
    ("requests", "ids", "has_all_resolvers", "has_all_fees"),
    [
        (0, [], False, False),
        (1, [5], False, False),  # the transfers of the intent are read
        (2, [5, 6], False, True),  # and the fee beside them
        (3, [5, 6], False, True),  # and a page of the other's account
        (4, [5, 6, 7], True, False),  # and its next page
        (5, [5, 6, 7, 8], True, True),  # and the fee beside that
    ],
)
def test_a_search_whose_time_is_over_begins_no_request_and_says_what_may_be_missing(
    requests: int, ids: list[int], has_all_resolvers: bool, has_all_fees: bool
) -> None:
    cluster = ScriptedTigerBeetle()
    tagged, other, stranger = a_pending(1, at=10), a_pending(2, at=11), a_pending(9, at=12)
    cluster.transfers = [
        post_of(tagged, 5, at=20, intent=INTENT_ID.int),
        a_fee(6, at=21),
        *(post_of(stranger, 1000 + i, at=30 + i) for i in range(PAGE_EVENTS)),
        post_of(other, 7, at=90_000),
        a_fee(8, at=90_001),
    ]

    found = search_with_time_for(requests, cluster, search_for(tagged, other))

    assert [transfer.id for transfer in found.transfers] == ids
    assert (found.has_all_resolvers, found.has_all_fees) == (has_all_resolvers, has_all_fees)
    assert len(cluster.requests) == requests


@dataclass(slots=True)
class StoppedClock:
    """Stands for the module ``time``: it goes only when it is told to."""

    now_s: float = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.mark.parametrize(("share", "goes_on"), [(0.49, True), (0.5, False), (0.99, False)])
def test_a_search_ends_early_once_half_of_its_deadline_is_over(
    a_ledger: LedgerMaker, monkeypatch: pytest.MonkeyPatch, share: float, goes_on: bool
) -> None:
    clock, cluster = StoppedClock(), ScriptedTigerBeetle()
    monkeypatch.setattr("adapters.tigerbeetle.ledger.time", clock)
    pending = a_pending(1, at=10)
    cluster.transfers = [post_of(pending, 5, at=20)]

    def take_long(client: ScriptedClient, answer: Callable[[], Any]) -> Any:
        clock.now_s += share * LONG_S
        return answer()

    cluster.script(take_long)

    found = a_ledger(cluster, deadline_s=LONG_S).find_resolutions(search_for(pending))

    assert found.has_all_resolvers is goes_on
    assert [transfer.id for transfer in found.transfers] == [5] * goes_on


def test_a_ledger_that_is_silent_in_a_search_is_away(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(Hang())
    ledger = a_ledger(cluster, deadline_s=SHORT_S)

    with pytest.raises(LedgerUnavailableError):
        ledger.find_resolutions(search_for(a_pending(1, at=10)))

    assert len(cluster.requests) == 1
