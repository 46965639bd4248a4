"""What a ``Resolution`` asks of the ledger next, and what it is answered."""

from collections.abc import Mapping

from domain.intents import IntentId
from domain.transfer_status import AnyStatus
from domain.transfers import AccountId, Transfer, TransferId
from domain.values import value


@value(kw_only=False)
class ChainRefused:
    """A chain that cannot be sent at all, whatever the ledger's state: nothing was sent."""

    detail: str


ChainAnswer = tuple[AnyStatus, ...] | ChainRefused


@value
class ResolutionSearch:
    """Who resolved these pending transfers, and was a fee charged along with them?

    ``fee_credit_account_id`` is None when the fee's account is not known.
    """

    intent_id: IntentId
    pendings: tuple[Transfer, ...]
    fee_code: int
    fee_credit_account_id: AccountId | None


@value(kw_only=False)
class SearchAnswer:
    """What a search found. It may have had to end early; only what it found is certain then.

    ``has_all_resolvers`` False: who resolved a pending transfer may not be among it, though
    somebody did. ``has_all_fees`` False: likewise, a fee that was charged.
    """

    transfers: tuple[Transfer, ...]
    has_all_resolvers: bool = True
    has_all_fees: bool = True


@value(kw_only=False)
class CreateChain:
    """Ask: create these transfers, all or none. Answer: ``ChainAnswer``."""

    transfers: tuple[Transfer, ...]


@value(kw_only=False)
class LookUp:
    """Ask: which of these transfers exist? Answer: a mapping that has those that do."""

    ids: tuple[TransferId, ...]


@value(kw_only=False)
class FindResolutions:
    """Ask: a ``ResolutionSearch``. Answer: a ``SearchAnswer``."""

    search: ResolutionSearch


Found = Mapping[TransferId, Transfer]
Ask = CreateChain | LookUp | FindResolutions
Answer = ChainAnswer | Found | SearchAnswer
