"""What runs say of a claim."""

from typing import NamedTuple


class Verdict(NamedTuple):
    """A claim, in how many of the cells that can tell it holds, and what more there is to say.

    `cells` may be of another `unit`; of those in which it does not hold, some may be `undecided`.
    """

    claim: str
    holds: int
    cells: int
    note: str = ""
    unit: str = "cells"
    undecided: int = 0
