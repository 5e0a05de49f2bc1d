"""The log of a service: one line for each event, with its time and level, on standard error."""

from __future__ import annotations

import logging
import time
import warnings
from typing import final

from infex.errors import InfexWarning

SERVICE_LOG = logging.getLogger("infex.service")


@final
class LogLines(logging.Formatter):
    r"""Time in UTC, level and message, on one line.

    >>> record = logging.LogRecord("infex", logging.ERROR, "", 0, "no room\nis left", None, None)
    >>> record.created, record.msecs = 1.25, 250.0
    >>> LogLines().format(record)
    '1970-01-01T00:00:01.250Z ERROR no room | is left'
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """The line; breaks within it, as of a traceback, are shown as bars."""
        return " | ".join(line.strip() for line in super().format(record).splitlines() if line.strip())


def log_to_standard_error() -> None:
    """Sends what infex, uvicorn, asyncio and warnings log to standard error, with times."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    warnings.simplefilter("once", InfexWarning)
    SERVICE_LOG.setLevel(logging.INFO)
