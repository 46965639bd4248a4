"""The PSP fee that is due: who pays it, and where its accounts are.

Only a fee above 0 is charged: debit revenue, credit the PSP's nostro account, after the
intent's chain is known to be posted (DESIGN §3, §7).
"""

from collections.abc import Mapping
from functools import lru_cache

from domain.intents import Intent, PspRecord
from domain.transfers import AccountId
from domain.values import value

AccountCode = str


@value
class MappedAccount:
    """A row of ``pm.tb_account_map``: where the account of a code lives in the ledger."""

    account_id: AccountId
    ledger: int


@value
class FeeRule:
    """Which accounts and which transfer code a PSP fee has; all of it is a setting.

    In the account codes ``{psp}`` stands for the PSP's name in lower case, ``{currency}``
    for the intent's currency: ``nostro.{psp}.{currency}`` gives ``nostro.ipps.THB``.
    """

    debit_account: str
    credit_account: str
    transfer_code: int

    def codes_for(self, intent: Intent, psp: PspRecord) -> tuple[AccountCode, AccountCode]:
        """Return the debit and the credit account's code for the fee of *intent*."""
        return self.codes(psp=psp.psp or "", currency=intent.currency)

    def codes(self, *, psp: str, currency: str) -> tuple[AccountCode, AccountCode]:
        """Return the debit and the credit account's code for fees of *psp* in *currency*."""
        return (
            _filled(self.debit_account, psp, currency),
            _filled(self.credit_account, psp, currency),
        )


@lru_cache(maxsize=1_024)  # there are few PSPs and currencies, and each event asks again
def _filled(template: str, psp: str, currency: str) -> AccountCode:
    return template.replace("{psp}", psp.lower()).replace("{currency}", currency)


@value
class Fee:
    """A fee to charge, with its accounts found."""

    amount_satang: int
    debit_account_id: AccountId
    credit_account_id: AccountId
    ledger: int
    transfer_code: int


@value(kw_only=False)
class UnmappedFee:
    """A fee whose accounts ``pm.tb_account_map`` does not give: a fault of configuration."""

    detail: str


def due_fee_satang(psp: PspRecord | None) -> int:
    """Return the PSP fee of an intent in satang; 0 when none is due."""
    if psp is None or psp.psp_fee_satang is None:
        return 0
    return max(psp.psp_fee_satang, 0)


def fee_of(
    intent: Intent,
    psp: PspRecord | None,
    *,
    rule: FeeRule,
    accounts: Mapping[AccountCode, MappedAccount],
) -> Fee | UnmappedFee | None:
    """Return the fee to charge for *intent*, None when none is due."""
    amount_satang = due_fee_satang(psp)
    if psp is None or amount_satang == 0:
        return None
    debit_code, credit_code = rule.codes_for(intent, psp)
    debit, credit = accounts.get(debit_code), accounts.get(credit_code)
    if debit is None or credit is None:
        missing = [code for code in (debit_code, credit_code) if code not in accounts]
        return UnmappedFee(f"not in pm.tb_account_map: {', '.join(missing)}")
    if debit.ledger != credit.ledger:
        return UnmappedFee(
            f"{debit_code} is of ledger {debit.ledger}, {credit_code} of {credit.ledger}"
        )
    return Fee(
        amount_satang=amount_satang,
        debit_account_id=debit.account_id,
        credit_account_id=credit.account_id,
        ledger=debit.ledger,
        transfer_code=rule.transfer_code,
    )
