"""Poison: whatever is wrong with one event, the others of its batch settle in the same tick."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from domain.intents import IntentId
from domain.retry import RetryPolicy
from domain.transfers import TransferId
from tests.contracts.settling import (
    assert_failed,
    assert_in_review,
    assert_nothing_told,
    assert_settled,
    assert_waiting,
)
from tests.contracts.wallet import POST, VOID, Case, Wallet, a_psp_record


def a_split(amount: str, *, account: str = '"a"', kind: str = '"K"') -> str:
    """Return a payload with one fee split, of JSON texts."""
    return f'{{"feeSplits":[{{"account":{account},"kind":{kind},"amountSatang":{amount}}}]}}'


BAD_PAYLOADS = {
    "array": "[]",
    "string": '"x"',
    "number": "17",
    "boolean": "true",
    "splits_string": '{"feeSplits":"x"}',
    "splits_object": '{"feeSplits":{}}',
    "split_null": '{"feeSplits":[null]}',
    "split_empty": '{"feeSplits":[{}]}',
    "amount_null": a_split("null"),
    "amount_float": a_split("1.5"),
    "amount_whole_float": a_split("1.0"),
    "amount_negative": a_split("-1"),
    "amount_negative_string": a_split('"-1"'),
    "amount_boolean": a_split("true"),
    "amount_words": a_split('"ten"'),
    "amount_spaces": a_split('" 1"'),
    "amount_over_long": a_split(f'"{"9" * 30}"'),
    "amount_over_2_53": a_split("9007199254740993"),
    "amount_of_5000_digits": a_split("9" * 5_000),
    "more_fees_than_money": (
        '{"feeSplits":[{"account":"a","kind":"K","amountSatang":60},'
        '{"account":"b","kind":"K","amountSatang":41}]}'
    ),
    "account_null": a_split("1", account="null"),
    "account_over_long": a_split("1", account=f'"{"a" * 300}"'),
    "kind_number": a_split("1", kind="7"),
}

GOOD_PAYLOADS = {
    "sql_null": None,
    "json_null": "null",
    "empty": "{}",
    "unknown_keys": '{"x":{"y":[1.5,-7,"z"]}}',
    "splits_null": '{"feeSplits":null}',
    "no_splits": '{"feeSplits":[]}',
    "all_of_it": a_split("100"),
    "nothing_of_it": a_split("0"),
    "decimal_string": a_split('"007"'),
}

HOSTILE_METADATA = {
    "number_of_5000_digits": f'{{"n":{"9" * 5_000}}}',
    "deep": "[" * 2_000 + "]" * 2_000,
    "array": "[1]",
    "recipient_is_no_id": '{"recipientUserId":"x","locale":7,"traceId":{}}',
}


class PoisonContract:
    """Inherit; provide the fixture ``wallet`` beside the class."""

    @pytest.mark.parametrize("payload_json", BAD_PAYLOADS.values(), ids=BAD_PAYLOADS.keys())
    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_payload_that_does_not_parse_needs_a_person(
        self, wallet: Wallet, action: str, payload_json: str
    ) -> None:
        case = wallet.add_case(action, payload_json=payload_json, fee_satang=7)

        wallet.settle()

        assert wallet.frozen_satang(case) == 100
        assert wallet.fees_satang() == 0
        assert wallet.ledger.calls == []
        assert_in_review(wallet, case)

    @pytest.mark.parametrize("payload_json", GOOD_PAYLOADS.values(), ids=GOOD_PAYLOADS.keys())
    def test_a_payload_that_says_no_more_than_needed_is_fine(
        self, wallet: Wallet, payload_json: str | None
    ) -> None:
        case = wallet.add_case(POST, payload_json=payload_json)

        wallet.settle()

        assert sum(satang for _, _, satang in wallet.lines(case)) == 100
        assert_settled(wallet, case, posted_satang=100)

    @pytest.mark.parametrize("metadata", HOSTILE_METADATA.values(), ids=HOSTILE_METADATA.keys())
    def test_metadata_never_stops_a_settlement(self, wallet: Wallet, metadata: str) -> None:
        case = wallet.add_case(POST, metadata_json=metadata, operation_type="INTERNAL_P2P")

        wallet.settle()

        assert_settled(wallet, case, posted_satang=100)

    def test_an_amount_over_2_53_is_exact(self, wallet: Wallet) -> None:
        satang = 2**53 + 1
        case = wallet.add_case(POST, frozen=(satang,), payload_json=a_split(str(satang - 1)))

        wallet.settle()

        assert wallet.lines(case) == [(0, "PRINCIPAL", 1), (1, "FEE", satang - 1)]
        assert_settled(wallet, case, posted_satang=satang)

    @pytest.mark.parametrize("operation_type", [None, "", "SOMETHING_NEW"])
    def test_an_unknown_operation_type_settles_and_tells_the_initiator(
        self, wallet: Wallet, operation_type: str | None
    ) -> None:
        case = wallet.add_case(POST, operation_type=operation_type)

        wallet.settle()

        assert_settled(wallet, case, posted_satang=100)

    def test_an_unknown_action_needs_a_person(self, wallet: Wallet) -> None:
        case = wallet.add_case("refund_pending")

        wallet.settle()

        assert wallet.frozen_satang(case) == 100
        assert_in_review(wallet, case)

    @pytest.mark.parametrize("status", ["CREATED", "CANCELLED"])
    def test_an_intent_that_is_not_authorized_needs_a_person(
        self, wallet: Wallet, status: str
    ) -> None:
        case = wallet.add_case(POST, status=status)

        wallet.settle()

        assert wallet.frozen_satang(case) == 100
        assert_in_review(wallet, case, status_from=status)

    def test_settling_is_as_good_as_authorized(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, status="SETTLING")

        wallet.settle()

        assert wallet.audit_trail(case) == [("SETTLING", "SETTLED")]
        assert wallet.posted_satang(case) == 100

    def test_an_event_without_intent_fails_alone(self, wallet: Wallet) -> None:
        orphan = IntentId(uuid4())
        event_id = wallet.bench.add_event(orphan, POST)

        wallet.settle()

        state = wallet.bench.event(event_id)
        assert (state.status, state.retry_count) == ("failed", 1)
        assert wallet.bench.audit(orphan) == []
        assert wallet.announced() == []

    def test_a_post_of_nothing_needs_a_person(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, frozen=(), amount_satang=100)

        wallet.settle()

        assert wallet.ledger.calls == []
        assert_in_review(wallet, case)

    def test_a_void_of_nothing_is_done_without_the_ledger(self, wallet: Wallet) -> None:
        case = wallet.add_case(VOID, frozen=(), amount_satang=100)

        wallet.settle()

        assert wallet.ledger.calls == []
        assert_failed(wallet, case)

    @pytest.mark.parametrize("action", [POST, VOID])
    @pytest.mark.parametrize("extra", [UUID(int=7), None], ids=["repeated", "null"])
    def test_transfer_ids_that_make_no_chain_need_a_person(
        self, wallet: Wallet, action: str, extra: UUID | None
    ) -> None:
        case = wallet.add_case(action, tb_transfer_ids=(UUID(int=7), UUID(int=8), extra))

        wallet.settle()

        assert wallet.ledger.calls == []
        assert_in_review(wallet, case)

    def test_a_row_that_the_database_refuses_is_tried_again_and_then_given_up(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, psp=a_psp_record(name="N" * 300, fee_satang=7))

        for attempt in range(1, RetryPolicy().attempts_max):
            wallet.settle()
            assert_waiting(wallet, case, retry_count=attempt)
            wallet.let_backoff_pass()
        wallet.settle()

        assert wallet.event_status(case) == "failed"
        assert wallet.intent_status(case) == "MANUAL_REVIEW"
        assert wallet.posted_satang(case) == 100, "the money moved; only the row was refused"
        assert wallet.fees_satang() == 7
        assert_nothing_told(wallet, case)

    def test_a_refused_row_is_written_once_it_is_mended(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, psp=a_psp_record(name="N" * 300, fee_satang=7))
        wallet.settle()
        wallet.bench.add_psp(
            case.intent_id, a_psp_record(name="Nok", fee_satang=7, settlement_date="2026-06-01")
        )

        wallet.let_backoff_pass()
        wallet.settle()

        assert wallet.bench.intent(case.intent_id).to_name == "Nok"
        assert wallet.fees_satang() == 7
        assert_settled(wallet, case, posted_satang=100)

    def test_every_good_event_of_a_poisoned_batch_settles_in_the_same_tick(
        self, wallet: Wallet
    ) -> None:
        good: list[Case] = []
        for poison in POISONS:
            good.append(wallet.add_case(POST, frozen=(100, 20), fee_satang=7))
            poison(wallet)
            good.append(wallet.add_case(VOID, frozen=(100, 20)))

        report = wallet.settle()

        assert report.claimed == 3 * len(POISONS)
        assert [wallet.intent_status(case) for case in good] == ["SETTLED", "FAILED"] * len(POISONS)
        assert [wallet.event_status(case) for case in good] == ["processed"] * len(good)
        assert {case.intent_id for case in good} == {id_ for id_, _ in wallet.announced()}
        assert report.retried + report.reviewed == len(POISONS)


def orphan(wallet: Wallet) -> None:
    """An event without intent."""
    wallet.bench.add_event(IntentId(uuid4()), POST)


POISONS: tuple[Callable[[Wallet], object], ...] = (
    orphan,
    lambda wallet: wallet.add_case(POST, frozen=(), amount_satang=1),
    lambda wallet: wallet.add_case(POST, tb_transfer_ids=(UUID(int=7), UUID(int=7))),
    lambda wallet: wallet.add_case(POST, missing=[TransferId(0)]),
    lambda wallet: wallet.add_case(POST, missing=[TransferId(91)]),
    lambda wallet: wallet.add_case(POST, payload_json="[]"),
    lambda wallet: wallet.add_case(POST, payload_json=BAD_PAYLOADS["amount_of_5000_digits"]),
    lambda wallet: wallet.add_case(POST, psp=a_psp_record(name="N" * 300)),
    lambda wallet: wallet.add_case(POST, psp=a_psp_record(name="N" * 256, fee_satang=1)),
    lambda wallet: wallet.add_case(POST, currency="XTS", psp=a_psp_record(fee_satang=1)),
    lambda wallet: wallet.add_case(POST, status="CREATED"),
    lambda wallet: wallet.add_case(POST, status="FAILED"),
    lambda wallet: wallet.add_case("refund_pending"),
)
