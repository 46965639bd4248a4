"""Who is told that an intent became final (the table of DESIGN §3)."""

from enum import StrEnum
from typing import Final

from domain.intents import Intent, IntentStatus, UserId


class OperationType(StrEnum):
    """The values of ``pm.intent.operation_type`` that decide who is told; there are more."""

    INVOICE_PAYMENT = "INVOICE_PAYMENT"
    INTERNAL_P2P = "INTERNAL_P2P"
    SERVICE_TRANSFER = "SERVICE_TRANSFER"
    ADMIN = "ADMIN"


class Role(StrEnum):
    """What a person is to an intent: it decides what they are told."""

    INITIATOR = "initiator"
    MERCHANT = "merchant"
    RECIPIENT = "recipient"


USER_TO_USER: Final[frozenset[str]] = frozenset(
    {OperationType.INTERNAL_P2P, OperationType.SERVICE_TRANSFER, OperationType.ADMIN}
)
"""Operations from one user to another."""


def audience_of(
    intent: Intent, status: IntentStatus, *, recipient_user_id: UserId | None
) -> tuple[tuple[UserId, Role], ...]:
    """Return each person to tell once, the initiator first; nobody unless *status* is final.

    A role that no user fills is left out. Who fills two roles is told as the first of them.
    """
    if status not in (IntentStatus.SETTLED, IntentStatus.FAILED):
        return ()
    roles: dict[UserId, Role] = {}
    if intent.user_id is not None:
        roles[intent.user_id] = Role.INITIATOR
    if status is IntentStatus.SETTLED:
        other, role = _counterparty(intent, recipient_user_id)
        if other is not None:
            roles.setdefault(other, role)
    return tuple(roles.items())


def _counterparty(intent: Intent, recipient_user_id: UserId | None) -> tuple[UserId | None, Role]:
    if intent.operation_type == OperationType.INVOICE_PAYMENT:
        return intent.issued_by_user_id, Role.MERCHANT
    if intent.operation_type in USER_TO_USER:
        return recipient_user_id, Role.RECIPIENT
    return None, Role.RECIPIENT
