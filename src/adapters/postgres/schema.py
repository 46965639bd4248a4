"""The payment manager's tables and columns that the worker needs (DESIGN §3)."""

from collections.abc import Mapping
from typing import Final

from adapters.postgres.connection import BoundedConnection

PAYMENT_MANAGER_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "pm.outbox_event": (
        "id", "intent_id", "action", "status", "payload", "retry_count", "created_at",
        "processed_at",
    ),
    "pm.intent": (
        "id", "status", "operation_type", "amount_satang", "currency", "user_id",
        "issued_by_user_id", "metadata", "tb_transfer_ids", "to_name", "settlement_date",
        "failure_reason", "updated_at",
    ),
    "pm.psp_tx_map": (
        "intent_id", "psp", "receiver_display_name", "psp_fee_satang", "settlement_date",
        "last_error",
    ),
    "pm.tx_history": (
        "intent_id", "line_no", "kind", "fee_kind", "account", "amount_satang", "currency",
        "created_at",
    ),
    "pm.intent_event": (
        "intent_id", "status_from", "status_to", "reason", "payload", "created_at",
    ),
    "pm.tb_account_map": ("code", "tb_account_id", "ledger"),
}  # fmt: skip


def missing_tables(connection: BoundedConnection) -> list[str]:
    """Return the needed tables that are not there, or that the role cannot see."""
    return [table for table in PAYMENT_MANAGER_COLUMNS if not exists(connection, table)]


def missing_columns(connection: BoundedConnection) -> list[str]:
    """Return the needed columns, as ``table.column``, that tables which are there lack."""
    return [
        f"{table}.{column}"
        for table, columns in PAYMENT_MANAGER_COLUMNS.items()
        if exists(connection, table)
        for column in columns
        if column not in _columns(connection, table)
    ]


def exists(connection: BoundedConnection, table: str) -> bool:
    """Say whether *table*, with its schema, is there."""
    return connection.execute("SELECT to_regclass(%s)", [table]).fetchone() != (None,)


def _columns(connection: BoundedConnection, table: str) -> set[str]:
    rows = connection.execute(
        "SELECT attname FROM pg_attribute"
        " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        [table],
    )
    return {name for (name,) in rows}
