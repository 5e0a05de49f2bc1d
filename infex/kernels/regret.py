"""Regret and counts of a run, as a compiled loop keeps them."""

from infex.arrays import Floats, Integers
from infex.kernels.compiling import compiled, woven

# The cells of a tally: the stretch under way (arm, 1 if it explores, length), and totals.
AT, EXPLORES, LENGTH, GREEDY_REGRET, EXPLORING_REGRET, EXPLORED, OPTIMAL, TALLY = range(8)


@compiled
def close_stretch(tally: Floats, counts: Integers, gaps: Floats) -> None:
    """Adds the stretch of equal rounds under way to the totals."""
    arm, length = int(tally[AT]), tally[LENGTH]
    if length > 0.0:
        counts[arm] += int(length)
        add(tally, tally[EXPLORES] > 0.0, gaps[arm], length)
        tally[LENGTH] = 0.0


@compiled
def add(tally: Floats, explores: bool, gap: float, rounds: float) -> None:
    """Adds rounds of one gap to the totals."""
    tally[EXPLORING_REGRET if explores else GREEDY_REGRET] += rounds * gap
    tally[EXPLORED] += rounds if explores else 0.0
    tally[OPTIMAL] += rounds if gap == 0.0 else 0.0


@compiled
def note(tally: Floats, counts: Integers, gaps: Floats, arm: int, explores: bool, rounds: float) -> None:
    """Counts `rounds` rounds of one arm."""
    if arm != tally[AT] or explores != (tally[EXPLORES] > 0.0):
        close_stretch(tally, counts, gaps)
        tally[AT] = arm
        tally[EXPLORES] = 1.0 if explores else 0.0
    tally[LENGTH] += rounds


@compiled
def regret(tally: Floats) -> float:
    """The regret of all stretches that are closed."""
    return float(tally[GREEDY_REGRET] + tally[EXPLORING_REGRET])


@woven
def mark_of(checkpoints: Integers, t: int) -> int:
    """The place of the first checkpoint that is no earlier than round t; they rise."""
    low, high = 0, checkpoints.size
    while low < high:
        middle = (low + high) // 2
        if checkpoints[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low
