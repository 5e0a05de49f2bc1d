"""A sweep as frozen data: environments x policies x seeds."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, final

from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.experiments.engines import Engine, outcomes_of
from infex.experiments.folder import Folder
from infex.experiments.recipes import Player, Problem, combined, player, problem
from infex.experiments.results import Results
from infex.experiments.tasks import Task, chunked
from infex.simulation.batch import compile_loop

Progress = Callable[[int, int, int], None]  # runs done, runs in all, runs that failed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every environment with every policy and every seed.

    `environments`: text such as "gaussian(dim=10, arms=100)", `package.module:object`, or instances;
    what is made from a seed is made anew for each. `policies`: catalogue expressions,
    `package.module:object`, or policies. `bases`, `schedules` and `data` add `Infex` of all their
    combinations. `seeds`: how many, or which. `delta` takes the place of the default of LinUCB and
    LinTS; "1/T" is one over the horizon, as in the paper.

    >>> sweep = Sweep(environments=["gaussian(dim=3, arms=5)"], policies=["Greedy"], horizon=100, seeds=2)
    >>> len(sweep.tasks())
    2
    """

    environments: Any
    policies: Any = ()
    bases: Any = ()
    schedules: Any = ()
    data: Any = ("shared",)
    horizon: int = 10_000
    seeds: Any = 20
    penalty: float = 1.0
    delta: float | Literal["1/T"] | None = "1/T"
    players: tuple[Player, ...] = field(init=False, repr=False)
    problems: tuple[Problem, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        horizon = whole("horizon", self.horizon, least=1)
        delta = 1 / horizon if self.delta == "1/T" else self.delta
        if delta is not None:
            delta = real("delta", delta, above=0, most=1)
        seeds = range(whole("seeds", self.seeds)) if _is_number(self.seeds) else self.seeds
        found: dict[str, Any] = {
            "horizon": horizon,
            "penalty": real("penalty", self.penalty, above=0),
            "seeds": tuple(whole("a seed", seed) for seed in _listed("seeds", seeds)),
            "problems": tuple(problem(each) for each in _listed("environments", self.environments)),
            "players": (
                *(player(each, delta) for each in _listed("policies", self.policies)),
                *combined(
                    _listed("bases", self.bases),
                    _listed("schedules", self.schedules),
                    _listed("data", self.data),
                    delta,
                ),
            ),
        }
        if not (found["players"] and found["problems"] and found["seeds"]):
            raise InvalidSetting(
                f"an empty sweep: {len(found['problems'])} environments, {len(found['players'])} policies, "
                f"{len(found['seeds'])} seeds"
            )
        if bool(_listed("bases", self.bases)) != bool(_listed("schedules", self.schedules)):
            raise InvalidSetting("bases and schedules go together: Infex of every base with every schedule")
        for name in ("problems", "players"):
            labels = [each.label for each in found[name]]
            for label in labels:
                if labels.count(label) > 1:
                    raise InvalidSetting(f"{label} stands {labels.count(label)} times among the {name}")
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def tasks(self) -> list[Task]:
        """All runs."""
        return [
            Task(where, who, seed, self.horizon, self.penalty)
            for where in self.problems
            for seed in self.seeds
            for who in self.players
        ]

    def about(self) -> dict[str, Any]:
        """The settings, seeds, versions and the machine, for a report."""
        return {
            "environments": [each.label for each in self.problems],
            "policies": [each.label for each in self.players],
            "bases": {each.label: each.base for each in self.players if each.base is not None},
            "horizon": self.horizon,
            "seeds": list(self.seeds),
            "penalty": self.penalty,
            "delta": self.delta,
            "versions": {name: version(name) for name in ("infex", "numpy", "numba", "joblib", "pyarrow")}
            | {"python": platform.python_version()},
            "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
            "command": " ".join(["infex", *sys.argv[1:]]) if sys.argv[0].endswith("infex") else "",
        }

    def run(
        self,
        *,
        workers: int | None = None,
        out: str | Path | None = None,
        engine: Engine | str = "local",
        scheduler: str | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Results:
        """Plays what is missing, on all cores or so many workers, and gives all results.

        With `out`, finished runs are kept in that folder as they come, and what is there already is
        not played again; the same call after an interruption goes on. Without it nothing is kept.
        """
        tasks = self.tasks()
        names = {task.key: str(task) for task in tasks}
        with Folder(out, force=force) as folder:
            done = folder.keys() & names.keys()
            missing = [task for task in tasks if task.key not in done]
            finished, failures = len(done), []
            if progress is not None:
                progress(finished, len(tasks), 0)
            if missing:
                compile_loop()
            for outcomes in outcomes_of(chunked(missing), Engine.of(engine, scheduler, workers)):
                folder.append(outcomes)
                finished += len(outcomes)
                failures += [
                    {"key": each.key, "run": names[each.key], "traceback": each.error}
                    for each in outcomes
                    if each.error is not None
                ]
                if progress is not None:
                    progress(finished, len(tasks), len(failures))
            about = self.about()
            results = Results(
                folder.table(names), bases=about["bases"], failures=tuple(failures), about=about
            )
            folder.finish(results)
        return results


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{name} must be a list, got {given!r}")
    return tuple(given)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
