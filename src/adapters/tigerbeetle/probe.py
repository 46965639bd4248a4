"""Does TigerBeetle answer us, and within which limits?"""

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from adapters.tigerbeetle.addresses import resolve_addresses
from adapters.tigerbeetle.io_uring import IO_URING_REMEDY, io_uring_fault
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from application.errors import LedgerMisconfiguredError, OutboxError
from domain.chains import REQUEST_EVENTS_MAX
from domain.findings import Examined, Finding, Verdict
from domain.sanitising import sanitise

CONNECT_TIMEOUT_S: Final = 3.0

_EXAMINED: Final = Examined("TigerBeetle")
_SILENCE_REMEDY: Final = (
    "compare TIGERBEETLE_CLUSTER_ID with the cluster's (a wrong one is met with silence); see"
    " that most replicas run, that a client slot is free (32 clients at once, 8 with"
    " --development), and that the cluster is no older than the client"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TigerBeetleProbe:
    """Fulfils ``Probe``. No client is made where it could not live, or has nobody to reach."""

    addresses: str
    ledger: TigerBeetleLedger
    find_io_uring_fault: Callable[[], str | None] = io_uring_fault
    name: str = _EXAMINED.subject

    def examine(self) -> Sequence[Finding]:
        """See ``Probe.examine``."""
        findings = [self._io_uring(), self._replicas()]
        if all(finding.verdict is not Verdict.RED for finding in findings):
            findings += self._cluster()
        return findings

    def _io_uring(self) -> Finding:
        fault = self.find_io_uring_fault()
        if fault is not None:
            return _EXAMINED.red("io_uring", fault, IO_URING_REMEDY)
        return _EXAMINED.ok("io_uring", "can be used")

    def _replicas(self) -> Finding:
        what = "replicas"
        try:
            addresses = resolve_addresses(self.addresses).split(",")
        except OutboxError as error:
            return _EXAMINED.red(what, sanitise(str(error)), "correct TIGERBEETLE_ADDRESSES")
        with ThreadPoolExecutor(len(addresses)) as threads:
            faults = [fault for fault in threads.map(_connect_fault, addresses) if fault]
        if len(faults) == len(addresses):
            remedy = "start TigerBeetle, or correct TIGERBEETLE_ADDRESSES"
            return _EXAMINED.red(what, "; ".join(faults), remedy)
        if faults:
            remedy = "start the other replicas, or correct TIGERBEETLE_ADDRESSES"
            return _EXAMINED.warning(what, "; ".join(faults), remedy)
        return _EXAMINED.ok(what, f"{', '.join(addresses)}: connected")

    def _cluster(self) -> Iterator[Finding]:
        client = f"client {version('tigerbeetle')}"
        try:
            has_usual_limits = self.ledger.takes_lookups_of(REQUEST_EVENTS_MAX)
        except LedgerMisconfiguredError as error:
            yield _EXAMINED.red("answers", sanitise(str(error)), "do what the message says")
            return
        except OutboxError as error:
            yield _EXAMINED.red("answers", sanitise(str(error)), _SILENCE_REMEDY)
            return
        yield _EXAMINED.ok("answers", f"the cluster takes {client}")
        if has_usual_limits:
            yield _EXAMINED.ok(
                "limits",
                f"{REQUEST_EVENTS_MAX:,} events a request; 32 clients at once, a worker is one",
            )
        else:
            yield _EXAMINED.warning(
                "limits",
                "those of --development: 253 transfers a request, 8 clients at once",
                "for production, format and start the cluster without --development",
            )


def _connect_fault(address: str) -> str | None:
    """Return why nothing at *address*, as the client takes it, accepts a connection."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection(
            (host.strip("[]") or "127.0.0.1", int(port)), timeout=CONNECT_TIMEOUT_S
        ).close()
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return None
