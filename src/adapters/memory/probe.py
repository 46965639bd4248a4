"""Does the demo's ledger answer us?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adapters.memory.remote_ledger import RemoteLedger
from application.errors import OutboxError
from domain.findings import Examined, Finding
from domain.sanitising import sanitise
from domain.transfers import AccountId

_EXAMINED: Final = Examined("Ledger in memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLedgerProbe:
    """Fulfils ``Probe`` for a ledger that ``outbox-worker demo --keep`` serves."""

    ledger: RemoteLedger
    name: str = _EXAMINED.subject

    def examine(self) -> Sequence[Finding]:
        """See ``Probe.examine``."""
        try:
            self.ledger.lookup_accounts([AccountId(1)])
        except OutboxError as error:
            remedy = "run `outbox-worker demo --keep`, or name a TigerBeetle"
            return [_EXAMINED.red("answers", sanitise(str(error)), remedy)]
        remedy = "for real money, name a TigerBeetle in TIGERBEETLE_ADDRESSES"
        return [_EXAMINED.warning("answers", "its money is gone with its process", remedy)]
