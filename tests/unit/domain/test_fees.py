"""Which fee is due, and where its accounts are."""

from dataclasses import replace

import pytest

from domain.fees import Fee, FeeRule, MappedAccount, UnmappedFee, due_fee_satang, fee_of
from domain.intents import PspRecord
from domain.transfers import AccountId
from tests.unit.domain.claims import FEE_RULE, INTENT, MAPPED, PSP


def a_fee(
    psp: PspRecord | None = PSP, accounts: dict[str, MappedAccount] | None = None
) -> Fee | UnmappedFee | None:
    return fee_of(INTENT, psp, rule=FEE_RULE, accounts=MAPPED if accounts is None else accounts)


def test_a_fee_is_taken_from_revenue_and_given_to_the_psps_nostro_account() -> None:
    assert a_fee() == Fee(
        amount_satang=150,
        debit_account_id=AccountId(300),
        credit_account_id=AccountId(400),
        ledger=764,
        transfer_code=50,
    )


@pytest.mark.parametrize(
    ("psp_fee_satang", "due_satang"), [(None, 0), (0, 0), (-1, 0), (1, 1), (2**63 - 1, 2**63 - 1)]
)
def test_only_a_fee_above_0_is_due(psp_fee_satang: int | None, due_satang: int) -> None:
    psp = replace(PSP, psp_fee_satang=psp_fee_satang)
    fee = a_fee(psp)

    assert due_fee_satang(psp) == due_satang
    if due_satang == 0:
        assert fee is None
    else:
        assert isinstance(fee, Fee)
        assert fee.amount_satang == due_satang


def test_without_a_psp_no_fee_is_due() -> None:
    assert due_fee_satang(None) == 0
    assert a_fee(None) is None


def test_no_account_is_needed_where_no_fee_is_due() -> None:
    assert a_fee(replace(PSP, psp_fee_satang=0), {}) is None


@pytest.mark.parametrize(
    ("psp", "currency", "codes"),
    [
        ("IPPS", "THB", ("revenue.THB", "nostro.ipps.THB")),
        ("qp", "USD", ("revenue.USD", "nostro.qp.USD")),
        (None, "THB", ("revenue.THB", "nostro..THB")),
        ("{currency}", "THB", ("revenue.THB", "nostro.THB.THB")),
        ("{0}", "THB", ("revenue.THB", "nostro.{0}.THB")),
    ],
)
def test_the_codes_follow_from_psp_and_currency(
    psp: str | None, currency: str, codes: tuple[str, str]
) -> None:
    intent = replace(INTENT, currency=currency)

    assert FEE_RULE.codes_for(intent, replace(PSP, psp=psp)) == codes


def test_codes_without_a_placeholder_are_taken_as_they_are() -> None:
    rule = FeeRule(debit_account="a", credit_account="b {x}", transfer_code=1)

    assert rule.codes_for(INTENT, PSP) == ("a", "b {x}")


@pytest.mark.parametrize("code", ["revenue.THB", "nostro.ipps.THB"])
def test_an_account_that_is_not_mapped_is_named(code: str) -> None:
    fee = a_fee(accounts={mapped: at for mapped, at in MAPPED.items() if mapped != code})

    assert fee == UnmappedFee(f"not in pm.tb_account_map: {code}")


def test_both_accounts_are_named_when_neither_is_mapped() -> None:
    assert a_fee(accounts={}) == UnmappedFee(
        "not in pm.tb_account_map: revenue.THB, nostro.ipps.THB"
    )


def test_accounts_of_different_ledgers_are_a_fault_of_the_mapping() -> None:
    elsewhere = MappedAccount(account_id=AccountId(400), ledger=840)

    fee = a_fee(accounts={**MAPPED, "nostro.ipps.THB": elsewhere})

    assert fee == UnmappedFee("revenue.THB is of ledger 764, nostro.ipps.THB of 840")
