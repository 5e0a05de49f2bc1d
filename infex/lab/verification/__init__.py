"""Statements of the paper that can be checked, C1 to C21, each on fresh runs.

A check measures one figure that may not exceed a limit, and could fail.
"""

from infex.lab.verification.statement import Effort, Finding, Measured, Statement
from infex.lab.verification.suite import STATEMENTS, chosen, passes, verify

__all__ = ["STATEMENTS", "Effort", "Finding", "Measured", "Statement", "chosen", "passes", "verify"]
