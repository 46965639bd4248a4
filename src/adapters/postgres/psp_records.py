"""What the PSP told about an intent: which of its rows counts, and how it is read."""

from collections.abc import Sequence
from typing import Any, Final

from psycopg import sql

from domain.intents import PspRecord

PSP_COLUMNS: Final = sql.SQL(
    "p.found, p.psp, p.receiver_display_name, p.psp_fee_satang, p.settlement_date, p.last_error"
)
"""What ``psp_record`` takes, of the row that ``join_psp`` names ``p``."""


def join_psp(intent_id: sql.Composable) -> sql.Composed:
    """Return the join that finds the one row of ``pm.psp_tx_map`` for the intent *intent_id*.

    Where there are several, the choice is the same each time. They are not locked: the table
    is another worker's queue.
    """
    return sql.SQL("""
    LEFT JOIN LATERAL (
        SELECT true AS found, m.psp, m.receiver_display_name, m.psp_fee_satang,
               m.settlement_date::text, m.last_error
        FROM (SELECT * FROM pm.psp_tx_map m WHERE m.intent_id = {intent_id} OFFSET 0) m
        ORDER BY m.settlement_date DESC NULLS LAST, m.psp_fee_satang DESC NULLS LAST,
                 m.psp, m.receiver_display_name
        LIMIT 1
    ) p ON true
    """).format(intent_id=intent_id)


def psp_record(row: Sequence[Any]) -> PspRecord | None:
    """Return what ``PSP_COLUMNS`` held; None when the intent has no row."""
    found, psp, receiver_display_name, psp_fee_satang, settlement_date, last_error = row
    if not found:
        return None
    return PspRecord(
        psp=psp,
        receiver_display_name=receiver_display_name,
        psp_fee_satang=psp_fee_satang,
        settlement_date=settlement_date,
        last_error=last_error,
    )
