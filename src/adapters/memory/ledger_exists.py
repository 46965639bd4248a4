"""A transfer whose id is taken: is it the same one? In TigerBeetle's order of comparisons."""

from adapters.memory.ledger_checks import first_failure
from adapters.memory.ledger_state import LedgerState
from domain.transfer_status import TransferStatus
from domain.transfers import AMOUNT_MAX, Transfer, TransferFlags

_RESOLVING = TransferFlags.POST_PENDING_TRANSFER | TransferFlags.VOID_PENDING_TRANSFER
_BALANCING = TransferFlags.BALANCING_DEBIT | TransferFlags.BALANCING_CREDIT


def compare(state: LedgerState, sent: Transfer, existing: Transfer) -> TransferStatus:
    """Return ``EXISTS`` when *sent* asks for what *existing* did, else the first difference."""
    failure = first_failure(
        (sent.flags != existing.flags, TransferStatus.EXISTS_WITH_DIFFERENT_FLAGS),
        (sent.pending_id != existing.pending_id, TransferStatus.EXISTS_WITH_DIFFERENT_PENDING_ID),
        (sent.timeout_s != existing.timeout_s, TransferStatus.EXISTS_WITH_DIFFERENT_TIMEOUT),
    )
    if failure is not None:
        return failure
    if sent.flags & _RESOLVING:
        return _compare_fields(_inherit(sent, existing, state.transfers[sent.pending_id]), existing)
    return _compare_fields(sent, existing)


def _inherit(sent: Transfer, existing: Transfer, pending: Transfer) -> Transfer:
    """Return *sent* with those fields filled in that a post or void takes over when left 0.

    An amount is filled in where it means "all of the pending amount".
    """
    posts = bool(sent.flags & TransferFlags.POST_PENDING_TRANSFER)
    means_all = sent.amount == (AMOUNT_MAX if posts else 0)
    return Transfer(
        id=sent.id,
        debit_account_id=sent.debit_account_id or existing.debit_account_id,
        credit_account_id=sent.credit_account_id or existing.credit_account_id,
        amount=pending.amount if means_all else sent.amount,
        user_data_128=sent.user_data_128 or pending.user_data_128,
        user_data_64=sent.user_data_64 or pending.user_data_64,
        user_data_32=sent.user_data_32 or pending.user_data_32,
        ledger=sent.ledger or existing.ledger,
        code=sent.code or existing.code,
        flags=sent.flags,
    )


def _compare_fields(sent: Transfer, existing: Transfer) -> TransferStatus:
    # A balancing transfer moves at most the amount sent, so the record may show less.
    balancing = bool(sent.flags & _BALANCING) and not sent.flags & _RESOLVING
    amount_differs = sent.amount < existing.amount if balancing else sent.amount != existing.amount
    return (
        first_failure(
            (
                sent.debit_account_id != existing.debit_account_id,
                TransferStatus.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT_ID,
            ),
            (
                sent.credit_account_id != existing.credit_account_id,
                TransferStatus.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT_ID,
            ),
            (amount_differs, TransferStatus.EXISTS_WITH_DIFFERENT_AMOUNT),
            (
                sent.user_data_128 != existing.user_data_128,
                TransferStatus.EXISTS_WITH_DIFFERENT_USER_DATA_128,
            ),
            (
                sent.user_data_64 != existing.user_data_64,
                TransferStatus.EXISTS_WITH_DIFFERENT_USER_DATA_64,
            ),
            (
                sent.user_data_32 != existing.user_data_32,
                TransferStatus.EXISTS_WITH_DIFFERENT_USER_DATA_32,
            ),
            (sent.ledger != existing.ledger, TransferStatus.EXISTS_WITH_DIFFERENT_LEDGER),
            (sent.code != existing.code, TransferStatus.EXISTS_WITH_DIFFERENT_CODE),
        )
        or TransferStatus.EXISTS
    )
