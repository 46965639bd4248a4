"""The adapter's client: the official one, driven the quickest way that is known to be right."""

from functools import cache
from importlib.metadata import version

import structlog
from tigerbeetle import ClientSync

from adapters.tigerbeetle.client import Client
from adapters.tigerbeetle.official_client import official_client
from adapters.tigerbeetle.packed_client import PackedClient
from adapters.tigerbeetle.plain_client import MendedClient, PlainClient
from adapters.tigerbeetle.rehearsal import fault_of

log = structlog.get_logger(__name__)


def ledger_client(cluster_id: int, addresses: str) -> Client:
    """Make a client; returns, and raises, like ``official_client``."""
    return driven(official_client(cluster_id, addresses))


def driven(official: ClientSync) -> Client:
    """Return *official* as the adapter's client."""
    return best_way()(official)


@cache  # the installed release stays the same for as long as the process lives
def best_way() -> type[PlainClient]:
    """Return the quickest class that drives the installed client rightly.

    Says so, once, where that is not the one that packs.
    """
    fault = fault_of(PackedClient)
    if fault is None:
        return PackedClient
    log.warning("ledger_packing_off", client=version("tigerbeetle"), fault=fault)
    return PlainClient if fault_of(MendedClient) else MendedClient
