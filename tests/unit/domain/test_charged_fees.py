"""Which way a fee went: charged, paid back, or somewhere else."""

from domain.charged_fees import FeeAccounts, Fees, by_direction
from domain.transfers import AccountId, Transfer, TransferId

LEDGER = 1
REVENUE, NOSTRO, OTHER, ANOTHER = (AccountId(number) for number in (1, 2, 3, 4))
WAY = FeeAccounts(REVENUE, NOSTRO, LEDGER)


def a_fee(number: int, debit: AccountId, credit: AccountId, *, ledger: int = LEDGER) -> Transfer:
    return Transfer(
        id=TransferId(number),
        debit_account_id=debit,
        credit_account_id=credit,
        amount=number,
        ledger=ledger,
    )


def test_a_fee_goes_its_way_where_either_account_is_that_of_the_way() -> None:
    charged = (a_fee(1, REVENUE, NOSTRO), a_fee(2, REVENUE, OTHER), a_fee(3, OTHER, NOSTRO))

    assert by_direction(charged, [WAY]) == Fees(charged=charged)


def test_a_fee_is_paid_back_where_either_account_is_that_of_the_way_back() -> None:
    paid_back = (a_fee(1, NOSTRO, REVENUE), a_fee(2, NOSTRO, OTHER), a_fee(3, OTHER, REVENUE))

    assert by_direction(paid_back, [WAY]) == Fees(paid_back=paid_back)


def test_what_moved_between_other_accounts_or_in_another_ledger_is_elsewhere() -> None:
    elsewhere = (a_fee(1, OTHER, ANOTHER), a_fee(2, REVENUE, NOSTRO, ledger=LEDGER + 1))

    assert by_direction(elsewhere, [WAY]) == Fees(elsewhere=elsewhere)


def test_without_a_known_way_the_first_fee_shows_it() -> None:
    first, back, other = (
        a_fee(1, REVENUE, NOSTRO),
        a_fee(2, NOSTRO, REVENUE),
        a_fee(3, OTHER, ANOTHER),
    )

    assert by_direction((first, back, other), []) == Fees(charged=(first, other), paid_back=(back,))


def test_what_the_psp_has_kept_is_what_was_charged_less_what_was_paid_back() -> None:
    fees = by_direction((a_fee(9, REVENUE, NOSTRO), a_fee(2, NOSTRO, REVENUE)), [WAY])

    assert (fees.net_satang, fees.paid_back_satang) == (7, 2)
    assert by_direction((), [WAY]) == Fees()
