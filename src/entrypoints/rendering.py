"""What the operator's commands print: aligned lines for people, JSON documents for programs.

Texts come from anywhere, so nothing in them can move a cursor or look like markup.
"""

import json
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from domain.dossier import Dossier, IntentSheet
from domain.waiting import ActionStatistics, ListedEvent, Page, Stuck, Wait, wait_of
from entrypoints.documents import Document, intent_document
from entrypoints.durations import show_duration
from entrypoints.output import require_stdout
from entrypoints.tables import print_table

_WIDTH_WITHOUT_TERMINAL: Final = 10_000
"""No line of ours is longer, but for those of a table, which are written without ``rich``."""


def stdout_console() -> Console:
    """Return a console that folds lines on a terminal, and nowhere else.

    Raises:
        OutputLostError: stdout is closed.
    """
    stdout = require_stdout()
    return Console(file=stdout, width=None if stdout.isatty() else _WIDTH_WITHOUT_TERMINAL)


def print_json(document: Document) -> None:
    """Print one JSON document; ids and enumerations are strings in it.

    It is ASCII, so that nothing in it steers a terminal.

    Raises:
        OutputLostError: stdout is closed.
    """
    require_stdout().write(json.dumps(document, indent=2, default=str) + "\n")


def print_queue(page: Page, console: Console) -> None:
    """Print pending events in the order in which workers take them."""
    print_table(
        console,
        ("id", "intent", "action", "retries", "age", "created", "why it waits"),
        [
            (
                event.id,
                event.intent_id,
                event.action,
                event.retry_count,
                age_of(event),
                event.created_at,
                why(event),
            )
            for event in page.events
        ],
    )
    console.print(_how_many(page, "pending") + ".")


def print_stuck(stuck: Stuck, console: Console, *, older_than: str) -> None:
    """Print what does not get on; first that for which a person is needed."""
    events = (*stuck.failed.events, *stuck.behind.events, *stuck.waiting.events)
    print_table(
        console,
        ("id", "intent", "action", "status", "retries", "age", "why it waits", "last error"),
        [
            (
                event.id,
                event.intent_id,
                event.action,
                event.status,
                event.retry_count,
                age_of(event),
                why(event),
                event.retry and event.retry.last_error,
            )
            for event in events
        ],
    )
    if not stuck.is_any:
        console.print("Nothing is stuck.")
        return
    counts = [
        _how_many(stuck.failed, "failed, which needs a person") if stuck.failed.total else "",
        _how_many(stuck.behind, "held up with a failed one") if stuck.behind.total else "",
        _how_many(stuck.waiting, f"pending for longer than {older_than}")
        if stuck.waiting.total
        else "",
    ]
    console.print(f"{'; '.join(filter(None, counts))}.")


def print_retried(page: Page, console: Console, *, more_than: int) -> None:
    """Print the events that failed most often."""
    print_table(
        console,
        ("id", "intent", "action", "retries", "age", "reason", "next attempt", "last error"),
        [
            (
                event.id,
                event.intent_id,
                event.action,
                event.retry_count,
                age_of(event),
                event.retry and event.retry.reason,
                event.retry and event.retry.next_attempt_at,
                event.retry and event.retry.last_error,
            )
            for event in page.events
        ],
    )
    console.print(_how_many(page, f"pending with more than {more_than} failures") + ".")


def print_statistics(statistics: Sequence[ActionStatistics], console: Console) -> None:
    """Print counts, and latencies in seconds."""
    print_table(
        console,
        ("action", "status", "count", "average s", "p50 s", "p99 s"),
        [
            (
                one.action,
                one.status,
                one.count,
                _seconds(one.latency_average_ms),
                _seconds(one.latency_p50_ms),
                _seconds(one.latency_p99_ms),
            )
            for one in statistics
        ],
    )
    if not statistics:
        console.print("No event was created in that time.")


def print_dossier(dossier: Dossier, console: Console) -> None:
    """Print everything about one intent, a block a table."""
    _print_block(console, f"intent {dossier.intent_id}", ("", ""), _intent_rows(dossier.intent))
    _print_block(
        console,
        "events",
        (
            *("id", "action", "status", "retries", "created", "processed"),
            *("why it waits", "last error", "payload"),
        ),
        [
            (
                sheet.event.id,
                sheet.event.action,
                sheet.event.status + (", archived" if sheet.archived_at else ""),
                sheet.event.retry_count,
                sheet.event.created_at,
                sheet.processed_at,
                why(sheet.event),
                sheet.event.retry and sheet.event.retry.last_error,
                sheet.payload_json,
            )
            for sheet in dossier.events
        ],
    )
    _print_block(
        console,
        "psp",
        (
            *("psp", "state", "reference", "receiver"),
            *("fee satang", "settlement date", "last error"),
        ),
        [
            (
                record.psp,
                record.state,
                record.psp_reference,
                record.receiver_display_name,
                record.psp_fee_satang,
                record.settlement_date,
                record.last_error,
            )
            for record in dossier.psp
        ],
    )
    _print_block(
        console,
        "history",
        ("line", "kind", "account", "satang", "currency", "fee kind"),
        [
            (
                record.line_no,
                record.kind,
                record.account,
                record.amount_satang,
                record.currency,
                record.fee_kind,
            )
            for record in dossier.history
        ],
    )
    _print_block(
        console,
        "audit trail",
        ("at", "from", "to", "reason", "payload"),
        [
            (
                record.created_at,
                record.status_from,
                record.status_to,
                record.reason,
                record.payload_json,
            )
            for record in dossier.audit
        ],
    )
    _print_block(
        console,
        "push jobs that wait for Redis",
        ("notification", "user"),
        [(job.notification_id, job.user_id) for job in dossier.jobs],
    )


def age_of(event: ListedEvent) -> str | None:
    """Return how long ago *event* was created; None where that cannot be told."""
    return None if event.age_s is None or event.age_s < 0 else show_duration(event.age_s)


def why(event: ListedEvent) -> str:
    """Return what *event* waits for, in words."""
    retry = event.retry
    match wait_of(event):
        case Wait.DUE:
            return "due" if event.intent_status is not None else "due; there is no such intent"
        case Wait.BACKOFF if retry is not None:
            return f"backoff until {retry.next_attempt_at} ({retry.reason})"
        case Wait.BEHIND:
            return f"behind event {event.head_id}"
        case Wait.IN_REVIEW:
            return "intent in MANUAL_REVIEW"
        case Wait.GIVEN_UP:
            return "given up" + (f" ({retry.reason})" if retry is not None else "")
        case _:
            return ""


def _intent_rows(sheet: IntentSheet | None) -> list[tuple[object, ...]]:
    if sheet is None:
        return []
    document = intent_document(sheet)
    document["tb_transfer_ids"] = ", ".join(map(str, sheet.intent.tb_transfer_ids))
    return [(name, value) for name, value in document.items() if name != "id"]


def _how_many(page: Page, what: str) -> str:
    shown = len(page.events)
    first = f"{shown:,} of " if shown < page.total else ""
    return f"{first}{page.total:,} {what}"


def _seconds(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else f"{milliseconds / 1_000:.3f}"


def _print_block(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    console.print(Text(title if rows else f"{title}: none", style="bold"))
    print_table(console, columns, rows)
