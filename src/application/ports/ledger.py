"""The ledger that holds the frozen money."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from application.ports.ledger_accounts import LedgerAccounts
from domain.ledger_requests import ChainAnswer, ResolutionSearch, SearchAnswer
from domain.transfers import Transfer, TransferId


class Ledger(LedgerAccounts, Protocol):
    """Create linked transfers and look transfers up, many intents in one request.

    Units: amounts are integers of the ledger's unit (satang).

    Idempotency: a transfer's id is its key. Sending the same transfer again moves nothing
    and answers ``EXISTS`` (or, in a chain, what LEDGER_OUTCOMES §1 lists).

    Every method raises:
        LedgerUnavailableError: no answer within the deadline; the outcome is *unknown*.
            Send the same transfers again, later.
        LedgerMisconfiguredError: the client's release or the cluster does not fit.
    """

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """Create each chain, all of it or nothing; answers are in the order of *chains*.

        Chains never touch each other. A chain is never split over two requests. The order
        of *chains* is kept, so a later chain sees the effects of an earlier one.

        Returns for each chain the status of each member, or ``ChainRefused`` for a chain
        that cannot be sent at all (``domain.chains.chain_fault``, or longer than a request):
        nothing of that chain was sent, the others were.
        """
        ...

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """Return those transfers of *ids* that exist; ids out of range are not found."""
        ...

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """Find transfers that resolved pending transfers, and fees.

        The answer holds (a) every transfer whose ``pending_id`` is one of its
        pending transfers, whoever sent it, (b) every transfer of ``fee_code`` that carries
        the intent's id in ``user_data_128``, (c) the transfer of ``fee_code`` that credits
        ``fee_credit_account_id`` at the very next timestamp after one of (a), if there is
        one. It may hold more; the caller judges. Read-only.

        A search takes several requests to the ledger, more on a busy account. One that takes too
        many, or too long although each of them is answered, ends early, and its answer says so.
        """
        ...

    def close(self) -> None:
        """End calls that are waiting for an answer, and refuse further ones.

        Those raise LedgerUnavailableError: what they asked may still be carried out.
        Returns within seconds, whatever the ledger does. Idempotent.
        """
        ...
