"""A ledger that is empty, or another environment's, is the fault of no payment (DESIGN §8)."""

from typing import Final

import pytest

from adapters.memory.ledger import InMemoryLedger
from application.errors import LedgerMisconfiguredError
from domain.retry import RetryPolicy
from domain.transfers import Account, AccountId
from tests.contracts.ledger import LEDGER, new_id
from tests.contracts.settling import assert_waiting
from tests.contracts.wallet import NOSTRO_CODE, POST, REVENUE_CODE, VOID, Wallet

ATTEMPTS: Final = RetryPolicy().attempts_max + 1
"""One more than any payment would survive if they were counted."""

MAPPED_IN_ADVANCE: Final = 500


class ForeignLedgerContract:
    """Inherit; provide the fixture ``wallet`` beside the class."""

    def test_nothing_counts_while_the_ledger_is_an_empty_one(self, wallet: Wallet) -> None:
        posted = wallet.add_case(POST, frozen=(100, 20), fee_satang=7)
        voided = wallet.add_case(VOID)
        own, wallet.ledger.ledger = wallet.ledger.ledger, InMemoryLedger()

        for _ in range(ATTEMPTS):
            with pytest.raises(LedgerMisconfiguredError, match="TIGERBEETLE_ADDRESSES leads to"):
                wallet.settle()

        for case in (posted, voided):
            assert_waiting(wallet, case, retry_count=0)
            assert wallet.bench.retry(case.event_id) is None
        wallet.ledger.ledger = own
        wallet.settle()
        assert wallet.event_status(voided) == "processed"
        assert wallet.intent_status(voided) == "FAILED"
        assert wallet.fees_satang() == 7
        assert wallet.intent_status(posted) == "SETTLED"
        assert wallet.posted_satang(posted) == 120
        assert wallet.frozen_satang(posted) == wallet.frozen_satang(voided) == 0

    def test_what_counted_before_is_kept_as_it_was(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, missing=[new_id()])
        wallet.settle()
        wallet.let_backoff_pass()
        before = wallet.bench.retry(case.event_id)
        own, wallet.ledger.ledger = wallet.ledger.ledger, InMemoryLedger()

        with pytest.raises(LedgerMisconfiguredError):
            wallet.settle()

        assert wallet.bench.retry(case.event_id) == before
        wallet.ledger.ledger = own
        wallet.settle()
        assert_waiting(wallet, case, retry_count=2)

    def test_a_ledger_with_one_of_our_accounts_is_ours_and_a_missing_transfer_counts(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST)
        barely_ours = InMemoryLedger()
        barely_ours.create_accounts([Account(id=wallet.nostro, ledger=LEDGER, code=1)])
        own, wallet.ledger.ledger = wallet.ledger.ledger, barely_ours

        wallet.settle()

        assert_waiting(wallet, case)
        assert "pending_transfer_not_found" in wallet.last_error(case)
        wallet.ledger.ledger = own

    def test_a_ledger_is_ours_where_only_the_last_of_many_mapped_accounts_was_opened(
        self, wallet: Wallet
    ) -> None:
        for number in range(MAPPED_IN_ADVANCE):
            wallet.map_account(f"merchant.{number:05}.THB", AccountId(new_id()))
        case = wallet.add_case(POST, missing=[new_id()])

        wallet.settle()

        assert_waiting(wallet, case)
        assert "pending_transfer_not_found" in wallet.last_error(case)

    def test_accounts_are_looked_up_once_and_only_where_all_transfers_are_missing(
        self, wallet: Wallet
    ) -> None:
        wallet.add_case(POST, fee_satang=7)
        wallet.add_case(VOID)
        wallet.settle()
        assert "lookup_accounts" not in [call.method for call in wallet.ledger.calls]
        wallet.announced()
        missing = [wallet.add_case(action, missing=[new_id()]) for action in (POST, VOID)]

        wallet.settle()

        assert [call.method for call in wallet.ledger.calls].count("lookup_accounts") == 1
        for case in missing:
            assert_waiting(wallet, case)

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_ledger_that_had_the_transfers_of_another_payment_is_ours_whatever_is_mapped(
        self, wallet: Wallet, action: str
    ) -> None:
        for code in (REVENUE_CODE, NOSTRO_CODE):
            wallet.map_account(code, AccountId(new_id()))
        good = wallet.add_case(action)
        bad = wallet.add_case(action, missing=[new_id()])

        wallet.settle()

        assert [intent_id for intent_id, _ in wallet.announced()] == [good.intent_id]
        assert_waiting(wallet, bad)
        assert "pending_transfer_not_found" in wallet.last_error(bad)

    def test_an_event_without_transfers_does_not_make_a_ledger_ours(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST)
        wallet.add_case(VOID, frozen=())
        own, wallet.ledger.ledger = wallet.ledger.ledger, InMemoryLedger()

        with pytest.raises(LedgerMisconfiguredError):
            wallet.settle()

        assert_waiting(wallet, case, retry_count=0)
        wallet.ledger.ledger = own
