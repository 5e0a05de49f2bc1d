"""Logs: decisions and their rewards as tables."""

from infex.logs.log import Log
from infex.logs.log_facts import LogFacts
from infex.logs.log_rows import LogReward, LogRow, rows_to_log, rows_to_table
from infex.logs.log_schema import LogHeader
from infex.logs.log_tables import log_of, table_of
from infex.logs.naming_columns import ColumnNames
from infex.logs.opening_logs import is_own_log
from infex.logs.reading_logs import read, read_parts
from infex.logs.writing_logs import write

__all__ = [
    "ColumnNames",
    "Log",
    "LogFacts",
    "LogHeader",
    "LogReward",
    "LogRow",
    "is_own_log",
    "log_of",
    "read",
    "read_parts",
    "rows_to_log",
    "rows_to_table",
    "table_of",
    "write",
]
