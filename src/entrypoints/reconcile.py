"""``outbox-worker reconcile``: compare Postgres with the ledger, show it, and fix it on demand."""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from application.ports.account_map import AccountMap
from application.use_cases.reconcile import Checked, Reconcile
from domain.intents import IntentId
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import ByIds, Period, Selection
from entrypoints.adapter_builders import (
    build_account_map,
    build_intent_records,
    build_ledger,
)
from entrypoints.asking import is_confirmed
from entrypoints.durations import Moment, moment_at
from entrypoints.output import require_stdout
from entrypoints.reconcile_json import JsonReport
from entrypoints.reconcile_orders import ORDERS_MAX, Fixable, order_all
from entrypoints.reconcile_progress import Progress, shown
from entrypoints.reconcile_report import Report, Tally
from entrypoints.reconcile_text import TextReport
from entrypoints.settings import LedgerSettings
from entrypoints.worker_builders import build_fee_rule, known_fee_codes

ACCOUNTS_MAX: Final = 100_000
"""Rows of ``pm.tb_account_map`` that are read; those of the known PSP's fees come first."""


class BadPeriodError(ValueError):
    """The period that was asked for has no beginning before its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asked for. ``since`` and ``until`` count where no intent is named."""

    intent_ids: tuple[IntentId, ...]
    since: Moment
    until: Moment
    limits: Limits
    as_json: bool
    fix: bool
    assume_yes: bool


def run_reconcile(settings: LedgerSettings, request: Request) -> int:
    """Reconcile as *request* says, and return the exit code: 1 when anything differs.

    Raises:
        BadPeriodError: nothing was compared.
        OutputLostError, OutageError, MisconfiguredError: what was shown so far is so; the rest is
            not known.
    """
    output = require_stdout()
    report: Report = JsonReport(output) if request.as_json else TextReport(output)
    tally, fixable = Tally(), Fixable()
    for checked in shown(_all_checked(settings, request), report, Progress(sys.stderr)):
        tally.add(checked)
        if request.fix:
            fixable.add(checked.differences)
    report.sum_up(tally)
    if request.fix:
        wanted = [*fixable.differences.values()] if _is_wanted(fixable, request) else []
        orders = order_all(settings, wanted) if wanted else ()
        report.add_orders(orders, has_more=fixable.has_more)
    report.end()
    return int(tally.differences > 0)


def _all_checked(settings: LedgerSettings, request: Request) -> Iterator[Checked]:
    records = build_intent_records(settings)
    selection = _selection(request, now=records.now())
    fee = build_fee_rule(settings)
    account_map: AccountMap = build_account_map(settings)
    with closing(build_ledger(settings)) as ledger:
        yield from Reconcile(
            records=records,
            ledger=ledger,
            fee_scan=ledger,
            fee=fee,
            accounts=account_map.read(first=known_fee_codes(fee), limit=ACCOUNTS_MAX),
            limits=request.limits,
        )(selection)


def _selection(request: Request, *, now: datetime) -> Selection:
    if request.intent_ids:
        return ByIds(request.intent_ids)
    since, until = moment_at(request.since, now=now), moment_at(request.until, now=now)
    if since >= until:
        raise BadPeriodError(
            f"the period begins at {since.isoformat()} and ends at {until.isoformat()}:"
            " --since has to be before --until"
        )
    return Period(since=since, until=until)


def _is_wanted(fixable: Fixable, request: Request) -> bool:
    """Say what --fix would do, and find out whether it shall."""
    if request.as_json:
        return True  # each difference was printed with its fix, and --yes was given
    differences = fixable.differences.values()
    if not differences:
        return False
    more = f", the first {ORDERS_MAX:,} of them" if fixable.has_more else ""
    sys.stdout.write(
        f"\n--fix inserts these events{more}. The worker carries them out,"
        " and checks each against the ledger first:\n"
    )
    for one in differences:
        sys.stdout.write(f"{one.intent_id}  {one.fix}  since {one.kind}\n")
    question = f"Insert {len(differences):,}?"
    return request.assume_yes or is_confirmed(question)
