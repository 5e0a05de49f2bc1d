from infex.arrays import Floats, Integers

class Pending:
    count: int
    def __init__(self, dim: int, arms: int = 0) -> None: ...

def expect_in_bank(
    sums: Integers, arms: Integers, rows: Integers, contexts: Floats, weights: Floats
) -> None: ...
def expect_in_hybrid(
    own: Integers,
    cross: Integers,
    common: Integers,
    arms: Integers,
    rows: Integers,
    contexts: Floats,
    weights: Floats,
) -> None: ...
