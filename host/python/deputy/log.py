"""The log of the library."""

from __future__ import annotations

import logging
from collections.abc import Callable

from . import _native

# Of deputy.h, as those of Python's own module.
_LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}

# (level of `logging`, "host" or the name of a delegate, message)
Sink = Callable[[int, str, str], None]


def set_log_sink(sink: Sink | None) -> None:
    """Takes the log of the process, which otherwise goes to stderr; None: it does again. Called by every thread that
    logs."""
    if sink is None:
        _native.set_log_sink(None)
        return
    taken = sink

    def give(level: int, source: str, message: str) -> None:
        taken(_LEVELS.get(level, logging.ERROR), source, message)

    _native.set_log_sink(give)


def use_logging() -> None:
    """Gives the log to Python's module `logging`: loggers "deputy.host", "deputy.npu0"."""
    set_log_sink(lambda level, source, message: logging.getLogger(f"deputy.{source}").log(level, "%s", message))
