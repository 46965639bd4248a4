"""Log lines: JSON for machines, colours for people, one stream, never a secret."""

import json
import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import structlog
from structlog.typing import Processor

from entrypoints.output import lossy_stderr

_TIMESTAMP: Final = structlog.processors.TimeStamper(fmt="iso", utc=True)

NOISY_LOGGERS: Final = {
    # The pool warns at each failed attempt to connect; the worker says it once.
    "psycopg.pool": logging.ERROR,
    "psycopg": logging.ERROR,
    "tigerbeetle": logging.ERROR,
    "yoyo": logging.WARNING,
}


def _json(event: object, *, default: Callable[[Any], Any]) -> str:
    return _encoder(default).encode(event)


@cache  # one is made per line otherwise, in more time than it takes to encode it
def _encoder(default: Callable[[Any], Any]) -> json.JSONEncoder:
    return json.JSONEncoder(default=default)


def configure_logs(*, format: str, level: str) -> None:
    """Send our log lines and those of libraries to stderr.

    *format* is ``json``, ``console`` or ``auto``: console on a terminal.
    """
    stderr = lossy_stderr()
    as_json = format == "json" or (format == "auto" and not stderr.isatty())
    shared: list[Processor] = [structlog.stdlib.add_log_level, _TIMESTAMP]
    # Tracebacks never show local variables: they hold passwords and customers' names.
    rendering: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_json)]
        if as_json
        else [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    )
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name, quiet_level in NOISY_LOGGERS.items():
        logging.getLogger(name).setLevel(quiet_level)
