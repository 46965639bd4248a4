"""Compare what the database says of intents with what the ledger did; change nothing.

The database is read first, a page at a time, then the ledger, which is then at least as new:
what the worker does in between looks unfinished in the database, and is passed over as long
as it is recent. Most intents are judged by one look-up for a whole page. Who did what under
other ids than the worker's has to be searched for, so only where the look-up leaves a doubt.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, TypeVar
from uuid import UUID

from application.ledger_identity import ACCOUNTS_MAX, require_own_ledger
from application.page_comparison import PageComparison
from application.ports.fee_scan import FeeScan
from application.ports.intent_records import IntentRecords
from application.ports.ledger import Ledger
from domain.charged_fees import is_fee
from domain.fees import AccountCode, FeeRule, MappedAccount
from domain.intents import IntentId
from domain.reconciliation.differences import OF_FEES, Difference, DifferenceKind
from domain.reconciliation.duplicate_fees import duplicate_fees, fee_charged_again
from domain.reconciliation.fixing import TRANSFER_SHARED
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import ByIds, Period, Selection
from domain.reconciliation.shared_transfers import sharing
from domain.transfers import Transfer

SEARCH_THREADS: Final = 4
"""Searches wait for the ledger most of the time."""

FEE_LOOKBACK: Final = timedelta(days=1)
"""How long before the period a fee may have been charged that is charged again in it."""

INTENTS_REMEMBERED_MAX: Final = 100_000
"""Of those that were reported. Beyond that a difference may be told twice, or marked as
fixable that the order to fix it then passes over."""

DIFFERENCES_A_STEP: Final = 500

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ON_FEES: Final = OF_FEES | {DifferenceKind.NOT_COMPARED}
"""What is told of an intent whose fees were looked at; where that ended early, that it did."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A step of the way: how many intents it compared, and what it found."""

    intents: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconcile:
    """Compares page by page; never more than a page is in memory.

    ``accounts`` is ``pm.tb_account_map``, for the accounts that fees are credited to, and
    for telling whether this is the ledger that has them.
    """

    records: IntentRecords
    ledger: Ledger
    fee_scan: FeeScan
    fee: FeeRule
    accounts: Mapping[AccountCode, MappedAccount]
    limits: Limits

    def __call__(self, selection: Selection) -> Iterator[Checked]:
        """Yield a step for each page, and others (``intents`` 0) for what shows across pages.

        Raises, while iterating:
            OutageError, MisconfiguredError: of the database or the ledger; begin again. In
                particular, before any step, where the ledger has none of the accounts: every
                transfer would be missing in it.
        """
        some = islice(self.accounts.values(), ACCOUNTS_MAX)
        require_own_ledger(self.ledger, [account.account_id for account in some])
        shared, fees_off = _Remembered(), _Remembered()
        yield from _steps(self._shared(selection, shared))
        missing = set(selection.intent_ids) if isinstance(selection, ByIds) else set()
        with ThreadPoolExecutor(SEARCH_THREADS, "reconcile") as searchers:
            compare = PageComparison(
                ledger=self.ledger,
                searchers=searchers,
                fee=self.fee,
                accounts=self.accounts,
                limits=self.limits,
            )
            for page in self.records.pages(selection):
                found = compare(page, search_all=isinstance(selection, ByIds))
                missing.difference_update([record.id for record in page])
                yield Checked(len(page), tuple(_told(found, shared, fees_off)))
            yield from _steps(_missing(intent_id) for intent_id in sorted(missing))
            if isinstance(selection, Period):
                yield from _steps(self._duplicate_fees(selection, compare, but=fees_off))

    def _shared(self, selection: Selection, shared: "_Remembered") -> Iterator[Difference]:
        for one in self.records.shared_transfers(selection):
            shared.add(one.intent_id)
            yield sharing(one)

    def _duplicate_fees(
        self, period: Period, compare: PageComparison, *, but: "_Remembered"
    ) -> Iterator[Difference]:
        """Find fees that were charged again in *period*; the pages search in few cases only.

        Whether more than what is due was charged, and not paid back, is judged by the intent.
        """
        suspects = (
            fee
            for fee in self._charged_again(period)
            if IntentId(UUID(int=fee.user_data_128)) not in but.intent_ids
        )
        for some in _pieces(suspects):
            unknown = {IntentId(UUID(int=fee.user_data_128)): fee for fee in some}
            for page in self.records.pages(ByIds(tuple(unknown))):
                for record in page:
                    unknown.pop(record.id, None)
                found = compare(page, search_all=True)
                yield from (one for one in found if one.kind in _ON_FEES)
            yield from map(fee_charged_again, unknown.values())

    def _charged_again(self, period: Period) -> Iterator[Transfer]:
        code, until_ns = self.fee.transfer_code, _ns_of(period.until)
        first_ns = max(_ns_of(period.since) - _ns(FEE_LOOKBACK), 0)

        def fees() -> Iterator[Transfer]:
            for transfer in self.fee_scan.transfers_of_code(code, since_ns=first_ns):
                if transfer.timestamp_ns >= until_ns:
                    return
                if is_fee(transfer, fee_code=code):
                    yield transfer

        return duplicate_fees(fees, since_ns=_ns_of(period.since))


@dataclass(frozen=True, slots=True)
class _Remembered:
    """The first so many intents of something."""

    intent_ids: set[IntentId] = field(default_factory=set)

    def add(self, intent_id: IntentId) -> None:
        """Remember *intent_id*, if there is room."""
        if len(self.intent_ids) < INTENTS_REMEMBERED_MAX:
            self.intent_ids.add(intent_id)


def _steps(differences: Iterable[Difference]) -> Iterator[Checked]:
    for some in _pieces(differences):
        yield Checked(0, some)


def _pieces(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    rest = iter(items)
    while some := tuple(islice(rest, DIFFERENCES_A_STEP)):
        yield some


def _told(
    found: Iterable[Difference], shared: _Remembered, fees_off: _Remembered
) -> Iterator[Difference]:
    """Pass *found* on; no money that two intents claim is ordered for one of them."""
    for one in found:
        if one.kind in _ON_FEES:
            fees_off.add(one.intent_id)
        if one.fix is not None and one.intent_id in shared.intent_ids:
            yield one.unfixable(TRANSFER_SHARED.detail)
        else:
            yield one


def _missing(intent_id: IntentId) -> Difference:
    return Difference(
        intent_id=intent_id,
        kind=DifferenceKind.INTENT_MISSING,
        detail="there is no such intent in the database",
    )


def _ns_of(moment: datetime) -> int:
    return _ns(moment - _EPOCH)


def _ns(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1) * 1_000
