"""The verdict table of LEDGER_OUTCOMES §4, row by row, by its end state.

What is written, who is told, and what the ledger holds; never which code path was taken.
"""

import pytest

from domain.intents import Action
from domain.retry import RetryPolicy
from domain.transfers import AccountFlags, TransferId
from tests.contracts.ledger import LEDGER, new_id
from tests.contracts.wallet import (
    POST,
    VOID,
    Case,
    Wallet,
    a_pending,
    a_psp_record,
    post_by_other,
    void_by_other,
)

CHAINS = ((100,), (100, 20), (100, 20, 3))


def assert_settled(wallet: Wallet, case: Case, *, posted_satang: int) -> None:
    """The money has moved, the intent is SETTLED, everybody is told once."""
    assert wallet.intent_status(case) == "SETTLED"
    assert wallet.event_status(case) == "processed"
    assert wallet.posted_satang(case) == posted_satang
    assert wallet.frozen_satang(case) == 0
    assert wallet.audit_trail(case) == [("AUTHORIZED", "SETTLED")]
    assert wallet.told(case) == ["SETTLED"]
    assert wallet.announced() == [(case.intent_id, "SETTLED")]
    assert wallet.bench.retry(case.event_id) is None


def assert_failed(wallet: Wallet, case: Case) -> None:
    """The money is free again, the intent is FAILED, everybody is told once."""
    assert wallet.intent_status(case) == "FAILED"
    assert wallet.event_status(case) == "processed"
    assert wallet.posted_satang(case) == 0
    assert wallet.frozen_satang(case) == 0
    assert wallet.lines(case) == []
    assert wallet.audit_trail(case) == [("AUTHORIZED", "FAILED")]
    assert wallet.told(case) == ["FAILED"]
    assert wallet.announced() == [(case.intent_id, "FAILED")]


def assert_in_review(wallet: Wallet, case: Case, *, status_from: str = "AUTHORIZED") -> None:
    """A person must look: nobody was told, no fee was charged, the old status is kept."""
    assert wallet.intent_status(case) == "MANUAL_REVIEW"
    assert wallet.event_status(case) == "failed"
    assert wallet.retry_count(case) == 1
    assert wallet.audit_trail(case) == [(status_from, "MANUAL_REVIEW")]
    assert_nothing_told(wallet, case)


def assert_waiting(wallet: Wallet, case: Case, *, retry_count: int = 1) -> None:
    """The event waits for another attempt: nothing is written but the failure."""
    assert wallet.intent_status(case) == "AUTHORIZED"
    assert wallet.event_status(case) == "pending"
    assert wallet.retry_count(case) == retry_count
    assert wallet.audit_trail(case) == []
    assert_nothing_told(wallet, case)


def assert_nothing_told(wallet: Wallet, case: Case) -> None:
    """No history, no push job, no status."""
    assert wallet.lines(case) == []
    assert wallet.told(case) == []
    assert wallet.announced() == []


class SettlingContract:
    """Inherit; provide the fixture ``wallet`` beside the class."""

    # No culprit.

    @pytest.mark.parametrize("frozen", CHAINS)
    def test_post_moves_all_of_the_money_and_charges_the_fee(
        self, wallet: Wallet, frozen: tuple[int, ...]
    ) -> None:
        case = wallet.add_case(POST, frozen=frozen, fee_satang=7)

        wallet.settle()

        assert wallet.lines(case) == [(0, "PRINCIPAL", sum(frozen)), (1, "PSP_FEE", 7)]
        assert wallet.fees_satang() == 7
        assert_settled(wallet, case, posted_satang=sum(frozen))

    @pytest.mark.parametrize("frozen", CHAINS)
    def test_void_frees_all_of_the_money_and_charges_nothing(
        self, wallet: Wallet, frozen: tuple[int, ...]
    ) -> None:
        case = wallet.add_case(VOID, frozen=frozen, fee_satang=7)

        wallet.settle()

        assert wallet.fees_satang() == 0
        assert_failed(wallet, case)

    def test_what_the_psp_told_goes_into_the_settled_intent(self, wallet: Wallet) -> None:
        psp = a_psp_record(name="Somchai", settlement_date="2026-06-01", last_error="ignored")
        case = wallet.add_case(POST, psp=psp)

        wallet.settle()

        row = wallet.bench.intent(case.intent_id)
        assert (row.to_name, row.settlement_date) == ("Somchai", "2026-06-01")
        assert row.failure_reason is None

    def test_void_keeps_the_psps_error_as_the_reason(self, wallet: Wallet) -> None:
        case = wallet.add_case(VOID, psp=a_psp_record(last_error="declined by bank"))
        bare = wallet.add_case(VOID)

        wallet.settle()

        assert wallet.bench.intent(case.intent_id).failure_reason == "declined by bank"
        assert wallet.bench.intent(bare.intent_id).failure_reason == "PSP payment voided"

    def test_fee_splits_become_lines_that_add_up_to_the_amount(self, wallet: Wallet) -> None:
        payload = (
            '{"feeSplits":[{"account":"revenue.THB","amountSatang":15,"kind":"PLATFORM_FEE"},'
            '{"account":"partner.THB","amountSatang":"5","kind":"PARTNER_FEE"}],"other":1}'
        )
        case = wallet.add_case(POST, frozen=(80, 20), payload_json=payload)

        wallet.settle()

        assert wallet.lines(case) == [(0, "PRINCIPAL", 80), (1, "FEE", 15), (2, "FEE", 5)]

    @pytest.mark.parametrize("fee_satang", [None, 0, -5])
    def test_no_fee_is_charged_unless_it_is_above_zero(
        self, wallet: Wallet, fee_satang: int | None
    ) -> None:
        case = wallet.add_case(POST, psp=a_psp_record(fee_satang=fee_satang))

        wallet.settle()

        assert wallet.fees_satang() == 0
        assert_settled(wallet, case, posted_satang=100)

    # Posted, voided or expired by somebody else.

    @pytest.mark.parametrize("by_other", [(0,), (1,), (0, 1), (0, 1, 2), (2,)])
    @pytest.mark.parametrize("tagged", [True, False])
    def test_post_of_what_others_posted_in_full_posts_the_rest(
        self, wallet: Wallet, by_other: tuple[int, ...], tagged: bool
    ) -> None:
        frozen = (100, 20, 3)
        case = wallet.add_case(POST, frozen=frozen, fee_satang=7, tagged=tagged)
        for member in by_other:
            wallet.create(post_by_other(case.pending_ids[member], frozen[member]))

        wallet.settle()

        assert wallet.fees_satang() == 0, "whoever posted it was to charge the fee"
        assert wallet.lines(case) == [(0, "PRINCIPAL", 123)]
        assert_settled(wallet, case, posted_satang=123)

    def test_post_of_what_was_posted_in_part_needs_a_person(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, frozen=(100, 20), fee_satang=7)
        wallet.create(post_by_other(case.pending_ids[0], 40))

        wallet.settle()

        assert wallet.posted_satang(case) == 40
        assert wallet.frozen_satang(case) == 20
        assert wallet.fees_satang() == 0
        assert_in_review(wallet, case)

    @pytest.mark.parametrize("member", [0, 1])
    def test_post_of_what_was_voided_needs_a_person(self, wallet: Wallet, member: int) -> None:
        case = wallet.add_case(POST, frozen=(100, 20), fee_satang=7)
        wallet.create(void_by_other(case.pending_ids[member]))

        wallet.settle()

        assert wallet.posted_satang(case) == 0
        assert wallet.fees_satang() == 0
        assert_in_review(wallet, case)

    def test_post_where_one_was_posted_and_one_voided_needs_a_person(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, frozen=(100, 20))
        wallet.create(post_by_other(case.pending_ids[0], 100), void_by_other(case.pending_ids[1]))

        wallet.settle()

        assert wallet.posted_satang(case) == 100
        assert_in_review(wallet, case)

    @pytest.mark.parametrize("member", [0, 1])
    def test_void_of_what_was_posted_needs_a_person(self, wallet: Wallet, member: int) -> None:
        frozen = (100, 20)
        case = wallet.add_case(VOID, frozen=frozen)
        wallet.create(post_by_other(case.pending_ids[member], frozen[member]))

        wallet.settle()

        assert wallet.posted_satang(case) == frozen[member]
        assert wallet.frozen_satang(case) == frozen[1 - member], "the rest is left for the person"
        assert_in_review(wallet, case)

    @pytest.mark.parametrize("by_other", [(0,), (1,), (0, 1), (0, 1, 2), (2,)])
    def test_void_of_what_others_voided_voids_the_rest(
        self, wallet: Wallet, by_other: tuple[int, ...]
    ) -> None:
        case = wallet.add_case(VOID, frozen=(100, 20, 3))
        wallet.create(*(void_by_other(case.pending_ids[member]) for member in by_other))

        wallet.settle()

        assert_failed(wallet, case)

    def test_post_of_what_has_expired_needs_a_person(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, frozen=(100, 20), timeout_s=1, fee_satang=7)
        wallet.bank.wait_expired(case.pending_ids[1])

        wallet.settle()

        assert wallet.posted_satang(case) == 0
        assert wallet.fees_satang() == 0, "the fee must not be charged beside an expired chain"
        assert_in_review(wallet, case)

    def test_void_of_what_has_expired_is_done(self, wallet: Wallet) -> None:
        case = wallet.add_case(VOID, frozen=(100, 20), timeout_s=1)
        wallet.bank.wait_expired(case.pending_ids[1])

        wallet.settle()

        assert_failed(wallet, case)

    # The original worker.

    @pytest.mark.parametrize("frozen", CHAINS)
    @pytest.mark.parametrize("tagged", [True, False])
    def test_what_the_original_worker_did_before_it_died_is_taken_over(
        self, wallet: Wallet, frozen: tuple[int, ...], tagged: bool
    ) -> None:
        case = wallet.add_case(POST, frozen=frozen, fee_satang=7, tagged=tagged)
        posts = [
            post_by_other(pending_id, amount)
            for pending_id, amount in zip(case.pending_ids, frozen, strict=True)
        ]
        wallet.create(*posts, wallet.a_fee(7))

        wallet.settle()

        assert wallet.fees_satang() == 7
        assert wallet.lines(case) == [(0, "PRINCIPAL", sum(frozen)), (1, "PSP_FEE", 7)]
        assert_settled(wallet, case, posted_satang=sum(frozen))

    def test_a_fee_of_a_later_request_is_not_taken_for_this_intents(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, fee_satang=7)
        wallet.create(post_by_other(case.pending_ids[0], 100))
        wallet.create(wallet.a_fee(7))

        wallet.settle()

        assert wallet.lines(case) == [(0, "PRINCIPAL", 100)]
        assert wallet.fees_satang() == 7

    def test_a_fee_that_carries_the_intents_id_is_found_wherever_it_is(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, fee_satang=7)
        wallet.create(post_by_other(case.pending_ids[0], 100))
        wallet.create(wallet.a_fee(9, user_data_128=case.intent_id.int))

        wallet.settle()

        assert wallet.lines(case) == [(0, "PRINCIPAL", 100), (1, "PSP_FEE", 9)]
        assert wallet.fees_satang() == 9

    # What may be different next time.

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_pending_transfer_that_is_not_there_is_tried_few_times(
        self, wallet: Wallet, action: Action
    ) -> None:
        missing = new_id()
        case = wallet.add_case(action, frozen=(20,), missing=[missing])

        wallet.settle()

        assert_waiting(wallet, case)
        for _ in range(3):
            wallet.let_backoff_pass()
            wallet.settle()
        assert_waiting(wallet, case, retry_count=4)
        wallet.let_backoff_pass()
        wallet.settle()
        assert wallet.event_status(case) == "failed"
        assert wallet.intent_status(case) == "MANUAL_REVIEW"
        assert wallet.frozen_satang(case) == 20

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_pending_transfer_that_turns_up_late_is_resolved_in_spite_of_burned_ids(
        self, wallet: Wallet, action: Action
    ) -> None:
        late = new_id()
        case = wallet.add_case(action, frozen=(20,), missing=[late])
        wallet.settle()
        wallet.let_backoff_pass()
        wallet.settle()
        wallet.create(a_pending(case.payer, case.payee, 100, id_=late))

        wallet.let_backoff_pass()
        wallet.settle()

        if action is POST:
            assert_settled(wallet, case, posted_satang=120)
        else:
            assert_failed(wallet, case)

    def test_post_waits_for_a_closed_account_to_be_opened(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, fee_satang=7)
        closing = wallet.close_account(case.payee)

        wallet.settle()

        assert_waiting(wallet, case)
        assert wallet.frozen_satang(case) == 100
        assert wallet.fees_satang() == 0
        wallet.create(void_by_other(closing))
        wallet.let_backoff_pass()
        wallet.settle()
        assert_settled(wallet, case, posted_satang=100)

    def test_void_of_a_closed_account_is_done(self, wallet: Wallet) -> None:
        case = wallet.add_case(VOID)
        wallet.close_account(case.payer)

        wallet.settle()

        assert wallet.intent_status(case) == "FAILED"
        assert wallet.frozen_satang(case) == 0

    # The fee.

    def test_a_fee_that_cannot_be_paid_is_tried_for_ever_while_the_post_stands(
        self, wallet: Wallet
    ) -> None:
        poor = wallet.bank.open_account(
            ledger=LEDGER, flags=AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS
        )
        wallet.map_account("revenue.USD", poor)
        wallet.map_account("nostro.ipps.USD", wallet.nostro)
        case = wallet.add_case(POST, fee_satang=7, currency="USD")

        for attempt in range(1, 21):
            wallet.settle()
            assert_waiting(wallet, case, retry_count=attempt)
            assert wallet.posted_satang(case) == 100
            wallet.let_backoff_pass()
        wallet.fund(poor, 7)
        wallet.settle()

        assert wallet.fees_satang() == 7
        assert wallet.lines(case) == [(0, "PRINCIPAL", 100), (1, "PSP_FEE", 7)]
        assert_settled(wallet, case, posted_satang=100)

    def test_a_fee_without_accounts_is_tried_for_ever_before_any_ledger_call(
        self, wallet: Wallet
    ) -> None:
        psp = a_psp_record(fee_satang=7)
        case = wallet.add_case(POST, psp=psp, currency="XTS")

        for attempt in range(1, 21):
            wallet.settle()
            assert_waiting(wallet, case, retry_count=attempt)
            wallet.let_backoff_pass()

        assert wallet.ledger.calls == []
        assert wallet.frozen_satang(case) == 100
        assert "XTS" in wallet.last_error(case)

    def test_a_fee_that_was_charged_with_another_amount_counts_as_the_ledger_has_it(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, fee_satang=7)
        wallet.settle_and_die_after(ledger_calls=2)
        wallet.change_fee(case, 9)

        wallet.settle()

        assert wallet.fees_satang() == 7
        assert wallet.lines(case) == [(0, "PRINCIPAL", 100), (1, "PSP_FEE", 7)]
        assert_settled(wallet, case, posted_satang=100)

    def test_a_fee_that_was_charged_counts_even_if_none_is_due_any_more(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, fee_satang=7)
        wallet.settle_and_die_after(ledger_calls=2)
        wallet.change_fee(case, 0)

        wallet.settle()

        assert wallet.lines(case) == [(0, "PRINCIPAL", 100), (1, "PSP_FEE", 7)]
        assert_settled(wallet, case, posted_satang=100)

    # What no repetition helps.

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_transfer_that_is_not_pending_needs_a_person(
        self, wallet: Wallet, action: Action
    ) -> None:
        not_pending = wallet.a_fee(5)
        wallet.create(not_pending)
        case = wallet.add_case(action, frozen=(100,), missing=[not_pending.id])

        wallet.settle()

        assert_in_review(wallet, case)

    def test_a_nil_transfer_id_needs_a_person(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, missing=[TransferId(0)])

        wallet.settle()

        assert_in_review(wallet, case)

    def test_nothing_is_given_up_where_that_is_switched_off(self, wallet: Wallet) -> None:
        wallet.policy = RetryPolicy(gives_up=False)
        case = wallet.add_case(POST)
        wallet.create(void_by_other(case.pending_ids[0]))

        for attempt in range(1, 16):
            wallet.settle()
            assert_waiting(wallet, case, retry_count=attempt)
            wallet.let_backoff_pass()
