"""``outbox-worker run`` on the ledger of the test that starts it: an override, nothing else.

Run it as ``python -m tests.helpers.memory_ledger_worker``, with the address of a ``LedgerServer``
in ``TIGERBEETLE_ADDRESSES``.
"""

from dependency_injector import providers

from entrypoints.cli import run_worker
from entrypoints.container import Container
from entrypoints.logs import configure_logs
from entrypoints.settings import load_settings
from tests.helpers.remote_ledger import RemoteLedger


def main() -> None:
    """Run the worker until it is told to stop."""
    settings = load_settings()
    configure_logs(format=settings.log_format, level=settings.log_level)
    ledger = RemoteLedger(
        settings.tigerbeetle_addresses, deadline_s=settings.ledger_deadline_ms / 1_000
    )
    run_worker(Container(settings=providers.Object(settings), ledger=providers.Object(ledger)))


if __name__ == "__main__":
    main()
