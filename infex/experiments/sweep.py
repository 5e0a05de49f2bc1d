"""A sweep as frozen data: environments x policies x seeds."""

from __future__ import annotations

import platform
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar, final

from infex.checks import real, whole
from infex.errors import InfexError, InvalidSetting
from infex.experiments.engines import Engine, outcomes_of
from infex.experiments.folder import Folder
from infex.experiments.recipes import LabelledPolicy, Recipe, combined, player, recipe, schedule_of
from infex.experiments.results import Results
from infex.experiments.sweep_log import Progress, SweepLog
from infex.experiments.tasks import Task, chunked
from infex.simulation.batch import compile_loop
from infex.simulation.playing import checked_horizon

Made = TypeVar("Made")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every environment with every policy and every seed.

    `environments`: text such as "gaussian(dim=10, arms=100)", `package.module:object`, or instances;
    a function of a seed makes a problem for each seed. `policies`: catalogue expressions,
    `package.module:object`, or policies. `bases`, `schedules` and `data` add `Infex` of all their
    combinations. `seeds`: how many, or which. `delta` takes the place of the default of LinUCB and
    LinTS; "1/T" is one over the horizon, as in the paper. Text that names a delta keeps it, even the
    default; a policy object with the default loses it, because nobody can see whether it was named.
    `penalty` is that of the ridge, and `title` that of the report.

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
    players: tuple[LabelledPolicy, ...] = field(init=False, repr=False)
    problems: tuple[Recipe, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        horizon = checked_horizon(self.horizon)
        delta = 1 / horizon if self.delta == "1/T" else self.delta
        if delta is not None:
            delta = real("delta", delta, above=0, most=1)
        seeds = range(whole("seeds", self.seeds)) if _is_number(self.seeds) else self.seeds
        checked: dict[str, Any] = {
            "environments": _listed("environments", self.environments),
            "policies": _listed("policies", self.policies),
            "bases": _listed("bases", self.bases),
            "schedules": _listed("schedules", self.schedules),
            "data": _listed("data", self.data),
            "horizon": horizon,
            "penalty": real("penalty", self.penalty, above=0),
            "seeds": tuple(_seed(seed) for seed in _listed("seeds", seeds)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "problems", _each("environments", self.environments, recipe))
        object.__setattr__(self, "players", self._all_players(delta))
        if not (self.players and self.problems and self.seeds):
            raise InvalidSetting(
                f"an empty sweep: {len(self.problems)} environments, {len(self.players)} policies, "
                f"{len(self.seeds)} seeds"
            )
        _refuse_twice("seeds", self.seeds)
        _refuse_twice("environments", [problem.label for problem in self.problems])
        _refuse_twice("policies", [player.label for player in self.players], _addressed(self.players))

    def _all_players(self, delta: float | None) -> tuple[LabelledPolicy, ...]:
        """The policies, and `Infex` of every base with every schedule."""
        if bool(self.bases) != bool(self.schedules):
            raise InvalidSetting("bases and schedules go together: Infex of every base with every schedule")
        if self.bases and not self.data:
            raise InvalidSetting("bases need data: 'shared', 'own' or both; got none")
        bases = _each("bases", self.bases, lambda base: player(base, delta))
        schedules = _each("schedules", self.schedules, schedule_of)
        alone = _each("policies", self.policies, lambda policy: player(policy, delta))
        return (*alone, *combined(bases, schedules, self.data))

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
        Warnings that infex gave in runs are repeated once, at the end; if runs failed, there is a
        RuntimeWarning too. The table, the summary and `sweep.json` are of this sweep alone, whatever
        other runs the folder keeps.
        """
        where = Engine.of(engine, scheduler, workers)
        tasks = {task.key: task for task in self.tasks()}
        with Folder(out, force=force) as folder:
            done = folder.keys() & tasks.keys()
            log = SweepLog(tasks, len(done), progress)
            if len(done) < len(tasks):
                compile_loop()
            missing = [task for key, task in tasks.items() if key not in done]
            for outcomes in outcomes_of(chunked(missing), where):
                folder.append(outcomes)
                log.enter(outcomes)
            about = self.about() | where.about() | {"earlier": len(done)}
            rows = folder.table(list(tasks))
            results = Results(rows, bases=about["bases"], failures=log.failures(), about=about)
            folder.finish(results)
        log.warn(stacklevel=2)
        return results


def _listed(name: str, given: object) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{name} must be a list, got {given!r}")
    return tuple(given)


def _each(name: str, given: tuple[Any, ...], make: Callable[[Any], Made]) -> tuple[Made, ...]:
    """What is made of each; an error says at which place."""
    made = []
    for place, thing in enumerate(given):
        try:
            made.append(make(thing))
        except InfexError as error:
            raise type(error)(f"{error} - at `{name}[{place}]`") from error
    return tuple(made)


def _seed(value: object) -> int:
    seed = whole("a seed", value)
    if not -(2**63) <= seed < 2**63:
        raise InvalidSetting(f"a seed must be from -2^63 to 2^63 - 1, got {seed}")
    return seed


def _refuse_twice(name: str, given: Iterable[str | int], addressed: Collection[str] = ()) -> None:
    for thing, count in Counter(given).items():
        if count > 1:
            more = "; a __repr__ of their class, or a dataclass, would tell these objects apart"
            raise InvalidSetting(
                f"{thing} stands {count} times among the {name}{more if thing in addressed else ''}"
            )


def _addressed(players: Iterable[LabelledPolicy]) -> set[str]:
    """The labels of policies whose repr shows only an address."""
    return {player.label for player in players if " object at 0x" in repr(player.policy)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _processor() -> str:
    """The name of the processor, if the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
