"""A sweep as frozen data: environments x policies x seeds; as a record and as a TOML file."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import platform
import shlex
import sys
import tomllib
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np

from infex.checks import hint, importable, real, safe_repr, set_fields, settings_by_name, whole
from infex.errors import InfexError, InvalidSetting, NoRecord
from infex.lab.expressions import load
from infex.lab.fingerprint import commit, versions
from infex.lab.results import Results, last_line
from infex.lab.runner import Engine, Progress, Task, chunked, showing
from infex.lab.simulation.simulator import checked_horizon
from infex.lab.specs import Named, PolicySpec, ProblemSpec, named, policy_specs, problem_specs
from infex.lab.store import SWEEP_FILE, Folder, held
from infex.policies import Infex
from infex.registry import from_record, to_record

SWEEP_RECORD_FORMAT = 1
Made = TypeVar("Made")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every environment with every policy and every seed.

    `environments`: text such as "gaussian(dim=10, arms=100)", `package.module:object` (with settings in
    brackets, if it takes some), tables as in a sweep file, or instances; a function of a seed makes a
    problem for each seed. `policies`: catalogue expressions, `package.module:Policy(a=1)`, or policies.
    `bases`, `schedules` and `data` add `Infex` of all their combinations. Each of these may be a dict, whose
    keys are the names in tables. In text, a list stands for its values: "LinUCB(scale=[0.1, 0.5])" is two
    policies, "gaussian(dim=[5, 10], arms=20)" two problems.

    `seeds`: how many, or which. `horizon`, `penalty` (that of the ridge), `delta` and `estimator` (one of
    `infex.models`, or text; None is ridge regression) may be lists, of which everything is played with
    every one. `delta` is for policies that say none, a user's too; "1/T" is one over the horizon, as in the
    paper. A delta that is said is the one that is played. `title` is that of the report.
    `only` are names in tables, and keeps these policies and environments alone.

    >>> sweep = Sweep(environments=["gaussian(dim=3, arms=5)"], policies=["Greedy"], horizon=100, seeds=2)
    >>> len(sweep.tasks())
    2
    """

    environments: Any
    policies: Any = ()
    bases: Any = ()
    schedules: Any = ()
    data: Any = ("shared",)
    horizon: Any = 10_000
    seeds: Any = 20
    penalty: Any = 1.0
    delta: Any = "1/T"
    estimator: Any = None
    title: str = ""
    only: Any = ()
    players: tuple[PolicySpec, ...] = field(init=False, repr=False)
    problems: tuple[ProblemSpec, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        is_count = isinstance(self.seeds, int | float) and not isinstance(self.seeds, bool)
        seeds = range(whole("seeds", self.seeds)) if is_count else self.seeds
        set_fields(
            self,
            environments=_listed("environments", self.environments),
            policies=_listed("policies", self.policies),
            bases=_listed("bases", self.bases),
            schedules=_listed("schedules", self.schedules),
            data=_listed("data", [self.data] if isinstance(self.data, str) else self.data),
            seeds=tuple(_seed(seed) for seed in _listed("seeds", seeds)),
            horizon=_one_or_more("horizon", self.horizon, checked_horizon),
            penalty=_one_or_more("penalty", self.penalty, partial(real, "penalty", above=0)),
            delta=_one_or_more("delta", self.delta, _delta),
        )
        if not isinstance(self.title, str):
            raise InvalidSetting(f"title must be text, got {safe_repr(self.title)}")
        problems = _each("environments", self.environments, problem_specs)
        set_fields(self, problems=tuple(problems), players=tuple(self._all_policies()))
        self._keep_only()
        if not (self.players and self.problems and self.seeds):
            raise InvalidSetting(
                f"an empty sweep: {len(self.problems)} environments, {len(self.players)} policies, "
                f"{len(self.seeds)} seeds"
            )
        _refuse_twice("seeds", self.seeds)
        _refuse_twice("environments", [problem.label for problem in self.problems])
        for _, alike in itertools.groupby(self.players, key=lambda player: player.horizon):
            _refuse_twice("policies", [player.label for player in alike])

    def _all_policies(self) -> Iterator[PolicySpec]:
        """The policies, and `Infex` of every base with every schedule; all with every setting of a run."""
        if bool(self.bases) != bool(self.schedules):
            raise InvalidSetting("bases and schedules go together: Infex of every base with every schedule")
        if self.bases and not self.data:
            raise InvalidSetting("bases need data: 'shared', 'own' or both; got none")
        bases = _each("bases", self.bases, partial(named, kind="policy"))
        schedules = _each("schedules", self.schedules, partial(named, kind="schedule"))
        alone = _each("policies", self.policies, partial(named, kind="policy"))
        several = isinstance(self.estimator, Mapping | list | tuple)
        estimators = _each(
            "estimator", self.estimator if several else [self.estimator], partial(named, kind="estimator")
        )
        given = alone + [
            Named(
                Infex(base.thing, schedule.thing, data=data),
                f"Infex({base.label}, {schedule.label}{', data=own' if data == 'own' else ''})",
                base.label,
                schedule.label,
            )
            for base, schedule, data in itertools.product(bases, schedules, self.data)
        ]
        horizons, deltas, penalties = (
            each if isinstance(each, tuple) else (each,) for each in (self.horizon, self.delta, self.penalty)
        )
        for horizon in horizons:
            yield from policy_specs(given, horizon, deltas, penalties, estimators)

    def _keep_only(self) -> None:
        """Keeps the policies and environments that `only` names; all, where it names none of them."""
        if isinstance(self.only, str) or not isinstance(self.only, Iterable):
            raise InvalidSetting(f"only must be a list of names, got {self.only!r}")
        names = tuple(self.only)
        known = [*(each.label for each in self.players), *(each.label for each in self.problems)]
        for name in names:
            if name not in known:
                raise InvalidSetting(
                    f"only names {name!r}{hint(str(name), known)}, which is not in the sweep"
                )
        players = tuple(each for each in self.players if each.label in names)
        problems = tuple(each for each in self.problems if each.label in names)
        set_fields(self, only=names, players=players or self.players, problems=problems or self.problems)

    def tasks(self) -> list[Task]:
        """All runs, by environment, policy and seed."""
        found = []
        for problem in self.problems:
            digests = {seed: problem.digest(seed) for seed in sorted(self.seeds)}
            found += [
                Task.of(problem, digest, player, seed)
                for player in self.players
                for seed, digest in digests.items()
            ]
        return found

    def about(self) -> dict[str, Any]:
        """The settings, seeds, versions and the machine, for a report; and the sweep itself, as data."""
        records = [each.facts() for each in self.players]
        names: dict[str, dict[str, None]] = {}  # the labels in tables of what a user has called a policy
        for player in self.players:
            for name in player.names:
                names.setdefault(name, {})[player.label] = None
        values = {name: getattr(self, name) for name in ("horizon", "penalty", "delta")}
        return {
            "title": self.title,
            "environments": [each.label for each in self.problems],
            "policies": list(dict.fromkeys(each.label for each in self.players)),
            "bases": {each.label: each.base for each in self.players if each.base is not None},
            "seeds": list(self.seeds),
            **{name: list(each) if isinstance(each, tuple) else each for name, each in values.items()},
            "estimator": list(dict.fromkeys(each["estimator"] for each in records)),
            "settings": {
                "policies": records,
                "environments": [{"environment": each.label} | each.facts for each in self.problems],
            },
            "names": {name: [*labels] for name, labels in names.items() if [*labels] != [name]},
            "versions": versions(),
            "commit": commit(),
            "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
            "command": shlex.join(["infex", *sys.argv[1:]]) if sys.argv[0].endswith("infex") else "",
            "sweep": self.record(),
        }

    def record(self) -> dict[str, Any]:
        """All settings as they were given, for JSON; `sweep_of` makes the sweep again.

        Text and numbers stay; what infex has is a record; a function, a class or a dataclass of a module is
        named as `package.module:object`. What has no such name is marked as missing, and `sweep_of` says so.
        """
        settings = settings_by_name(self).items()
        kept = {name: _kept(list(each) if isinstance(each, tuple) else each) for name, each in settings}
        return {"format": SWEEP_RECORD_FORMAT} | kept

    def run(
        self,
        *,
        workers: int | None = None,
        out: str | Path | None = None,
        engine: str = "local",
        scheduler: str | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
    ) -> Results:
        """Plays what is missing, on all cores or so many workers, and gives all results.

        With `out`, finished runs are kept in that folder as they come, and what is there already is
        not played again; the same call after an interruption goes on. Without it nothing is kept.
        Warnings that infex gave in runs are repeated once, at the end; if runs failed, there is a
        RuntimeWarning too. The table, the summary and `sweep.json` are of this sweep alone, whatever
        other runs the folder keeps. `engine` is "local", "dask", "ray" or "spark", `scheduler` its address.
        `progress` is True for a bar on stderr, or a function that is told how many runs are done, how many
        there are, and how many failed.
        """
        where = Engine(engine, scheduler, workers)
        tasks = {task.key: task for task in self.tasks()}
        tracebacks: dict[str, str] = {}
        warned: dict[tuple[str, ...], Warning] = {}  # one of a kind for each policy and environment
        with showing(progress) as show, Folder(out, force=force) as folder:
            done = folder.keys() & tasks.keys()
            finished = len(done)
            show(finished, len(tasks), 0)
            about = self.about()
            if finished < len(tasks):
                folder.begin(about)
            for outcomes in where.outcomes(chunked(task for key, task in tasks.items() if key not in done)):
                folder.append(outcomes)
                for outcome in outcomes:
                    task = tasks[outcome.key]
                    if outcome.error is not None:
                        tracebacks[outcome.key] = outcome.error
                    for each in outcome.warned:
                        warned[type(each).__name__, task.policy.label, task.problem.label] = each
                finished += len(outcomes)
                show(finished, len(tasks), len(tracebacks))
            failures = tuple(
                {"key": key, "run": str(task), "policy": task.policy.label, "traceback": tracebacks[key]}
                for key, task in tasks.items()
                if key in tracebacks
            )
            about |= where.about() | {"earlier": len(done)}
            results = Results(folder.table(list(tasks)), failures=failures, about=about, sweep=self)
            folder.finish(results)
        for warning in warned.values():
            warnings.warn(warning, stacklevel=2)
        if failures:
            words = f"{len(failures)} of {len(tasks)} runs failed; see results.failures"
            first = f"{failures[0]['run']}: {last_line(failures[0])}"
            warnings.warn(f"{words}. {first}", RuntimeWarning, stacklevel=2)
        return results


# Settings, checked


def _listed(name: str, given: object) -> Any:
    """A list as a tuple; a dict, whose keys are names, as it is."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{name} must be a list, got {safe_repr(given)}")
    if not isinstance(given, Mapping):
        return tuple(given)
    for key in given:
        if not isinstance(key, str) or not key:
            raise InvalidSetting(f"the keys of {name} must be names, got {safe_repr(key)}")
    return dict(given)


def _one_or_more(name: str, given: object, check: Callable[[Any], Made]) -> Made | tuple[Made, ...]:
    """A setting, or the settings of a list, each checked and each there once."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return check(given)
    found = tuple(check(each) for each in given)
    if not found:
        raise InvalidSetting(f"an empty list of {name}; say one number or more")
    _refuse_twice(f"values of {name}", list(map(str, found)))
    return found[0] if len(found) == 1 else found


def _delta(given: object) -> float | str:
    return "1/T" if given is None or given == "1/T" else real("delta", given, above=0, most=1)


def _seed(value: object) -> int:
    seed = whole("a seed", value)
    if not -(2**63) <= seed < 2**63:
        raise InvalidSetting(f"a seed must be from -2^63 to 2^63 - 1, got {seed}")
    return seed


def _each(name: str, given: Any, make: Callable[..., list[Made]]) -> list[Made]:
    """What is made of each; an error says at which place."""
    made: list[Made] = []
    for place, thing in given.items() if isinstance(given, Mapping) else enumerate(given):
        try:
            made += make(thing, name=place if isinstance(place, str) else None)
        except InfexError as error:
            raise type(error)(f"{error} - at `{name}[{place!r}]`") from error
    return made


def _refuse_twice(name: str, given: Iterable[str | int]) -> None:
    for thing, count in Counter(given).items():
        if count > 1:
            named_by = f"; a dict gives them names: {name}={{'one': ...}}"
            more = named_by if name in ("policies", "environments") else ""
            raise InvalidSetting(f"{thing} stands {count} times among the {name}{more}")


def _processor() -> str:
    """The name of the processor, if the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


# A sweep as data


def sweep_of(kept: object) -> Sweep:
    """The sweep of such data."""
    if not isinstance(kept, Mapping):
        raise InvalidSetting(f"a sweep must be a mapping of its settings, got {kept!r}")
    if kept.get("format") != SWEEP_RECORD_FORMAT:
        raise InvalidSetting(f"format {kept.get('format')!r} of a sweep is not known here, only 1")
    strange = [name for name in kept if name not in (*SETTINGS, "only", "format")]
    if strange:
        raise InvalidSetting(f"a sweep has no setting {', '.join(strange)}; a newer infex may have kept it")
    return Sweep(**{name: _alive(value, name) for name, value in kept.items() if name != "format"})


def sweep_in(folder: Path) -> Sweep:
    """The sweep that a folder's `sweep.json` holds."""
    about = held(folder)
    if "sweep" not in about:
        raise InvalidSetting(
            f"{folder / SWEEP_FILE} holds no sweep to be played again; play it into the folder anew"
        )
    try:
        return sweep_of(about["sweep"])
    except InfexError as error:
        raise InvalidSetting(f"{folder / SWEEP_FILE}: {error}") from error


SETTINGS = tuple(each.name for each in dataclasses.fields(Sweep) if each.init and each.name != "only")
"""What a sweep file may say."""


def read_sweep(path: str | Path) -> Sweep:
    """The sweep of a TOML file."""
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        for name in given:
            if name not in SETTINGS:
                near, known = hint(name, SETTINGS), ", ".join(SETTINGS)
                raise InvalidSetting(f"unknown key `{name}`{near}; known are {known}")
        if "environments" not in given:
            raise InvalidSetting("the key `environments` is missing")
        return Sweep(**given)
    except OSError as error:
        raise InvalidSetting(f"{path}: {error.strerror or error}") from None
    except (InfexError, ValueError) as error:  # the errors of TOML and UTF-8 are ValueErrors
        raise InvalidSetting(f"{path}: {error}") from None


def _kept(value: Any) -> Any:
    """Plain data for one value: text, numbers and lists as they are, all else with its kind."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_kept(each) for each in value]
    if isinstance(value, tuple | range):
        return {"kind": "tuple", "items": [_kept(each) for each in value]}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return {"kind": "array", "dtype": value.dtype.str, "items": value.tolist()}
    if isinstance(value, Mapping):
        return {"kind": "dict", "items": [[_kept(key), _kept(each)] for key, each in value.items()]}
    with contextlib.suppress(NoRecord):
        return {"kind": "record", "record": to_record(value)}
    if isinstance(value, functools.partial):
        parts = {"of": value.func, "arguments": value.args, "settings": value.keywords}
        return {"kind": "partial"} | {name: _kept(part) for name, part in parts.items()}
    named = value if isinstance(value, types.FunctionType | type) else type(value)
    reference = f"{named.__module__}:{named.__qualname__}"
    if importable(named, named.__module__, named.__qualname__):
        if named is value:
            return {"kind": "reference", "reference": reference}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            settings = {name: _kept(each) for name, each in settings_by_name(value).items()}
            return {"kind": "made", "by": reference, "settings": settings}
    return {"kind": "missing", "type": f"{type(value).__module__}:{type(value).__qualname__}"}


def _alive(kept: Any, where: str) -> Any:
    """The value of plain data; `where` names its place for an error."""
    if isinstance(kept, list):
        return [_alive(each, f"{where}[{place}]") for place, each in enumerate(kept)]
    match kept:
        case {"kind": "float", "value": value}:
            return float(value)
        case {"kind": "tuple", "items": items}:
            return tuple(_alive(items, where))
        case {"kind": "array", "dtype": dtype, "items": items}:
            return np.array(items, dtype=dtype)
        case {"kind": "dict", "items": items}:
            return {_alive(key, where): _alive(each, where) for key, each in items}
        case {"kind": "record", "record": data}:
            return from_record(data)
        case {"kind": "reference", "reference": reference}:
            return load(reference)
        case {"kind": "made", "by": reference, "settings": settings}:
            given = {name: _alive(each, where) for name, each in settings.items()}
            try:
                return load(reference)(**given)
            except Exception as error:  # a user's class may have changed, and may raise anything
                raise InvalidSetting(f"{where}: {reference} cannot be made of {given}: {error}") from error
        case {"kind": "partial", "of": inner, "arguments": arguments, "settings": settings}:
            named = _alive(settings, where)
            return functools.partial(_alive(inner, where), *_alive(arguments, where), **named)
        case {"kind": "missing", "type": kind}:
            raise InvalidSetting(
                f"{where} was an object of {kind}, which no file can hold; functions, classes and dataclass "
                "objects that a module has under their names can be played again"
            )
        case dict():
            raise InvalidSetting(f"{where} is nothing that a sweep holds: {kept!r}")
    return kept
