"""Compare one page of intents with the ledger: look up, search where in doubt, judge.

Whatever is wrong with one intent's rows costs that intent only.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from application.ports.ledger import Ledger
from domain.charged_fees import FeeAccounts
from domain.fees import AccountCode, FeeRule, MappedAccount
from domain.ledger_requests import Found, ResolutionSearch
from domain.reconciliation.comparing import differences, needs_search
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.limits import Limits
from domain.reconciliation.lookup_ids import LookupIds, lookup_ids_for
from domain.reconciliation.money import Money, money_known, money_searched, search_for
from domain.reconciliation.record import IntentRecord
from domain.sanitising import sanitise


@dataclass(slots=True)
class _Examined:
    """An intent, and what the ledger has told of it so far."""

    record: IntentRecord
    sought: LookupIds
    money: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class PageComparison:
    """Compares pages; *searchers* run several searches at a time, as those mostly wait."""

    ledger: Ledger
    searchers: Executor
    fee: FeeRule
    accounts: Mapping[AccountCode, MappedAccount]
    limits: Limits

    def __call__(self, page: Sequence[IntentRecord], *, search_all: bool) -> tuple[Difference, ...]:
        """Return what *page* differs in, in its order; raises what the ledger raises.

        *search_all*: search for every intent, in doubt or not.
        """
        sought = [lookup_ids_for(record) for record in page]
        found = self.ledger.lookup([id_ for each in sought for id_ in each])
        examined = [
            _Examined(record, each, money_known(record, each, found))
            for record, each in zip(page, sought, strict=True)
        ]
        doubtful = [one for one in examined if search_all or self._is_in_doubt(one)]
        self._search(doubtful, found)
        return tuple([each for one in examined for each in self._judge(one)])

    def _search(self, examined: Sequence[_Examined], found: Found) -> None:
        """Learn what others than the worker did."""
        searches = [self._search_for(one, found) for one in examined]
        answers = self.searchers.map(self.ledger.find_resolutions, searches)
        for one, search, answer in zip(examined, searches, answers, strict=True):
            one.money = money_searched(
                one.record,
                one.sought,
                found,
                search,
                answer,
                fee_accounts=self._fee_accounts(one.record),
            )

    def _search_for(self, one: _Examined, found: Found) -> ResolutionSearch:
        _, credit = self._mapped(one.record)
        return search_for(
            one.record,
            one.sought,
            found,
            fee_code=self.fee.transfer_code,
            fee_account_id=None if credit is None else credit.account_id,
        )

    def _fee_accounts(self, record: IntentRecord) -> FeeAccounts | None:
        debit, credit = self._mapped(record)
        if debit is None or credit is None:
            return None
        return FeeAccounts(debit.account_id, credit.account_id, credit.ledger)

    def _mapped(self, record: IntentRecord) -> tuple[MappedAccount | None, MappedAccount | None]:
        """Return where the fee's accounts are, as far as they are known."""
        name = (record.psp.psp or "") if record.psp is not None else ""
        debit, credit = self.fee.codes(psp=name, currency=record.currency or "")
        return self.accounts.get(debit), self.accounts.get(credit)

    def _is_in_doubt(self, one: _Examined) -> bool:
        try:
            return needs_search(one.record, one.money, self.limits)
        except Exception:
            return True  # what is wrong with it is told when it is judged

    def _judge(self, one: _Examined) -> tuple[Difference, ...]:
        record = one.record
        try:
            return differences(record, one.money, self.limits)
        except Exception as error:
            detail = sanitise(f"its rows cannot be judged: {type(error).__name__}: {error}")
            kind = DifferenceKind.NOT_COMPARED
            return (
                Difference(intent_id=record.id, kind=kind, detail=detail, status=record.status),
            )
