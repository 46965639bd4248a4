"""What the operator's commands tell programs: documents whose keys are the columns' names."""

from dataclasses import asdict
from typing import Any

from domain.dossier import Dossier, IntentSheet
from domain.waiting import ListedEvent, Page, Stuck, wait_of

Document = dict[str, Any]


def page_document(page: Page) -> Document:
    """Return *page* for programs."""
    return {"total": page.total, "events": [event_document(event) for event in page.events]}


def stuck_document(stuck: Stuck) -> Document:
    """Return *stuck* for programs."""
    return {
        "waiting": page_document(stuck.waiting),
        "failed": page_document(stuck.failed),
        "behind": page_document(stuck.behind),
    }


def event_document(event: ListedEvent) -> Document:
    """Return *event* for programs; its keys are the columns' names."""
    return {**asdict(event), "waits_for": wait_of(event)}


def dossier_document(dossier: Dossier) -> Document:
    """Return *dossier* for programs; JSON columns stay texts, so that no number is rounded."""
    sheet = dossier.intent
    return {
        **asdict(dossier),
        "intent": None if sheet is None else intent_document(sheet),
        "events": [
            {
                **event_document(one.event),
                "payload_json": one.payload_json,
                "processed_at": one.processed_at,
                "archived_at": one.archived_at,
            }
            for one in dossier.events
        ],
    }


def intent_document(sheet: IntentSheet) -> Document:
    """Return the row of an intent for programs."""
    fields = asdict(sheet)
    return {**fields.pop("intent"), **fields}
