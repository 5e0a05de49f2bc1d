"""Logs: decisions and their rewards as tables."""

from infex.logs.log import Log
from infex.logs.log_facts import LogFacts

__all__ = ["Log", "LogFacts"]
