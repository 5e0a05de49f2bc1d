"""How much each feature of an arm adds to its estimate, by name."""

from __future__ import annotations

import numpy as np

from infex.bandit.bandit import Bandit
from infex.linear import InBlock, On, Separate


def shares_of(bandit: Bandit, on: On) -> dict[str, float]:
    """theta_j x_j of every feature of what a reward is learnt on: they add up to the estimate.

    With a `Logistic` estimator they add up to its log-odds. Features without a name are "feature 0", ...;
    where a map multiplies contexts by features of arms, the names of both are joined.
    """
    with bandit._lock:
        memory = bandit._player.memory
        theta = memory.all.known().theta
        if isinstance(on, InBlock):
            layout = bandit._arms.layout
            assert isinstance(layout, Separate)
            own = theta[on.arm * layout.dim : (on.arm + 1) * layout.dim]
            products = np.concatenate([own, theta[layout.arms * layout.dim :]]) * on.context
            names = _names(bandit, layout.dim) + _shared_names(layout.shared)
        else:
            products = theta * (memory.columns[:, on] if isinstance(on, int) else on)
            names = _names(bandit, len(products))
        return dict(zip(names, products.tolist(), strict=True))


def _shared_names(count: int) -> list[str]:
    return [f"shared feature {place}" for place in range(count)]


def _names(bandit: Bandit, count: int) -> list[str]:
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
