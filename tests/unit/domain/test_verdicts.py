"""The reasons are words that stay: rows hold them."""

from domain.verdicts import RetryReason


def test_a_reason_to_try_again_keeps_its_word() -> None:
    # Failures are counted by it: under a new word, an old count is lost.
    assert {reason.value for reason in RetryReason} == {
        "pending_transfer_not_found",
        "ledger_refused",
        "ids_burned",
        "resolution_not_found",
        "out_of_time",
        "fee_account_unmapped",
        "fee_refused",
        "unforeseen",
        "needs_review",
    }
