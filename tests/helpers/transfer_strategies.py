"""Transfers with any value that their fields can hold, for property tests."""

from hypothesis import strategies as st

from domain.transfers import AccountId, Transfer, TransferFlags, TransferId


def uint(bits: int) -> st.SearchStrategy[int]:
    """Return unsigned integers of *bits* bits."""
    return st.integers(0, 2**bits - 1)


transfers = st.builds(
    Transfer,
    id=uint(128).map(TransferId),
    debit_account_id=uint(128).map(AccountId),
    credit_account_id=uint(128).map(AccountId),
    amount=uint(128),
    pending_id=uint(128).map(TransferId),
    user_data_128=uint(128),
    user_data_64=uint(64),
    user_data_32=uint(32),
    timeout_s=uint(32),
    ledger=uint(32),
    code=uint(16),
    flags=uint(16).map(TransferFlags),
    timestamp_ns=uint(64),
)
