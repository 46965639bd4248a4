"""What to do about each kind of difference, in a line; docs/reconcile.md says it with reasons."""

from collections.abc import Mapping
from typing import Final

from domain.reconciliation.differences import DifferenceKind

REMEDIES: Final[Mapping[DifferenceKind, str]] = {
    DifferenceKind.SETTLED_NOT_POSTED: "--fix: the worker posts it",
    DifferenceKind.SETTLED_BUT_RELEASED: "collect the money anew: the payee was told that it came",
    DifferenceKind.FAILED_NOT_RELEASED: "--fix: the worker voids it",
    DifferenceKind.FAILED_BUT_POSTED: (
        "ask the PSP which is true, then pay it back or correct the status"
    ),
    DifferenceKind.POSTED_NOT_SETTLED: (
        "--fix, where the line offers it; else PM inserts the event, with its fee splits"
    ),
    DifferenceKind.RELEASED_NOT_FAILED: (
        "--fix, where the line offers it; else ask the PSP, which may have paid"
    ),
    DifferenceKind.RESOLVED_IN_PART: "by hand: pay back what was posted, or collect the rest",
    DifferenceKind.TRANSFER_MISSING: "find out why PM listed a transfer that froze nothing",
    DifferenceKind.TRANSFER_SHARED: "by hand: only one of the intents can have the money",
    DifferenceKind.AMOUNT_DIFFERS: "by hand: find out which of the amounts is right",
    DifferenceKind.FEE_MISSING: "charge it by hand, once all of the money is posted",
    DifferenceKind.FEE_TWICE: "pay back what is too much",
    DifferenceKind.FEE_AMOUNT_DIFFERS: "pay back or charge the rest",
    DifferenceKind.FEE_WITHOUT_POST: "pay it back",
    DifferenceKind.HISTORY_DIFFERS: "correct the lines, after comparing with the ledger",
    DifferenceKind.EXPIRES_SOON: "see that the event is carried out before: outbox-worker doctor",
    DifferenceKind.EVENT_DONE: "pending: the worker will see that; failed: requeue it",
    DifferenceKind.NO_EVENT: "PM has to say whether to post or to void",
    DifferenceKind.INTENT_MISSING: "find out where the id comes from",
    DifferenceKind.NOT_COMPARED: "the line says what is in the way",
}
