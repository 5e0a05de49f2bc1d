"""Playing many runs, on all cores."""

import copy
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from infex.checks import whole
from infex.environments import LinearInstance
from infex.errors import InvalidSetting
from infex.policies.protocol import learns
from infex.simulation.plan import plan
from infex.simulation.playing import compile_loop, play
from infex.simulation.run import Run


def play_many(
    instances: LinearInstance | Iterable[LinearInstance],
    policy: Any,
    horizon: int,
    seeds: Iterable[int] = (0,),
    *,
    penalty: float = 1.0,
    record: bool = False,
    workers: int | None = None,
) -> list[Run]:
    """Every instance with every seed, in that order: the very runs that `play` gives one by one.

    Compiled runs share the cores as threads, as they hold no interpreter lock; a policy that runs
    in Python goes one by one, and a learner starts each run as it was given.

    >>> from infex import Greedy, environments
    >>> runs = play_many(environments.gaussian(dim=3, arms=9, seed=1), Greedy(), 100, seeds=range(4))
    >>> [run.seed for run in runs]
    [0, 1, 2, 3]
    """
    problems = [instances] if isinstance(instances, LinearInstance) else list(instances)
    numbers = list(seeds)
    tasks = [(instance, seed) for instance in problems for seed in numbers]
    if not tasks:
        raise InvalidSetting(f"nothing to play: {len(problems)} instances with {len(numbers)} seeds each")
    threads = whole("workers", os.cpu_count() or 1 if workers is None else workers, least=1)

    def one(task: tuple[LinearInstance, int]) -> Run:
        instance, seed = task
        chooser = copy.deepcopy(policy) if learns(policy) else policy
        return play(instance, chooser, horizon, seed, penalty=penalty, record=record)

    if plan(policy) is None or threads == 1:
        return [one(task) for task in tasks]
    compile_loop()
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, tasks))
