"""A sweep as frozen data: environments x policies x seeds; as a record and as a TOML file."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import platform
import re
import shlex
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, final

import msgspec
import numpy as np

from infex.checks import hint, real, safe_repr, settings_by_name, whole
from infex.errors import InfexError, InvalidSetting, NoRecord
from infex.lab.expressions import load
from infex.lab.fingerprint import commit, versions
from infex.lab.progress import Progress, SweepLog, showing
from infex.lab.results import Results
from infex.lab.runner import Engine, outcomes_of
from infex.lab.simulation.simulator import checked_horizon
from infex.lab.specs import LabelledPolicy, Named, Recipe, combined, entrants, named, recipes
from infex.lab.store import SWEEP_FILE, Folder, held
from infex.lab.table import settings_of
from infex.lab.tasks import Task, chunked, grouped
from infex.registry import from_record, to_record


def narrow(sweep: Sweep) -> None:
    """Leaves a sweep the policies and environments that `only` names; all, where it names none of them."""
    if isinstance(sweep.only, str) or not isinstance(sweep.only, Iterable):
        raise InvalidSetting(f"only must be a list of names, got {sweep.only!r}")
    names = tuple(sweep.only)
    object.__setattr__(sweep, "only", names)
    players = tuple(each for each in sweep.players if each.label in names)
    problems = tuple(each for each in sweep.problems if each.label in names)
    known = [*(each.label for each in sweep.players), *(each.label for each in sweep.problems)]
    for name in names:
        if name not in known:
            raise InvalidSetting(f"only names {name!r}{hint(str(name), known)}, which is not in the sweep")
    object.__setattr__(sweep, "players", players or sweep.players)
    object.__setattr__(sweep, "problems", problems or sweep.problems)


Made = TypeVar("Made")
NAMED_BY_DICTS = ("policies", "environments")


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
    players: tuple[LabelledPolicy, ...] = field(init=False, repr=False)
    problems: tuple[Recipe, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        seeds = range(whole("seeds", self.seeds)) if _is_number(self.seeds) else self.seeds
        lists = ("environments", "policies", "bases", "schedules")
        given: dict[str, Any] = {"environments": self.environments, "policies": self.policies}
        given |= {"bases": self.bases, "schedules": self.schedules}
        checked: dict[str, Any] = {name: _listed(name, given[name]) for name in lists}
        checked["data"] = _listed("data", [self.data] if isinstance(self.data, str) else self.data)
        checked["seeds"] = tuple(_seed(seed) for seed in _listed("seeds", seeds))
        checked["horizon"] = _one_or_more("horizon", self.horizon, checked_horizon)
        checked["penalty"] = _one_or_more("penalty", self.penalty, partial(real, "penalty", above=0))
        checked["delta"] = _one_or_more("delta", self.delta, _delta)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "problems", tuple(_each("environments", self.environments, recipes)))
        object.__setattr__(self, "players", tuple(self._all_players()))
        narrow(self)
        if not (self.players and self.problems and self.seeds):
            raise InvalidSetting(
                f"an empty sweep: {len(self.problems)} environments, {len(self.players)} policies, "
                f"{len(self.seeds)} seeds"
            )
        _refuse_twice("seeds", self.seeds)
        _refuse_twice("environments", [problem.label for problem in self.problems])
        for _, alike in itertools.groupby(self.players, key=lambda player: player.horizon):
            _refuse_twice("policies", [player.label for player in alike])

    def _all_players(self) -> Iterator[LabelledPolicy]:
        """The policies, and `Infex` of every base with every schedule; all with every setting of a run."""
        if bool(self.bases) != bool(self.schedules):
            raise InvalidSetting("bases and schedules go together: Infex of every base with every schedule")
        if self.bases and not self.data:
            raise InvalidSetting("bases need data: 'shared', 'own' or both; got none")
        bases = _each("bases", self.bases, partial(named, kind="policy"))
        schedules = _each("schedules", self.schedules, partial(named, kind="schedule"))
        alone = _each("policies", self.policies, partial(named, kind="policy"))
        estimators = _each("estimator", _estimators(self.estimator), _estimator)
        players = [*alone, *combined(bases, schedules, self.data)]
        deltas, penalties = _all(self.delta), _all(self.penalty)
        for horizon in _all(self.horizon):
            yield from entrants(players, horizon, deltas, penalties, estimators)

    def tasks(self) -> list[Task]:
        """All runs, by environment, policy and seed."""
        seeds = sorted(self.seeds)
        return [
            Task(where, who, seed, content)
            for where in self.problems
            for contents in [where.contents(seeds)]
            for who in self.players
            for seed, content in zip(seeds, contents, strict=True)
        ]

    def about(self) -> dict[str, Any]:
        """The settings, seeds, versions and the machine, for a report; and the sweep itself, as data."""
        told = settings_of(self.players, self.problems)
        return {
            "title": self.title,
            "environments": [each.label for each in self.problems],
            "policies": list(dict.fromkeys(each.label for each in self.players)),
            "bases": {each.label: each.base for each in self.players if each.base is not None},
            "seeds": list(self.seeds),
            "horizon": _as_json(self.horizon),
            "penalty": _as_json(self.penalty),
            "delta": _as_json(self.delta),
            "estimator": list(dict.fromkeys(each["estimator"] for each in told["policies"])),
            "settings": told,
            "contents": [each.content for each in self.players],
            "names": self._names(),
            "versions": versions(),
            "commit": commit(),
            "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
            "command": shlex.join(["infex", *sys.argv[1:]]) if sys.argv[0].endswith("infex") else "",
            "sweep": sweep_record(self),
        }

    def _names(self) -> dict[str, list[str]]:
        """The labels in tables of what a user has called a policy, where they differ."""
        pairs = [(name, player.label) for player in self.players for name in player.names]
        found = grouped(pairs, lambda pair: pair[0])
        labels = {name: list(dict.fromkeys(label for _, label in each)) for name, each in found.items()}
        return {name: each for name, each in labels.items() if each != [name]}

    def run(
        self,
        *,
        workers: int | None = None,
        out: str | Path | None = None,
        engine: Engine | str = "local",
        scheduler: str | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
    ) -> Results:
        """Plays what is missing, on all cores or so many workers, and gives all results.

        With `out`, finished runs are kept in that folder as they come, and what is there already is
        not played again; the same call after an interruption goes on. Without it nothing is kept.
        Warnings that infex gave in runs are repeated once, at the end; if runs failed, there is a
        RuntimeWarning too. The table, the summary and `sweep.json` are of this sweep alone, whatever
        other runs the folder keeps. `progress` is True for a bar on stderr, or a function that is told how
        many runs are done, how many there are, and how many failed.
        """
        where = Engine.of(engine, scheduler, workers)
        tasks = {task.key: task for task in self.tasks()}
        with showing(progress) as told, Folder(out, force=force) as folder:
            done = folder.keys() & tasks.keys()
            log = SweepLog(tasks, len(done), told)
            about = self.about()
            if len(done) < len(tasks):
                folder.begin(about)
            missing = [task for key, task in tasks.items() if key not in done]
            for outcomes in outcomes_of(chunked(missing), where):
                folder.append(outcomes)
                log.enter(outcomes)
            about |= where.about() | {"earlier": len(done)}
            rows = folder.table(list(tasks))
            results = Results(rows, bases=about["bases"], failures=log.failures(), about=about, sweep=self)
            folder.finish(results)
        log.warn(stacklevel=2)
        return results


def _listed(name: str, given: object) -> Any:
    """A list as a tuple; a dict, whose keys are names, as it is."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{name} must be a list, got {safe_repr(given)}")
    return _with_names(name, given) if isinstance(given, Mapping) else tuple(given)


def _with_names(name: str, given: Mapping[Any, Any]) -> dict[str, Any]:
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


def _all(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def _as_json(given: Any) -> Any:
    return list(given) if isinstance(given, tuple) else given


def _delta(given: object) -> float | str:
    return "1/T" if given is None or given == "1/T" else real("delta", given, above=0, most=1)


def _estimators(given: object) -> Any:
    return given if isinstance(given, Mapping | list | tuple) else [given]


def _estimator(given: object, name: str | None = None) -> list[Named | None]:
    if given is None and name is None:
        return [None]
    return list(named("Ridge" if given is None else given, "estimator", name))


def _each(name: str, given: Any, make: Callable[..., list[Made]]) -> list[Made]:
    """What is made of each; an error says at which place."""
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    made: list[Made] = []
    for place, thing in pairs:
        try:
            made += make(thing, name=place if isinstance(place, str) else None)
        except InfexError as error:
            raise type(error)(f"{error} - at `{name}[{place!r}]`") from error
    return made


def _seed(value: object) -> int:
    seed = whole("a seed", value)
    if not -(2**63) <= seed < 2**63:
        raise InvalidSetting(f"a seed must be from -2^63 to 2^63 - 1, got {seed}")
    return seed


def _refuse_twice(name: str, given: Iterable[str | int]) -> None:
    for thing, count in Counter(given).items():
        if count > 1:
            more = f"; a dict gives them names: {name}={{'one': ...}}" if name in NAMED_BY_DICTS else ""
            raise InvalidSetting(f"{thing} stands {count} times among the {name}{more}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _processor() -> str:
    """The name of the processor, if the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


SWEEP_RECORD_FORMAT = 1


def sweep_record(sweep: Sweep) -> dict[str, Any]:
    """All settings of a sweep as they were given, for JSON.

    Text and numbers stay; what infex has is a record; a function, a class or a dataclass of a module is named
    as `package.module:object`. What has no such name is marked as missing, and `sweep_of` says so.
    """
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in settings_by_name(sweep).items()}
    return {"format": SWEEP_RECORD_FORMAT} | {name: _kept(value) for name, value in settings.items()}


def sweep_of(kept: Mapping[str, Any]) -> Sweep:
    """The sweep of such data."""
    if not isinstance(kept, Mapping):
        raise InvalidSetting(f"a sweep must be a mapping of its settings, got {kept!r}")
    if kept.get("format") != SWEEP_RECORD_FORMAT:
        raise InvalidSetting(f"format {kept.get('format')!r} of a sweep is not known here, only 1")
    known = {field.name for field in dataclasses.fields(Sweep) if field.init}
    strange = [name for name in kept if name not in known and name != "format"]
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


def sweep_behind(about: Mapping[str, Any]) -> Sweep:
    """The sweep that results tell of themselves to come from."""
    if "sweep" not in about:
        raise InvalidSetting("these runs are of no sweep, so nothing knows how to play more of them")
    return sweep_of(about["sweep"])


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
    try:
        return {"kind": "record", "record": to_record(value)}
    except NoRecord:
        return _named(value)


def _named(value: Any) -> dict[str, Any]:
    """A user's object by the name under which a module has it, or a dataclass by its class and settings."""
    if isinstance(value, functools.partial):
        parts = {"of": value.func, "arguments": value.args, "settings": value.keywords}
        return {"kind": "partial"} | {name: _kept(part) for name, part in parts.items()}
    if isinstance(value, types.FunctionType | type):
        reference = f"{value.__module__}:{value.__qualname__}"
        if _is(reference, value):
            return {"kind": "reference", "reference": reference}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        maker = _named(type(value))
        if maker["kind"] == "reference":
            settings = {name: _kept(each) for name, each in settings_by_name(value).items()}
            return {"kind": "made", "by": maker["reference"], "settings": settings}
    return {"kind": "missing", "type": f"{type(value).__module__}:{type(value).__qualname__}"}


def _is(reference: str, thing: object) -> bool:
    """Does a module other than the program itself have this very thing under this name?"""
    with contextlib.suppress(InfexError):
        return not reference.startswith("__main__:") and load(reference) is thing
    return False


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
            return _made(reference, {name: _alive(each, where) for name, each in settings.items()}, where)
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


def _made(reference: str, settings: dict[str, Any], where: str) -> Any:
    """A user's object from its class and settings; the class may have changed since."""
    kind = load(reference)
    try:
        return kind(**settings)
    except Exception as error:  # a user's code may raise anything
        raise InvalidSetting(f"{where}: {reference} cannot be made of {settings}: {error}") from error


TOML_WORDS = {
    "`float | array`": "a number or a list",
    "`int | array`": "a whole number or a list",
    "`array | object`": "a list or a table of names",
    "`str | object`": "text or a table",
    "`object`": "a table",
    "`array`": "a list",
    " - at `$.": " - at `",
    "`$`": "the top",
}
Names = list[str] | dict[str, str]
Numbers = float | list[float]


class SweepFile(msgspec.Struct, forbid_unknown_fields=True):
    """What a sweep file may say."""

    environments: list[str | dict[str, Any]] | dict[str, str | dict[str, Any]]
    policies: Names = []
    bases: Names = []
    schedules: Names = []
    data: list[Literal["shared", "own"]] = msgspec.field(default_factory=lambda: ["shared"])
    horizon: float | list[float] = 10_000
    seeds: int | list[int] = 20
    penalty: Numbers = 1.0
    delta: float | Literal["1/T"] | list[float | Literal["1/T"]] = "1/T"
    estimator: str | list[str] | dict[str, str] | None = None
    title: str = ""


def read_sweep(path: str | Path) -> Sweep:
    """The sweep of a TOML file."""
    place = Path(path)
    try:
        file = msgspec.toml.decode(place.read_bytes(), type=SweepFile)
    except OSError as error:
        raise InvalidSetting(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        raise InvalidSetting(f"{path}: {_plainly(str(error))}") from None
    try:
        return Sweep(**msgspec.structs.asdict(file))
    except InfexError as error:
        raise InvalidSetting(f"{path}: {error}") from None


def _plainly(message: str) -> str:
    """An error of msgspec in the words of TOML: `$.environments[0]` is the first table of environments."""
    unknown = re.fullmatch(r"Object contains unknown field `(.*?)`", message)
    if unknown:
        known = [each.encode_name for each in msgspec.structs.fields(SweepFile)]
        return f"unknown key `{unknown[1]}`{hint(unknown[1], known)}; known are {', '.join(known)}"
    missing = re.fullmatch(r"Object missing required field `(.*?)`", message)
    if missing:
        return f"the key `{missing[1]}` is missing"
    for old, new in TOML_WORDS.items():
        message = message.replace(old, new)
    return message
