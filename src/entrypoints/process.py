"""A worker process: settings, logs and wiring, and then the worker until it is told to stop."""

import gc
import os
from typing import Final

import structlog
from dependency_injector import providers

from application.errors import OutboxError, SharedSessionError
from application.ports.exclusive_lock import ExclusiveLock
from entrypoints.container import Container, running
from entrypoints.logs import configure_logs
from entrypoints.settings import load_settings, unknown_variables

log = structlog.get_logger(__name__)

_COLLECTION_AFTER_OBJECTS: Final = 50_000


def run_process(*, exclusive: bool) -> None:
    """Run the worker that the environment describes; *exclusive* wins over its setting.

    Raises:
        SettingsError: a setting is missing or bad.
        SharedSessionError: as ``run_worker``.
    """
    settings = load_settings()
    configure_logs(format=settings.log_format, level=settings.log_level)
    for name in unknown_variables():
        log.warning("outbox: unknown setting is ignored", variable=name)
    if exclusive:
        settings = settings.model_copy(update={"exclusive": True})
    run_worker(Container(settings=providers.Object(settings)))


def run_worker(container: Container) -> None:
    """Run the worker that *container* wires, on the main thread, until it is told to stop.

    Raises:
        SharedSessionError: it is to be exclusive, and its database has no lock to give.
    """
    with running(container):
        if container.settings().exclusive:
            _assert_lockable(container.exclusive_lock())
        worker = container.worker()
        _spare_collections()
        if not worker.run():
            # Nothing is closed, and no interpreter taken down, under a thread that hangs in a
            # driver. Its connections fall with the process.
            os._exit(0)


def _spare_collections() -> None:
    """Let the collector of cycles come seldom, and leave alone what lives as long as the process.

    A batch makes tens of thousands of objects, none of them in a cycle. By default the collector
    looks at them after each 700, which took a fifth of the worker's CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTION_AFTER_OBJECTS, *gc.get_threshold()[1:])


def _assert_lockable(lock: ExclusiveLock) -> None:
    try:
        lock.check()
    except SharedSessionError as error:
        raise SharedSessionError(f"run --exclusive: {error}") from error
    except OutboxError:
        # As with every other part, this is told by the worker, and over when it is over.
        return
