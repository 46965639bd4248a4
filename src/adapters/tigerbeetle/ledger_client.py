"""Make the adapter's client: the official one, by the quickest way that is known to be right."""

from functools import cache
from importlib.metadata import version

import structlog

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.official_client import official_client
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import PlainClient
from adapters.tigerbeetle.rehearsal import packing_fault

log = structlog.get_logger(__name__)


def ledger_client(cluster_id: int, addresses: str) -> Client:
    """Make a client; returns, and raises, like ``official_client``."""
    official = official_client(cluster_id, addresses)
    return PackedClient(official) if _can_pack() else PlainClient(official)


@cache  # the release stays the same for as long as the process lives
def _can_pack() -> bool:
    fault = packing_fault()
    if fault is not None:
        log.warning("ledger_packing_off", release=version("tigerbeetle"), fault=fault)
    return fault is None
