"""Logs: decisions and their rewards as tables."""

from infex.logs.log import Log
from infex.logs.log_facts import LogFacts
from infex.logs.log_rows import LogReward, LogRow, rows_to_log, rows_to_table
from infex.logs.log_schema import LogHeader
from infex.logs.log_tables import log_of, table_of

__all__ = [
    "Log",
    "LogFacts",
    "LogHeader",
    "LogReward",
    "LogRow",
    "log_of",
    "rows_to_log",
    "rows_to_table",
    "table_of",
]
