"""The three transfers that the worker sends: post, void and PSP fee.

Ledger, code and accounts of a post or void stay 0: they are inherited, and a wrong value
would be refused before the pending transfer's state is even looked at.
"""

from domain.fees import Fee
from domain.intents import Action, IntentId
from domain.transfer_ids import fee_id, resolution_id
from domain.transfers import AMOUNT_MAX, Transfer, TransferFlags, TransferId


def build_resolving_transfer(
    intent_id: IntentId, action: Action, pending_id: TransferId, *, generation: int
) -> Transfer:
    """Return the transfer that carries out *action* on one pending transfer, in full."""
    posting = action is Action.POST_PENDING
    return Transfer(
        id=resolution_id(intent_id, action, pending_id, generation=generation),
        pending_id=pending_id,
        amount=AMOUNT_MAX if posting else 0,
        flags=resolving_flag(action),
    )


def resolving_flag(action: Action) -> TransferFlags:
    """Return the flag that a transfer carrying out *action* has."""
    if action is Action.POST_PENDING:
        return TransferFlags.POST_PENDING_TRANSFER
    return TransferFlags.VOID_PENDING_TRANSFER


def build_fee_transfer(
    intent_id: IntentId, fee: Fee, first_pending_id: TransferId, *, generation: int
) -> Transfer:
    """Return the transfer that charges *fee*; it can be found again by the intent's id."""
    return Transfer(
        id=fee_id(intent_id, first_pending_id, generation=generation),
        debit_account_id=fee.debit_account_id,
        credit_account_id=fee.credit_account_id,
        amount=fee.amount_satang,
        user_data_128=intent_id.int,
        ledger=fee.ledger,
        code=fee.transfer_code,
    )
