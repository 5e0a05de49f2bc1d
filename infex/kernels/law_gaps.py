"""Laws of a log: which of them are none, and which choices of a target they could not have played."""

import math

from infex.arrays import Floats, Integers
from infex.kernels.compiling import compiled

SOUND, LAW_UNKNOWN, NO_CHANCE, NOT_ONE = range(4)


@compiled
def find_law_faults(laws: Floats, within: float, faults: Integers) -> None:
    """What is wrong with each law: nothing, it is not known, it leaves [0, 1], it does not add up to 1."""
    rounds, arms = laws.shape
    for t in range(rounds):
        fault, total = SOUND, 0.0
        for k in range(arms):
            total += laws[t, k]
            if math.isnan(laws[t, k]):
                fault = LAW_UNKNOWN
            elif fault == SOUND and not 0.0 <= laws[t, k] <= 1.0:
                fault = NO_CHANCE
        if fault == SOUND and abs(total - 1.0) > within:
            fault = NOT_ONE
        faults[t] = fault


@compiled
def find_gaps(chances: Floats, laws: Floats, missing: Floats, by_arm: Floats) -> float:
    """The greatest chance over law; `missing` gets each round's chance of arms whose law is 0.

    Of a round whose law is not known this is NaN. `by_arm` adds these chances up by arm.
    """
    rounds, arms = laws.shape
    most = 0.0
    for t in range(rounds):
        gone, known = 0.0, True
        for k in range(arms):
            if math.isnan(laws[t, k]):
                known = False
            elif laws[t, k] > 0.0:
                most = max(most, chances[t, k] / laws[t, k])
            else:
                gone += chances[t, k]
        if known and gone > 0.0:
            for k in range(arms):
                if not laws[t, k] > 0.0:
                    by_arm[k] += chances[t, k]
        missing[t] = gone if known else math.nan
    return most
