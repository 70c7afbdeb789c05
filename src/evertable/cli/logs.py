"""How Evertable's own lines are written: one shape for all of them, for people or for machines."""

from __future__ import annotations

import logging
import sys

import structlog

from evertable.config.models import LogFormat, Logging, LogLevel

LEVELS = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARN: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}


def write_logs(settings: Logging) -> None:
    """From here on, lines of this process go to standard output as ``settings`` say.

    Of other libraries only warnings: their details may hold what nobody should read, such as headers.
    """
    for_machines = settings.format is LogFormat.JSON
    level = LEVELS[settings.level]
    shape: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper("iso" if for_machines else "%Y-%m-%d %H:%M:%S", utc=for_machines),
        structlog.processors.format_exc_info,
    ]
    last: structlog.typing.Processor
    if for_machines:
        last = structlog.processors.JSONRenderer()
    else:
        last = structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty())
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
            foreign_pre_chain=shape,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("evertable").setLevel(level)
    structlog.configure(
        processors=[*shape, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
