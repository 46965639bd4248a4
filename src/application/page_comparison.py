"""Compare one page of intents with the ledger: look up, search where in doubt, judge.

Whatever is wrong with one intent's rows costs that intent only.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from application.attempts import SEARCHES_MAX, batched
from application.ports.ledger import Ledger
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

        *search_all*: search for every intent that lists transfers, in doubt or not.
        """
        sought = [lookup_ids_for(record) for record in page]
        found = self.ledger.lookup([id_ for each in sought for id_ in each])
        examined = [
            _Examined(record, each, money_known(record, each, found))
            for record, each in zip(page, sought, strict=True)
        ]
        doubtful = [one for one in examined if search_all or self._is_in_doubt(one)]
        self._search([one for one in doubtful if one.sought.pending_ids], found)
        return tuple([each for one in examined for each in self._judge(one)])

    def _search(self, examined: Sequence[_Examined], found: Found) -> None:
        """Learn what others than the worker did."""
        searches = [self._search_for(one, found) for one in examined]
        pieces = list(batched(searches, SEARCHES_MAX))
        answers = self.searchers.map(self.ledger.find_resolutions, pieces)
        related = [each for answer in answers for each in answer]
        for one, search, transfers in zip(examined, searches, related, strict=True):
            one.money = money_searched(one.record, one.sought, found, search, transfers)

    def _search_for(self, one: _Examined, found: Found) -> ResolutionSearch:
        psp = one.record.psp
        name = (psp.psp or "") if psp is not None else ""
        _, code = self.fee.codes(psp=name, currency=one.record.currency or "")
        account = self.accounts.get(code)
        return search_for(
            one.record,
            one.sought,
            found,
            fee_code=self.fee.transfer_code,
            fee_account_id=None if account is None else account.account_id,
        )

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
