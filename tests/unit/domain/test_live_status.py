"""Which status is news, and which messages are statuses at all."""

import json
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.intents import IntentId, IntentStatus
from domain.live_status import FINAL, StatusSource, StatusUpdate, is_news, parse_message

INTENT = IntentId(UUID("550e8400-e29b-41d4-a716-446655440000"))
IN_ORDER = ("CREATED", "AUTHORIZED", "SETTLING", "MANUAL_REVIEW", "SETTLED")
CHANNEL, DATABASE = StatusSource.CHANNEL, StatusSource.DATABASE


def an_update(status: str, source: StatusSource) -> StatusUpdate:
    return StatusUpdate(intent_id=INTENT, status=status, updated_at=None, source=source)


def parsed(body: str) -> StatusUpdate | None:
    return parse_message(INTENT, body.encode())


@pytest.mark.parametrize("status", [*IntentStatus, "REFUNDED"])
@pytest.mark.parametrize("source", StatusSource)
def test_the_first_status_is_news_whatever_it_is(status: str, source: StatusSource) -> None:
    assert is_news(an_update(status, source), shown=None)


@pytest.mark.parametrize("status", [*IntentStatus, "REFUNDED"])
@pytest.mark.parametrize("source", StatusSource)
def test_a_repeat_is_no_news(status: str, source: StatusSource) -> None:
    assert not is_news(an_update(status, source), shown=status)


@pytest.mark.parametrize(("earlier", "later"), [*pairwise(IN_ORDER)])
def test_a_message_leads_forward_only(earlier: str, later: str) -> None:
    assert is_news(an_update(later, CHANNEL), shown=earlier)
    assert not is_news(an_update(earlier, CHANNEL), shown=later)


@pytest.mark.parametrize("status", ["CREATED", "AUTHORIZED", "SETTLING"])
def test_the_database_also_leads_back(status: str) -> None:
    assert is_news(an_update(status, DATABASE), shown="MANUAL_REVIEW")


@pytest.mark.parametrize("final", sorted(FINAL))
@pytest.mark.parametrize("status", [*IntentStatus, "REFUNDED"])
@pytest.mark.parametrize("source", StatusSource)
def test_nothing_is_news_after_a_final_status(
    final: str, status: str, source: StatusSource
) -> None:
    assert not is_news(an_update(status, source), shown=final)


@pytest.mark.parametrize("status", IntentStatus)
def test_after_an_unknown_status_only_a_final_message_is_news(status: IntentStatus) -> None:
    assert is_news(an_update(status, CHANNEL), shown="REFUNDING") is (status in FINAL)


def test_manual_review_is_not_final() -> None:
    assert not an_update("MANUAL_REVIEW", DATABASE).is_final


@pytest.mark.parametrize("status", IntentStatus)
def test_a_compact_message_is_a_status_without_a_time(status: IntentStatus) -> None:
    assert parsed(f'{{"status":"{status}"}}') == an_update(status, CHANNEL)


@pytest.mark.parametrize(
    ("told", "updated_at"),
    [
        ('"2026-05-29T10:15:30.123Z"', "2026-05-29T10:15:30.123Z"),
        ('"2026-05-29T17:15:30.1+07:00"', "2026-05-29T10:15:30.100Z"),
        ('"2026-05-29T10:15:30.123"', None),
        ('"soon"', None),
        ('"0001-01-01T00:00:00+14:00"', None),
        ("1748513730123", None),
        ("null", None),
    ],
)
def test_the_time_of_a_full_message_is_in_utc_or_left_out(
    told: str, updated_at: str | None
) -> None:
    update = parsed(f'{{"intentId":"{INTENT}","status":"SETTLED","updatedAt":{told}}}')

    assert update is not None
    assert (update.intent_id, update.status) == (INTENT, "SETTLED")
    assert update.updated_at == updated_at


def test_what_a_message_holds_beyond_is_left_alone() -> None:
    assert parsed('{"status":"SETTLED","shard":[7]}') == an_update("SETTLED", CHANNEL)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "SETTLED",
        '"SETTLED"',
        "[]",
        "null",
        "{}",
        '{"status":null}',
        '{"status":["SETTLED"]}',
        '{"status":"settled"}',
        '{"status":"CONFIRM_SENT"}',
        '{"status":"\\ud800"}',
        '{"status":"SETTLED"',
        '{"status":"SETTLED","intentId":"00000000-0000-0000-0000-000000000001"}',
        '{"status":"SETTLED","intentId":7}',
        '{"status":"SETTLED","intentId":null}',
        '{"status":"SETTLED","intentId":"no-uuid"}',
        '{"n":' + "9" * 5_000 + "}",
        "[" * 100_000,
    ],
    ids=lambda body: body[:40],
)
def test_what_is_no_status_of_the_intent_is_ignored(body: str) -> None:
    assert parsed(body) is None


def test_bytes_that_are_no_text_are_ignored() -> None:
    assert parse_message(INTENT, b'{"status":"SETTLED\xff"}') is None


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_no_message_raises(body: bytes) -> None:
    parse_message(INTENT, body)
