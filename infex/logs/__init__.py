"""Logs: decisions and their rewards as tables."""

from infex.logs.columns import ColumnNames
from infex.logs.files import is_own_log, read, read_parts, write
from infex.logs.log import Log, LogFacts
from infex.logs.parquet import log_of, table_of

__all__ = [
    "ColumnNames",
    "Log",
    "LogFacts",
    "is_own_log",
    "log_of",
    "read",
    "read_parts",
    "table_of",
    "write",
]
