"""What a round of each published base costs, as a ratio to one of LinUCB in the same run."""

import time
from typing import Any, NamedTuple

from infex import Infex, always, every, registry
from infex.lab import play
from infex.lab.environments import LinearInstance, gaussian
from infex.policies import ledger
from infex.policies.base import policy_info

BASES = (
    "LinUCB", "LinTS", "RandLinUCB", "LinIMED", "LinMED(design=False)", "LinMED", "LinIDS",
    "LinIDS(gain=directed)", "OptimisticTS", "TSUCB", "LinPHE", "WeightedBootstrap", "EnsembleSampling",
    "SpannerIGW", "PhasedElimination", "SupLinUCB", "EXP2", "WeightedOFUL", "ExploreThenCommit",
)  # fmt: skip
SCHEDULES: dict[str, Any] = {"alone": always(), "every(20)": every(20), "ledger(1)": ledger(1.0)}
SHAPES = ((10, 100, 2000), (40, 1000, 300))


class Row(NamedTuple):
    """Microseconds of processor time a round of one base alone, under every(20) and under ledger(1)."""

    dim: int
    arms: int
    base: str
    times: tuple[float, ...]
    ratios: tuple[float, ...]


def table(repeats: int = 3) -> list[Row]:
    """One row for each shape and base; ratios are to LinUCB under the same schedule."""
    found: list[Row] = []
    for dim, arms, horizon in SHAPES:
        instance = gaussian(dim=dim, arms=arms, seed=1)
        ours: tuple[float, ...] = ()
        for name in BASES:
            times = tuple(_time(instance, under(name, schedule), horizon, repeats) for schedule in SCHEDULES)
            ours = ours or times
            ratios = tuple(one / other for one, other in zip(times, ours, strict=True))
            found.append(Row(dim, arms, name, times, ratios))
    return found


def under(name: str, schedule: str) -> Any:
    """A base alone or in the rounds of a schedule, with own data if it needs that."""
    base = registry.parse(name)
    if schedule == "alone":
        return base
    own = policy_info(base).needs_own_data
    return Infex(base, SCHEDULES[schedule], data="own" if own else "shared")


def _time(instance: LinearInstance, policy: Any, horizon: int, repeats: int) -> float:
    play(instance, policy, 20)
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        play(instance, policy, horizon)
        times.append(time.process_time() - begun)
    return 1e6 * min(times) / horizon
