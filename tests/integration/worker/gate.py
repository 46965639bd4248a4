"""Hold the ledger's answers back, so that a test can act in the middle of a batch."""

import itertools
import threading
from enum import Enum, auto

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall
from domain.transfers import Transfer
from tests.helpers.worker_process import PATIENCE_S, WorkerProcess


class Moment(Enum):
    """Where in a batch the worker is held."""

    # After: the ledger has acted, and only its answer is held back.
    BEFORE_CHAINS = auto()
    AFTER_CHAINS = auto()
    AFTER_FEES = auto()


class Gate:
    """Holds workers at *moment*, from the *nth* batch on, until ``open``."""

    def __init__(self, ledger: FaultyLedger, moment: Moment, *, nth: int = 1) -> None:
        self._moment = moment
        self._nth = nth
        self._batches = itertools.count(1)
        self._held = itertools.count(1)
        self._held_total = 0
        self._opened = threading.Event()
        if moment is Moment.BEFORE_CHAINS:
            ledger.before = self._hold
        else:
            ledger.after = self._hold

    def wait_reached(self, worker: WorkerProcess, *, lanes: int = 1) -> None:
        """Wait until that many lanes of *worker* are held."""
        worker.wait_until(
            lambda: self._held_total >= lanes, what=f"lanes are held at {self._moment}"
        )

    def open(self) -> None:
        """Let everything through, now and later; also what dead workers had asked."""
        self._opened.set()

    def _hold(self, call: LedgerCall) -> None:
        if self._is_meant(call) and next(self._batches) >= self._nth:
            self._held_total = next(self._held)
            self._opened.wait(PATIENCE_S)

    def _is_meant(self, call: LedgerCall) -> bool:
        match call:
            case LedgerCall("create_chains", [(Transfer() as first, *_), *_]):
                is_of_fees = first.pending_id == 0
                return is_of_fees is (self._moment is Moment.AFTER_FEES)
            case _:
                return False
