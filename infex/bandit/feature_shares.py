"""How much each feature of an arm adds to its estimate, by name."""

from __future__ import annotations

from infex.arrays import Floats
from infex.bandit.bandit import Bandit
from infex.linear import InBlock, On


def shares_of(bandit: Bandit, arm: int, on: On) -> dict[str, float]:
    """theta_j x_j of every feature of what a reward is learnt on: they add up to the estimate.

    With a `Logistic` estimator they add up to its log-odds. Features without a name are "feature 0", ...;
    where a map multiplies contexts by features of arms, the names of both are joined.
    """
    with bandit._lock:
        memory = bandit._player.memory
        theta = memory.all.known().theta
        if isinstance(on, InBlock):
            size = len(on.context)
            x: Floats = on.context
            theta = theta[on.arm * size : (on.arm + 1) * size]
        else:
            x = memory.columns[:, on] if isinstance(on, int) else on
        names = _names(bandit, len(x), arm)
        return dict(zip(names, (theta * x).tolist(), strict=True))


def _names(bandit: Bandit, count: int, arm: int) -> list[str]:
    """The names of so many features."""
    known = bandit.names
    if known is None:
        return [f"feature {place}" for place in range(count)]
    if len(known) == count:
        return list(known)
    blocks, rest = divmod(count, len(known))
    if rest:
        return [f"feature {place}" for place in range(count)]
    return [f"{name} x feature {block} of the arm" for block in range(blocks) for name in known]
