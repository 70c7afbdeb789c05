"""Configures logging: one format for all log lines, for people or for machines."""

from __future__ import annotations

import logging
import sys

import structlog

from evertable.config.models import LogFormat, Logging


def configure_logging(settings: Logging) -> None:
    """Sends this process's log lines to standard output.

    Other libraries log warnings and errors only, because their details may hold secrets, such as headers.
    """
    is_json = settings.format is LogFormat.JSON
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    processors: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper("iso" if is_json else "%Y-%m-%d %H:%M:%S", utc=is_json),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty())
    if is_json:
        renderer = structlog.processors.JSONRenderer()
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=processors,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("evertable").setLevel(level)
    structlog.configure(
        processors=[*processors, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
