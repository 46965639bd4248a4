"""When the timestamp of an imported transfer lies too far back."""

from adapters.memory.ledger_state import LedgerState
from domain.transfers import Transfer, TransferFlags


def regresses(state: LedgerState, transfer: Transfer) -> bool:
    """Say whether an import is not after every transfer, or shares its time with an account."""
    return bool(transfer.flags & TransferFlags.IMPORTED) and (
        transfer.timestamp_ns <= state.latest_transfer_ns
        or transfer.timestamp_ns in state.accounts_by_timestamp
    )
