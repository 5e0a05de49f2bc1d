from typing import TypeVar

import numpy.typing as npt

from infex.arrays import Floats, Integers
from infex.core.posterior import RidgePosterior

Read = TypeVar("Read", bound=RidgePosterior)

class Pending:
    count: int
    def __init__(self, dim: int, arms: int = 0) -> None: ...
    def add_rows(self, rows: npt.ArrayLike, weights: npt.ArrayLike, times: npt.ArrayLike = 1) -> None: ...
    def narrowed(self, posterior: Read) -> Read: ...
    def copy(self) -> Pending: ...
    def whole_numbers(self) -> Integers: ...

def expect_in_bank(
    sums: Integers, arms: Integers, rows: Integers, contexts: Floats, weights: Floats, times: int = 1
) -> None: ...
def expect_in_hybrid(
    own: Integers,
    cross: Integers,
    common: Integers,
    arms: Integers,
    rows: Integers,
    contexts: Floats,
    weights: Floats,
    times: int = 1,
) -> None: ...
