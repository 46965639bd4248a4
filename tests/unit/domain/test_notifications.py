"""Who is told what when an intent becomes final."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.audience import OperationType
from domain.intents import Intent, IntentId, IntentStatus, UserId
from domain.notifications import TRACE_ID_LENGTH_MAX, notification_id_of, notifications_for

PAYER = UserId(UUID("aaaaaaaa-0000-4000-8000-000000000001"))
MERCHANT = UserId(UUID("bbbbbbbb-0000-4000-8000-000000000002"))
RECIPIENT = UserId(UUID("cccccccc-0000-4000-8000-000000000003"))

INTENT = Intent(
    id=IntentId(UUID("550e8400-e29b-41d4-a716-446655440000")),
    status="AUTHORIZED",
    operation_type="INVOICE_PAYMENT",
    amount_satang=123_450,
    currency="THB",
    user_id=PAYER,
    issued_by_user_id=MERCHANT,
    metadata_json=None,
    tb_transfer_ids=(),
)

UNREADABLE = {
    "absent": None,
    "empty": "",
    "not JSON": "{",
    "an array": "[]",
    "null": "null",
    "a string": '"x"',
    "nested too deep": "[" * 100_000 + "]" * 100_000,
    "an object nested too deep": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a number of 10,000 digits": '{"n":' + "9" * 10_000 + "}",
}
unreadable = pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for name, text in UNREADABLE.items()]
)

any_text = st.text(st.characters(codec=None))  # lone surrogates and NUL included
operation_types = st.sampled_from([*OperationType, "QR_PAYMENT", "", None])
users = st.sampled_from([PAYER, MERCHANT, RECIPIENT])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=5,
)


def metadata(**values: Any) -> str:
    return json.dumps(values)


def users_told(intent: Intent, status: IntentStatus = IntentStatus.SETTLED) -> list[UserId]:
    return [job.user_id for job in notifications_for(intent, status)]


def bodies(intent: Intent, *, trace_hint: str | None = None) -> list[dict[str, Any]]:
    jobs = notifications_for(intent, IntentStatus.SETTLED, trace_hint=trace_hint)
    return [json.loads(job.job_json) for job in jobs]


def id_of(intent_id: IntentId, status: IntentStatus, user_id: UserId) -> UUID:
    return notification_id_of(str(intent_id), status, str(user_id))


def trace_id(*, metadata_json: str | None = None, payload: str | None = None) -> str:
    intent = replace(INTENT, metadata_json=metadata_json)
    return str(bodies(intent, trace_hint=payload)[0]["traceId"])


def test_a_job_is_the_json_that_the_notifications_service_reads() -> None:
    first, _ = notifications_for(
        replace(INTENT, metadata_json=metadata(traceId="trace-1")), IntentStatus.SETTLED
    )

    assert first.job_json == (
        '{"userId":"aaaaaaaa-0000-4000-8000-000000000001",'
        '"title":"Invoice paid","body":"You paid an invoice of ฿1,234.50.",'
        '"channel":"payment","traceId":"trace-1","data":{'
        '"intentId":"550e8400-e29b-41d4-a716-446655440000","status":"SETTLED",'
        '"operationType":"INVOICE_PAYMENT","amountSatang":"123450","currency":"THB",'
        f'"notificationId":"{first.notification_id}"}}}}'
    )
    assert (first.intent_id, first.user_id) == (INTENT.id, PAYER)


# Who is told


def test_a_paid_invoice_is_told_to_buyer_and_merchant() -> None:
    assert users_told(INTENT) == [PAYER, MERCHANT]


@pytest.mark.parametrize("issued_by", [None, PAYER])
def test_a_paid_invoice_without_another_person_as_merchant_is_told_once(
    issued_by: UserId | None,
) -> None:
    assert users_told(replace(INTENT, issued_by_user_id=issued_by)) == [PAYER]


@pytest.mark.parametrize("operation_type", ["INTERNAL_P2P", "SERVICE_TRANSFER", "ADMIN"])
def test_a_transfer_is_told_to_sender_and_recipient(operation_type: str) -> None:
    intent = replace(
        INTENT,
        operation_type=operation_type,
        metadata_json=metadata(recipientUserId=str(RECIPIENT)),
    )

    assert users_told(intent) == [PAYER, RECIPIENT]


def test_a_transfer_to_oneself_is_told_once() -> None:
    intent = replace(
        INTENT,
        operation_type="INTERNAL_P2P",
        metadata_json=metadata(recipientUserId=str(PAYER).upper()),
    )

    assert users_told(intent) == [PAYER]


@pytest.mark.parametrize(
    "recipient",
    [
        None,
        "",
        7,
        [],
        {},
        "bob",
        f"{{{RECIPIENT}}}",
        f"urn:uuid:{RECIPIENT}",
        "1_" + "0" * 30,
        f"{RECIPIENT}\n",
        f" {RECIPIENT}",
    ],
)
def test_a_recipient_that_is_not_a_uuid_is_no_recipient(recipient: object) -> None:
    intent = replace(
        INTENT, operation_type="ADMIN", metadata_json=metadata(recipientUserId=recipient)
    )

    assert users_told(intent) == [PAYER]


@pytest.mark.parametrize("written", [str(RECIPIENT), str(RECIPIENT).upper(), RECIPIENT.hex])
def test_a_recipient_is_found_in_either_form_of_a_uuid(written: str) -> None:
    intent = replace(
        INTENT, operation_type="ADMIN", metadata_json=metadata(recipientUserId=written)
    )

    assert users_told(intent) == [PAYER, RECIPIENT]


@pytest.mark.parametrize("operation_type", ["QR_PAYMENT", "invoice_payment", "", None])
def test_any_other_operation_is_told_to_the_initiator_alone(operation_type: str | None) -> None:
    intent = replace(
        INTENT,
        operation_type=operation_type,
        metadata_json=metadata(recipientUserId=str(RECIPIENT)),
    )

    assert users_told(intent) == [PAYER]


@pytest.mark.parametrize("operation_type", [*OperationType, "QR_PAYMENT", None])
def test_a_failure_is_told_to_the_initiator_alone(operation_type: str | None) -> None:
    intent = replace(
        INTENT,
        operation_type=operation_type,
        metadata_json=metadata(recipientUserId=str(RECIPIENT)),
    )

    assert users_told(intent, IntentStatus.FAILED) == [PAYER]


def test_a_role_without_a_user_gets_no_job() -> None:
    nobody = replace(INTENT, user_id=None)

    assert users_told(nobody) == [MERCHANT]
    assert users_told(nobody, IntentStatus.FAILED) == []


@pytest.mark.parametrize("status", ["CREATED", "AUTHORIZED", "SETTLING", "MANUAL_REVIEW"])
def test_nobody_is_told_of_a_status_that_is_not_final(status: str) -> None:
    assert users_told(INTENT, IntentStatus(status)) == []


# What producers may have written


@unreadable
def test_unreadable_metadata_only_costs_what_it_would_have_said(text: str | None) -> None:
    intent = replace(INTENT, operation_type="INTERNAL_P2P", metadata_json=text)

    (body,) = bodies(intent)

    assert body["userId"] == str(PAYER)
    assert body["title"] == "Transfer completed"
    assert body["traceId"] == INTENT.id.hex


@unreadable
def test_an_unreadable_payload_only_costs_its_trace_id(text: str | None) -> None:
    assert trace_id(payload=text) == INTENT.id.hex


def test_the_trace_id_is_of_the_metadata_before_the_payload() -> None:
    payload = metadata(traceId="of-payload", feeSplits=[])

    assert trace_id(metadata_json=metadata(traceId="of-intent"), payload=payload) == "of-intent"
    assert trace_id(metadata_json=metadata(other=1), payload=payload) == "of-payload"


@pytest.mark.parametrize(
    "unusable",
    [None, 7, True, [], {}, "", "  ", "a\nb", "a\x00b", "\ud800", "x" * (TRACE_ID_LENGTH_MAX + 1)],
)
def test_an_unusable_trace_id_counts_as_absent(unusable: object) -> None:
    unusable_json = metadata(traceId=unusable)

    assert trace_id(metadata_json=unusable_json, payload=metadata(traceId="t")) == "t"
    assert trace_id(metadata_json=unusable_json, payload=unusable_json) == INTENT.id.hex


def test_the_longest_trace_id_is_kept_whole() -> None:
    longest = "x" * TRACE_ID_LENGTH_MAX

    assert trace_id(metadata_json=metadata(traceId=longest)) == longest


def test_the_locale_of_the_metadata_decides_the_language() -> None:
    (body, _) = bodies(replace(INTENT, metadata_json=metadata(locale="th-TH")))

    assert body["body"] == "คุณชำระใบแจ้งหนี้ ฿1,234.50 เรียบร้อยแล้ว"


@pytest.mark.parametrize("locale", [None, 7, 1.5, True, [], ["th"], {}, "", "thai", "xx-TH"])
def test_a_locale_that_says_nothing_to_us_counts_as_english(locale: object) -> None:
    (body, _) = bodies(replace(INTENT, metadata_json=metadata(locale=locale)))

    assert body["body"] == "You paid an invoice of ฿1,234.50."


# Ids of repeats


def test_repeats_carry_the_id_that_was_given_at_first() -> None:
    """A literal: a change of the recipe would let readers deliver repeats twice."""
    notification_id = id_of(INTENT.id, IntentStatus.SETTLED, PAYER)

    assert notification_id == UUID("f1650d27-418c-508b-a172-f1f5b4e42eb1")


def test_an_id_depends_on_intent_status_and_user_and_on_nothing_else() -> None:
    other_intent = IntentId(UUID(int=1))

    ids = {
        id_of(INTENT.id, IntentStatus.SETTLED, PAYER),
        id_of(INTENT.id, IntentStatus.SETTLED, MERCHANT),
        id_of(INTENT.id, IntentStatus.FAILED, PAYER),
        id_of(other_intent, IntentStatus.SETTLED, PAYER),
    }
    reworded = replace(INTENT, amount_satang=1, metadata_json=metadata(locale="th"))

    assert len(ids) == 4
    assert [job.notification_id for job in notifications_for(reworded, IntentStatus.SETTLED)] == [
        job.notification_id for job in notifications_for(INTENT, IntentStatus.SETTLED)
    ]


@given(intent_id=st.uuids(), status=st.sampled_from(IntentStatus), user_id=st.uuids())
def test_an_id_is_a_name_based_uuid_that_any_library_makes(
    intent_id: UUID, status: IntentStatus, user_id: UUID
) -> None:
    namespace = UUID("12c79935-c025-4a39-9378-e91533b5a953")

    assert id_of(IntentId(intent_id), status, UserId(user_id)) == uuid5(
        namespace, f"{intent_id}:{status.value}:{user_id}"
    )


# For any input at all


@given(
    status=st.sampled_from([IntentStatus.SETTLED, IntentStatus.FAILED]),
    operation_type=operation_types,
    user_id=st.none() | users,
    issued_by_user_id=st.none() | users,
    recipient=st.none() | users,
)
def test_the_number_of_jobs_follows_the_table(
    status: IntentStatus,
    operation_type: str | None,
    user_id: UserId | None,
    issued_by_user_id: UserId | None,
    recipient: UserId | None,
) -> None:
    told = {user_id}
    if status is IntentStatus.SETTLED and operation_type == "INVOICE_PAYMENT":
        told.add(issued_by_user_id)
    if status is IntentStatus.SETTLED and operation_type in (
        "INTERNAL_P2P",
        "SERVICE_TRANSFER",
        "ADMIN",
    ):
        told.add(recipient)
    intent = replace(
        INTENT,
        operation_type=operation_type,
        user_id=user_id,
        issued_by_user_id=issued_by_user_id,
        metadata_json=metadata(recipientUserId=recipient and str(recipient)),
    )

    jobs = notifications_for(intent, status)

    assert {job.user_id for job in jobs} == told - {None}
    assert len(jobs) == len(told - {None})


@given(
    operation_type=any_text | operation_types,
    amount_satang=st.integers(min_value=-(2**63), max_value=2**63 - 1),
    currency=any_text,
    metadata_json=any_text
    | st.dictionaries(st.sampled_from(["recipientUserId", "locale", "traceId"]), json_values).map(
        json.dumps
    ),
    trace_hint=any_text | st.builds(metadata, traceId=json_values),
)
def test_every_job_is_compact_utf8_json_with_nothing_but_strings_in_it(
    operation_type: str | None,
    amount_satang: int,
    currency: str,
    metadata_json: str,
    trace_hint: str,
) -> None:
    intent = replace(
        INTENT,
        operation_type=operation_type,
        amount_satang=amount_satang,
        currency=currency,
        metadata_json=metadata_json,
    )

    jobs = notifications_for(intent, IntentStatus.SETTLED, trace_hint=trace_hint)

    for job in jobs:
        body = json.loads(job.job_json.encode("utf-8"))
        assert json.dumps(body, ensure_ascii=False, separators=(",", ":")) == job.job_json
        assert list(body) == ["userId", "title", "body", "channel", "traceId", "data"]
        assert body["channel"] == "payment"
        data = body.pop("data")
        assert all(isinstance(value, str) for value in [*body.values(), *data.values()])
        assert data["amountSatang"] == str(amount_satang)
        assert data["notificationId"] == str(job.notification_id)
        assert data["intentId"] == str(job.intent_id)
        assert 0 < len(body["traceId"]) <= TRACE_ID_LENGTH_MAX
