"""A row that Postgres refuses costs only its own event, and few statements."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from application.errors import DatabaseUnavailableError, OutboxError, RowsRefusedError
from application.writing import write_all
from domain.conclusions import Acknowledge, Conclusion, Retry, StatusMessage
from domain.fees import AccountCode, MappedAccount
from domain.intents import ClaimedEvent, EventId, IntentId, IntentStatus
from domain.transfers import AccountId
from domain.verdicts import RetryReason

POSTPONED_MS = 300_000


@dataclass(slots=True)
class FakeBatch:
    """Implements ``ClaimedBatch``: refuses any write with a conclusion for one of its ids."""

    refused: set[int] = field(default_factory=set)
    refused_retries: set[int] = field(default_factory=set)
    lost: bool = False
    written: list[Conclusion] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    events: Sequence[ClaimedEvent] = ()
    mapped: Sequence[AccountId] = ()

    @property
    def writes(self) -> int:
        return len(self.sizes)

    def fee_accounts(self, codes: Collection[AccountCode]) -> Mapping[AccountCode, MappedAccount]:
        return {}

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        return self.mapped[:limit]

    def write(self, conclusions: Sequence[Conclusion]) -> Sequence[StatusMessage]:
        assert conclusions, "an empty write is a wasted round trip"
        self.sizes.append(len(conclusions))
        if self.lost:
            raise DatabaseUnavailableError("the connection is gone")
        for conclusion in conclusions:
            refused = self.refused
            if isinstance(conclusion, Retry):
                refused = set() if conclusion.delay_ms == POSTPONED_MS else self.refused_retries
            if conclusion.event_id in refused:
                raise RowsRefusedError(f"value too long in event {conclusion.event_id}")
        self.written += conclusions
        return [message_of(conclusion) for conclusion in conclusions]


def message_of(conclusion: Conclusion) -> StatusMessage:
    return StatusMessage(
        intent_id=conclusion.intent_id,
        status=IntentStatus.SETTLED,
        updated_at=datetime(2026, 5, 29, tzinfo=UTC),
    )


def conclusion(number: int) -> Acknowledge:
    return Acknowledge(event_id=EventId(number), intent_id=IntentId(UUID(int=number)))


def retry_instead(refused: Conclusion, refusal: OutboxError) -> Retry:
    return Retry(
        event_id=refused.event_id,
        intent_id=refused.intent_id,
        reason=RetryReason.UNFORESEEN,
        last_error=str(refusal),
        delay_ms=0,
        attempts=1,
        generations=(),
    )


def postpone_instead(refused: Conclusion, refusal: OutboxError) -> Retry:
    return replace(retry_instead(refused, refusal), delay_ms=POSTPONED_MS)


def conclusions(count: int) -> list[Conclusion]:
    return [conclusion(number) for number in range(count)]


def test_an_ordinary_batch_is_one_write() -> None:
    batch = FakeBatch()

    written = write_all(batch, conclusions(500), [retry_instead])

    assert batch.writes == 1
    assert written.conclusions == batch.written == conclusions(500)
    assert written.messages == [message_of(each) for each in conclusions(500)]


def test_an_empty_batch_is_no_write() -> None:
    batch = FakeBatch()

    assert write_all(batch, [], [retry_instead]).conclusions == []
    assert batch.writes == 0


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_one_refused_row_is_replaced_after_all_others_are_written(count: int) -> None:
    for bad in range(count):
        batch = FakeBatch(refused={bad})

        written = write_all(batch, conclusions(count), [retry_instead])

        replaced = retry_instead(
            conclusion(bad), RowsRefusedError(f"value too long in event {bad}")
        )
        good = [c for c in conclusions(count) if c.event_id != bad]
        assert written.conclusions == batch.written == [*good, replaced]
        assert written.refused == 1


def test_one_refused_row_of_500_costs_few_writes() -> None:
    batch = FakeBatch(refused={321})

    write_all(batch, conclusions(500), [retry_instead])

    assert batch.writes <= 21


@pytest.mark.parametrize(
    "refused",
    [
        set(range(500)),
        set(range(499)),
        set(range(1, 500)),
        set(range(250)),
        set(range(250, 500)),
        set(range(0, 500, 2)),
        set(range(500)) - set(range(0, 500, 3)),
    ],
    ids=["all", "all_but_last", "all_but_first", "former", "latter", "half", "two_of_three"],
)
def test_many_refused_rows_cost_a_write_each_and_their_substitutes_one(refused: set[int]) -> None:
    batch = FakeBatch(refused=refused)

    written = write_all(batch, conclusions(500), [retry_instead])

    # The search for the first one comes on top, and the write of all substitutes.
    assert batch.writes <= 500 + 12
    assert batch.sizes[-1] == written.refused == len(refused)


def test_good_rows_behind_a_bad_first_one_are_soon_written_together_again() -> None:
    batch = FakeBatch(refused={0})

    write_all(batch, conclusions(500), [retry_instead])

    assert batch.writes <= 20


@given(
    st.integers(min_value=0, max_value=20),
    st.sets(st.integers(min_value=0, max_value=20)),
    st.sets(st.integers(min_value=0, max_value=20)),
)
def test_each_event_is_written_once_or_left_alone(
    count: int, refused: set[int], refused_retries: set[int]
) -> None:
    batch = FakeBatch(refused=refused, refused_retries=refused_retries)

    with capture_logs():
        written = write_all(batch, conclusions(count), [retry_instead])

    assert written.conclusions == batch.written
    assert sorted(c.event_id for c in written.conclusions) == [
        number for number in range(count) if number not in refused & refused_retries
    ]
    assert written.refused == len(refused & set(range(count)))
    assert batch.writes <= 4 * count + 1
    for each in written.conclusions:
        assert isinstance(each, Retry) is (each.event_id in refused)
    assert [m.intent_id for m in written.messages] == [c.intent_id for c in written.conclusions]


def test_an_event_of_which_not_even_the_refusal_can_be_noted_is_logged_and_left_alone() -> None:
    batch = FakeBatch(refused={1}, refused_retries={1})

    with capture_logs() as logs:
        written = write_all(batch, conclusions(3), [retry_instead])

    assert [c.event_id for c in written.conclusions] == [0, 2]
    assert [(line["event"], line["event_id"], line["log_level"]) for line in logs] == [
        ("outbox: event cannot be written", 1, "error")
    ]


def test_the_next_substitute_is_written_if_the_first_is_refused_too() -> None:
    batch = FakeBatch(refused={1}, refused_retries={1})

    with capture_logs() as logs:
        written = write_all(batch, conclusions(3), [retry_instead, postpone_instead])

    assert logs == []
    assert written.conclusions == batch.written
    assert [type(each) for each in written.conclusions] == [Acknowledge, Acknowledge, Retry]


def test_a_lost_connection_ends_it() -> None:
    batch = FakeBatch(lost=True)

    with pytest.raises(DatabaseUnavailableError):
        write_all(batch, conclusions(4), [retry_instead])

    assert batch.writes == 1
