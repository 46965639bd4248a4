"""Do the accounts that the payment manager maps exist in the ledger, and those of fees at all?"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from application.errors import OutboxError
from application.ports.account_map import AccountMap
from application.ports.ledger_accounts import LedgerAccounts
from domain.fees import AccountCode, MappedAccount
from domain.findings import Examined, Finding
from domain.sanitising import sanitise
from domain.transfers import Account, AccountId

ACCOUNTS_MAX: Final = 8_000
"""More than this are not looked at: one request of a production cluster takes about as many."""
_NAMED_MAX: Final = 5

_EXAMINED: Final = Examined("accounts")
_FEE_REMEDY: Final = (
    "add the rows to pm.tb_account_map, or correct OUTBOX_PSP_FEE_DEBIT_ACCOUNT and"
    " OUTBOX_PSP_FEE_CREDIT_ACCOUNT; until then every intent with a PSP fee waits"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountsProbe:
    """Fulfils ``Probe``. *fee_codes* are the debit and credit accounts that fees need."""

    account_map: AccountMap
    ledger: LedgerAccounts
    fee_codes: tuple[AccountCode, AccountCode]
    name: str = _EXAMINED.subject

    def examine(self) -> Sequence[Finding]:
        """See ``Probe.examine``."""
        try:
            mapped = self.account_map.read(first=self.fee_codes, limit=ACCOUNTS_MAX)
        except OutboxError as error:
            return [_unchecked("pm.tb_account_map", error, "mend Postgres first: see its lines")]
        findings = [self._fees(mapped)]
        if not mapped:
            return findings
        try:
            found = self.ledger.lookup_accounts({one.account_id for one in mapped.values()})
        except OutboxError as error:
            remedy = "mend TigerBeetle first: see its lines"
            return [*findings, _unchecked("in the ledger", error, remedy)]
        return [*findings, _in_ledger(mapped, found)]

    def _fees(self, mapped: Mapping[AccountCode, MappedAccount]) -> Finding:
        what, codes = "of PSP fees", " and ".join(self.fee_codes)
        missing = [code for code in self.fee_codes if code not in mapped]
        if missing:
            detail = f"not in pm.tb_account_map: {', '.join(missing)}"
            return _EXAMINED.red(what, detail, _FEE_REMEDY)
        ledgers = {mapped[code].ledger for code in self.fee_codes}
        if len(ledgers) > 1:
            detail = f"{codes} are of different ledgers in pm.tb_account_map"
            return _EXAMINED.red(what, detail, _FEE_REMEDY)
        return _EXAMINED.ok(what, f"{codes} are mapped")


def _unchecked(what: str, error: OutboxError, remedy: str) -> Finding:
    return _EXAMINED.red(what, f"not checked: {sanitise(str(error))}", remedy)


def _in_ledger(
    mapped: Mapping[AccountCode, MappedAccount], found: Mapping[AccountId, Account]
) -> Finding:
    what = "in the ledger"
    missing = [code for code, one in mapped.items() if one.account_id not in found]
    misplaced = [
        f"{code} (ledger {found[one.account_id].ledger}, mapped as {one.ledger})"
        for code, one in mapped.items()
        if one.account_id in found and found[one.account_id].ledger != one.ledger
    ]
    faults = []
    if missing:
        faults.append(f"without an account: {_some(missing)}")
    if misplaced:
        faults.append(f"of another ledger: {_some(misplaced)}")
    if faults:
        return _EXAMINED.red(
            what,
            "; ".join(faults),
            "correct tb_account_id and ledger in pm.tb_account_map, or let the payment manager"
            " create the accounts; if all are missing, TIGERBEETLE_ADDRESSES may lead to the"
            " cluster of another environment",
        )
    return _EXAMINED.ok(what, f"{_count(mapped)} found, each in its ledger")


def _count(mapped: Collection[AccountCode]) -> str:
    if len(mapped) >= ACCOUNTS_MAX:
        return f"the first {ACCOUNTS_MAX:,} rows of pm.tb_account_map"
    return f"all {len(mapped):,} rows of pm.tb_account_map"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + (f" and {rest:,} more" if rest > 0 else "")
