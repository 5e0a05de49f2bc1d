"""A sweep as frozen data: environments x policies x seeds."""

from __future__ import annotations

import platform
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, final

from infex.checks import real, whole
from infex.errors import InfexError, InvalidSetting
from infex.experiments.engines import Engine, outcomes_of
from infex.experiments.folder import Folder
from infex.experiments.recipes import Player, Recipe, combined, player, recipe, schedule_of
from infex.experiments.results import Results
from infex.experiments.tasks import Task, chunked
from infex.simulation.batch import compile_loop
from infex.simulation.playing import checked_horizon

LISTED_KEYS = ("environments", "policies", "bases", "schedules", "data")

Progress = Callable[[int, int, int], None]  # runs done, runs in all, runs that failed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every environment with every policy and every seed.

    `environments`: text such as "gaussian(dim=10, arms=100)", `package.module:object`, or instances;
    what is made from a seed is made anew for each. `policies`: catalogue expressions,
    `package.module:object`, or policies. `bases`, `schedules` and `data` add `Infex` of all their
    combinations. `seeds`: how many, or which. `delta` takes the place of the default of LinUCB and
    LinTS; "1/T" is one over the horizon, as in the paper. Text that names a delta keeps it, even the
    default; of a policy object with the default it cannot be told whether it was named, and it goes.
    `title` is that of the report.

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
    title: str = ""
    players: tuple[Player, ...] = field(init=False, repr=False)
    problems: tuple[Recipe, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        horizon = checked_horizon(self.horizon)
        delta = 1 / horizon if self.delta == "1/T" else self.delta
        if delta is not None:
            delta = real("delta", delta, above=0, most=1)
        seeds = range(whole("seeds", self.seeds)) if _is_number(self.seeds) else self.seeds
        found: dict[str, Any] = {name: _listed(name, getattr(self, name)) for name in LISTED_KEYS}
        found |= {
            "horizon": horizon,
            "penalty": real("penalty", self.penalty, above=0),
            "seeds": tuple(_seed(seed) for seed in _listed("seeds", seeds)),
            "problems": _each("environments", found["environments"], recipe),
        }
        if bool(found["bases"]) != bool(found["schedules"]):
            raise InvalidSetting("bases and schedules go together: Infex of every base with every schedule")
        if found["bases"] and not found["data"]:
            raise InvalidSetting("bases need data: 'shared', 'own' or both; got none")
        bases = _each("bases", found["bases"], lambda each: player(each, delta))
        schedules = _each("schedules", found["schedules"], schedule_of)
        found["players"] = (
            *_each("policies", found["policies"], lambda each: player(each, delta)),
            *combined(bases, schedules, found["data"]),
        )
        if not (found["players"] and found["problems"] and found["seeds"]):
            raise InvalidSetting(
                f"an empty sweep: {len(found['problems'])} environments, {len(found['players'])} policies, "
                f"{len(found['seeds'])} seeds"
            )
        _refuse_twice("seeds", found["seeds"])
        _refuse_twice("environments", [each.label for each in found["problems"]])
        _refuse_twice("policies", [each.label for each in found["players"]], _twins(found["players"]))
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def tasks(self) -> list[Task]:
        """All runs, by environment, policy and seed."""
        seeds = sorted(self.seeds)
        return [
            Task(where, who, seed, self.horizon, self.penalty, content)
            for where in self.problems
            for contents in [[where.content(seed) for seed in seeds]]
            for who in self.players
            for seed, content in zip(seeds, contents, strict=True)
        ]

    def about(self) -> dict[str, Any]:
        """The settings, seeds, versions and the machine, for a report."""
        return {
            "title": self.title,
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
            "command": shlex.join(["infex", *sys.argv[1:]]) if sys.argv[0].endswith("infex") else "",
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
        Warnings of infex that runs gave are given once, at the end, and one (a RuntimeWarning) if runs
        failed. The table, the summary and what tells the sweep are of this sweep alone, whatever runs
        the folder keeps.
        """
        where = Engine.of(engine, scheduler, workers)
        tasks = {task.key: task for task in self.tasks()}
        failures: dict[str, str] = {}
        warned: dict[tuple[str, ...], Warning] = {}  # one of a kind for each policy and environment
        with Folder(out, force=force) as folder:
            done = folder.keys() & tasks.keys()
            finished = earlier = len(done)
            if progress is not None:
                progress(finished, len(tasks), 0)
            if earlier < len(tasks):
                compile_loop()
            missing = [task for key, task in tasks.items() if key not in done]
            for outcomes in outcomes_of(chunked(missing), where):
                folder.append(outcomes)
                finished += len(outcomes)
                failures |= {each.key: each.error for each in outcomes if each.error is not None}
                for each in outcomes:
                    task = tasks[each.key]
                    warned |= {
                        (type(one).__name__, task.player.label, task.recipe.label): one for one in each.warned
                    }
                if progress is not None:
                    progress(finished, len(tasks), len(failures))
            about = self.about() | where.about() | {"earlier": earlier}
            failed = tuple(
                {"key": key, "run": str(task), "traceback": failures[key]}
                for key, task in tasks.items()
                if key in failures
            )
            results = Results(folder.table(list(tasks)), bases=about["bases"], failures=failed, about=about)
            folder.finish(results)
        for warning in warned.values():
            warnings.warn(warning, stacklevel=2)
        if failed:
            first = failed[0]["traceback"].strip().splitlines()[-1]
            words = f"{len(failed)} of {len(tasks)} runs failed; see results.failures"
            warnings.warn(f"{words}. {failed[0]['run']}: {first}", RuntimeWarning, stacklevel=2)
        return results


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{name} must be a list, got {given!r}")
    return tuple(given)


def _each(name: str, given: tuple[Any, ...], make: Callable[[Any], Any]) -> tuple[Any, ...]:
    """What is made of each; a fault is told with its place."""
    found = []
    for place, each in enumerate(given):
        try:
            found.append(make(each))
        except InfexError as error:
            raise type(error)(f"{error} - at `{name}[{place}]`") from error
    return tuple(found)


def _seed(value: Any) -> int:
    seed = whole("a seed", value)
    if not -(2**63) <= seed < 2**63:
        raise InvalidSetting(f"a seed must be from -2^63 to 2^63 - 1, got {seed}")
    return seed


def _refuse_twice(name: str, given: Iterable[Any], unlike: Collection[str] = ()) -> None:
    for each, count in Counter(given).items():
        if count > 1:
            more = "; a __repr__ of their class, or a dataclass, would tell these objects apart"
            raise InvalidSetting(
                f"{each} stands {count} times among the {name}{more if each in unlike else ''}"
            )


def _twins(players: Iterable[Player]) -> set[str]:
    """The names that policies have whose repr tells nothing but an address."""
    return {each.label for each in players if " object at 0x" in repr(each.policy)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
