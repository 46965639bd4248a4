"""The real worker, but for a ledger that answers at once; run as a program."""

from dependency_injector import providers

from benchmarks.instant_ledger import InstantLedger
from entrypoints.container import Container
from entrypoints.logs import configure_logs
from entrypoints.process import run_worker
from entrypoints.settings import load_settings

if __name__ == "__main__":
    settings = load_settings()
    configure_logs(format=settings.log_format, level=settings.log_level)
    run_worker(
        Container(settings=providers.Object(settings), ledger=providers.Singleton(InstantLedger))
    )
