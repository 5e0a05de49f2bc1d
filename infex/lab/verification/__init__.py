"""Statements of the paper that can be checked, C1 to C21, each on fresh runs.

A check measures one figure that may not exceed a limit, and could fail.
"""

from infex.lab.verification import ridge, rounds, two_arms  # each adds its statements
from infex.lab.verification.statements import (
    STATEMENTS,
    Effort,
    Finding,
    Statement,
    chosen,
    findings_text,
    passes,
    verify,
)

__all__ = [
    "STATEMENTS", "Effort", "Finding", "Statement", "chosen", "findings_text", "passes", "ridge", "rounds",
    "two_arms", "verify",
]  # fmt: skip
