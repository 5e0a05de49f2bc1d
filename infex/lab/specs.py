"""Policies and problems of a sweep as data: labels, settings, and how a worker makes them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, final

import numpy as np

from infex.checks import hint, plain, safe_repr, set_fields, settings_by_name
from infex.errors import InfexError, InvalidSetting
from infex.lab import environments
from infex.lab.expressions import Called, Kind, load, read, read_calls
from infex.lab.fingerprint import digest
from infex.lab.simulation.copies import own_copies
from infex.lab.simulation.simulator import checked_instance
from infex.models.base import checked_estimator
from infex.policies import Infex, Policy
from infex.policies.base import checked, lacks_delta, resolve_defaults
from infex.registry import described, label_of, setting_text, stream_name
from infex.schedules.base import has

Facts = dict[str, Any]
Delta = float | Literal["1/T"]

TAKEN = {  # names of columns that are no settings of a policy, or have another meaning
    "key", "environment", "dim", "arms", "policy", "seed", "horizon", "t", "regret", "seconds", "explored",
    "different", "optimal", "regret_exploring", "regret_greedy", "log_det_ratio", "kind", "base", "schedule",
    "penalty", "estimator", "content",
}  # fmt: skip
EXAMPLES = {"dim": "10", "context_dim": "5", "arms": "100", "gap": "0.1"}  # what an error shows to type
TABLE_WORDS = ("kind", "object", "label")  # keys of a table that are no settings


# Policies


@final
@dataclass(frozen=True, slots=True)
class Named:
    """A policy, a schedule or an estimator under a name; for an `Infex`, the names of its parts too."""

    thing: Any
    label: str
    base: str | None = None
    schedule: str | None = None
    names: tuple[str, ...] = ()  # what else a user has called it


@final
@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A policy as it is played, under the name it has in tables, with all else that a run needs.

    `base` and `schedule` are the names of an `Infex`'s parts; `names` are those that the user gave. The
    estimator None is ridge regression. `digests` are of the policy and the estimator.
    """

    policy: Any
    label: str
    base: str | None
    schedule: str | None
    names: tuple[str, ...]
    horizon: int
    penalty: float
    estimator: Any
    estimator_label: str
    digests: tuple[str, str] = field(init=False, repr=False)
    key: list[Any] = field(init=False, repr=False)  # tells its runs from those of others, as plain data

    def __post_init__(self) -> None:
        digests = digest(self.policy), digest(self.estimator)
        settings = (self.horizon, self.penalty, self.estimator_label)
        set_fields(self, digests=digests, key=[self.label, stream_name(self.policy), *settings, *digests])

    def is_current(self) -> bool:
        """Has this process the code that the policy had where it was made?"""
        return self.digests == (digest(self.policy), digest(self.estimator))

    def facts(self) -> Facts:
        """Its settings by the names of their columns, and a digest of the policy as `content`."""
        facts = {"policy": self.label, "horizon": self.horizon, "penalty": self.penalty}
        facts |= policy_facts(self.policy) | {"estimator": self.estimator_label, "content": self.digests[0]}
        if self.estimator is not None:
            kind, settings, _ = described(self.estimator)
            facts |= {"estimator_kind": kind}
            facts |= {f"estimator_{name}": _plain(each) for name, each in settings.items()}
        names = {"base": self.base, "schedule": self.schedule}
        return facts | {name: label for name, label in names.items() if label is not None}


def policy_facts(policy: Policy) -> Facts:
    """The settings of a policy by the names of their columns.

    >>> from infex import Infex, LinUCB, every
    >>> facts = policy_facts(Infex(LinUCB(delta=0.1), every(20)))
    >>> [facts[name] for name in ("kind", "base", "base_kind", "schedule", "period", "delta")]
    ['Infex', 'LinUCB(delta=0.1)', 'LinUCB', 'every(20)', 20, 0.1]
    """
    kind, settings, _ = described(policy)
    facts: Facts = {"kind": kind}
    for name, value in settings.items():
        if name == "schedule" and has(value, "explores"):
            facts |= {"schedule": label_of(value)} | _schedule_facts(value)
        elif name != "base" or value is None:
            facts[f"policy_{name}" if name in TAKEN else name] = _plain(value)
    base = settings.get("base")
    if base is not None:  # settings that the policy around it has too are in columns of the base
        inner = policy_facts(base)
        facts |= {"base": label_of(base), "base_kind": inner.pop("kind")}
        facts |= {f"base_{name}" if name in facts else name: value for name, value in inner.items()}
    return facts


def _schedule_facts(schedule: object) -> Facts:
    """Its kind and settings, and those of a schedule inside it."""
    kind, settings, _ = described(schedule)
    facts: Facts = {"schedule_kind": kind}
    for name, value in settings.items():
        if name == "schedule" and has(value, "explores"):
            facts |= _schedule_facts(value)
        elif not isinstance(value, list | tuple):
            facts["period" if name in ("m", "period") else f"schedule_{name}"] = _plain(value)
    return facts | {"schedule_kind": kind}


def _plain(value: object) -> Any:
    """A setting as JSON has it: a number, a text, or nothing."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    return value.item() if isinstance(value, np.generic) else setting_text(value)


def named(given: object, kind: Kind, name: str | None = None) -> list[Named]:
    """The policies, schedules or estimators that a text, an object or a named list of them stands for.

    >>> [each.label for each in named("LinUCB(scale=[0.1, 0.5])", "policy", "mine")]
    ['mine(scale=0.1)', 'mine(scale=0.5)']
    """
    if isinstance(given, list | tuple) and name is not None:
        found = [each for item in given for each in named(item, kind)]
        return _renamed(found, name, [[word] for word in _differences(found, kind)])
    if given is None and kind == "estimator":
        return [Named(None, name or "Ridge")]
    if not isinstance(given, str):
        thing = _checked(given, kind)
        parts = (label_of(thing.base), label_of(thing.schedule)) if isinstance(thing, Infex) else ()
        return [Named(thing, name or label_of(thing), *parts)]
    names = (given,) if name is None else (given, name)
    readings = read(given, kind)
    found = [
        Named(_checked(each.make(), kind), each.label, each.base, each.schedule, names) for each in readings
    ]
    return found if name is None else _renamed(found, name, [each.varied for each in readings])


def _renamed(found: list[Spec], name: str, words: Iterable[Sequence[str]]) -> list[Spec]:
    """Things under a user's name, and what tells them apart if they are several: `mine(scale=0.1)`."""
    told = words if len(found) != 1 else [()]
    return [replace(each, label=_called(name, word)) for each, word in zip(found, told, strict=True)]


def _called(name: str, words: Iterable[str]) -> str:
    told = ", ".join(words)
    return f"{name}({told})" if told else name


def _differences(found: Sequence[Named], kind: Kind) -> list[str]:
    """What tells things of a list apart: settings that vary, as `scale=0.1`; else their labels."""
    texts: list[dict[str, str]] = []
    for each in found:
        facts: Facts = {}
        if each.thing is not None:
            facts = policy_facts(each.thing) if kind == "policy" else described(each.thing).settings
        texts.append({name: setting_text(value) for name, value in facts.items()})
    alike = texts[0] if texts and all(text.keys() == texts[0].keys() for text in texts) else {}
    names = [name for name in alike if name not in ("base", "schedule")]
    varied = [name for name in names if len({text[name] for text in texts}) > 1]
    words = [", ".join(f"{name}={text[name]}" for name in varied) for text in texts]
    return words if len({*words}) == len(words) and "kind" not in varied else [each.label for each in found]


def _checked(given: Any, kind: Kind) -> Any:
    """A copy of a policy, a schedule or an estimator: a sweep plays it as it was given."""
    (thing,) = own_copies(**{kind: given})
    if kind == "policy":
        return checked("policy", thing)
    if kind == "estimator":
        return checked_estimator(thing)
    if isinstance(thing, type) or not has(thing, "explores"):
        raise InvalidSetting(f"a schedule must be an object with a method explores, got {safe_repr(thing)}")
    return thing


def policy_specs(
    policies: Iterable[Named],
    horizon: int,
    deltas: Sequence[Delta],
    penalties: Sequence[float],
    estimators: Sequence[Named],
) -> Iterator[PolicySpec]:
    """All of them over a horizon, with every penalty and estimator, and every delta where they say none.

    A name tells what varies: a delta that the sweep says as a number, and penalty and estimator where
    there are several. What all share is in the table's columns alone.
    """
    for given, penalty, estimator in itertools.product(policies, penalties, estimators):
        shared = [f"penalty={plain(penalty)}"] if len(penalties) > 1 else []
        shared += [f"estimator={estimator.label}"] if len(estimators) > 1 else []
        for delta in deltas if lacks_delta(given.thing) else deltas[:1]:
            policy: Any = resolve_defaults(given.thing, 1.0 / horizon if delta == "1/T" else delta)
            told = delta if delta != "1/T" or len(deltas) > 1 else None
            label, base = _relabelled(given.label, given.thing, policy, told, shared), given.base
            if base is not None:
                base = _relabelled(base, given.thing.base, policy.base, told, shared)
            names = tuple(dict.fromkeys((given.label, *given.names)))
            yield PolicySpec(
                policy, label, base, given.schedule, names, horizon, penalty, estimator.thing, estimator.label
            )  # fmt: skip


def _relabelled(label: str, before: object, after: object, delta: Delta | None, shared: list[str]) -> str:
    """The name of a policy or a base once the sweep has filled in a delta, if that is to be told.

    What has an expression is called as if it had said the delta itself.
    """
    words = shared
    if delta is not None and after is not before:
        if delta != "1/T" and label == label_of(before):
            label = label_of(after)
        else:
            words = [f"delta={delta if isinstance(delta, str) else plain(delta)}", *shared]
    return f"{label} [{', '.join(words)}]" if words else label


# Problems


@final
@dataclass(frozen=True, slots=True)
class ProblemSpec:
    """A problem for each seed: one of `infex.lab.environments` by its settings, or a user's.

    `source` is a kind such as "gaussian", `package.module:object`, or an instance; an object that can be
    called is called with its settings and the seed. `size` is how many numbers its arms have, if that is
    known; `facts` are its settings by the names of their columns.
    """

    source: Any
    settings: tuple[tuple[str, Any], ...]
    label: str
    facts: Facts
    size: int = 1
    code: str = field(init=False, repr=False)  # a digest of what makes it

    def __post_init__(self) -> None:
        set_fields(self, code=self._code())

    def is_current(self) -> bool:
        """Has this process the code that the problem had where it was made?"""
        return self.code == self._code()

    def make(self, seed: int) -> environments.Instance:
        """The instance of one seed."""
        (source,) = own_copies(problem=self._source())
        made = seeded(source, dict(self.settings), seed) if callable(source) else source
        return checked_instance(made)

    def _source(self) -> Any:
        """The function that makes the problem, or the instance itself."""
        if self._is_built_in:
            return environments.PROBLEMS[self.source]
        return load(self.source) if isinstance(self.source, str) else self.source

    @property
    def _is_built_in(self) -> bool:
        return isinstance(self.source, str) and self.source in environments.PROBLEMS

    def _code(self) -> str:
        """A digest of its settings, and of a user's function or object; "" if that cannot be loaded."""
        with contextlib.suppress(InfexError):  # it cannot be loaded here; playing it will record why
            return digest((self.source if self._is_built_in else self._source(), self.settings))
        return ""

    def digest(self, seed: int) -> str:
        """A digest of the problem of a seed: of its settings, or of what a user's object gives."""
        if self._is_built_in:
            return self.code
        try:
            return digest(self.make(seed))
        except KeyboardInterrupt:
            raise
        except BaseException:  # a user's code may raise anything; playing it will record what
            return ""


Spec = TypeVar("Spec", Named, ProblemSpec)


def problem_specs(given: object, name: str | None = None) -> list[ProblemSpec]:
    """The problems that a text, a table, an instance, a function of a seed or a named list stands for.

    A text such as "gaussian(dim=[5, 10], arms=100)" stands for one problem for each value of its lists.
    `name` takes the place of their labels.
    """
    if isinstance(given, list | tuple) and name is not None:
        found = [each for item in given for each in problem_specs(item)]
        return _renamed(found, name, [[each.label] for each in found])
    if isinstance(given, Mapping):
        calls, name = _table_calls(given), name or given.get("label")
    elif isinstance(given, str):
        calls = read_calls(given)
        for each in calls:
            if ":" not in each.name and (each.name not in environments.PROBLEMS or "(" not in given):
                raise InvalidSetting(
                    "an environment must be like 'gaussian(dim=10, arms=100)', one of "
                    f"{', '.join(sorted(environments.PROBLEMS))}, or 'package.module:object'; got {given!r}"
                    f"{hint(each.name, environments.PROBLEMS)}"
                )
    else:
        return [replace(each, label=name or each.label) for each in [_of_object(given)]]
    found = [(_of_kind if each.name in environments.PROBLEMS else _of_reference)(each) for each in calls]
    return _renamed(found, name, [each.varied for each in calls]) if name else found


def _table_calls(table: Mapping[str, Any]) -> list[Called]:
    """A table has a kind, settings whose lists stand for their values, and perhaps a label."""
    kind = str(table.get("kind"))
    if kind != "object" and kind not in environments.PROBLEMS:
        known = ", ".join([*sorted(environments.PROBLEMS), "object"])
        raise InvalidSetting(f"the kind of an environment must be one of {known}; got {kind!r}")
    if kind == "object" and ":" not in str(table.get("object")):
        raise InvalidSetting("the key `object` is missing: 'package.module:object'")
    words = TABLE_WORDS if kind == "object" else ("kind", "label")
    given = {name: value for name, value in table.items() if name not in words}
    for name, value in given.items():
        if value == []:
            raise InvalidSetting(f"an empty list of {name}; say one number or more")
    calls = []
    for values in itertools.product(*(each if isinstance(each, list) else [each] for each in given.values())):
        settings = dict(zip(given, values, strict=True))
        texts = {name: setting_text(value) for name, value in settings.items()}
        varied = tuple(f"{name}={texts[name]}" for name in given if isinstance(given[name], list))
        calls.append(Called(table["object"] if kind == "object" else kind, settings, texts, varied))
    return calls


def _of_object(given: Any) -> ProblemSpec:
    """An instance, a problem of a user's or a function of a seed."""
    if not callable(given):
        checked_instance(given)
    (source,) = own_copies(problem=given)
    if callable(source):
        label = _function_label(source)
    elif isinstance(source, environments.Instance):
        label = f"{type(source).__name__}({source.key:016x})"
    else:
        label = label_of(source)
    kind, settings, _ = described(source)
    return ProblemSpec(source, (), label, _problem_facts(kind, settings))


def _problem_facts(kind: str, settings: Mapping[str, Any]) -> Facts:
    """Settings by the names of their columns; dimension and arms are columns of every run."""
    plain = {
        f"environment_{name}": _plain(value)
        for name, value in settings.items()
        if name not in ("dim", "arms") and not isinstance(value, np.ndarray)
    }
    return {"environment_kind": kind} | plain


def _function_label(source: object) -> str:
    """A name for a function that makes problems: where it was defined, and the arguments of a partial."""
    if isinstance(source, functools.partial):
        words = [*map(setting_text, source.args)]
        words += [f"{name}={setting_text(value)}" for name, value in source.keywords.items()]
        return _called(_function_label(source.func), words)
    defined: Any = source if isinstance(getattr(source, "__qualname__", None), str) else type(source)
    return f"{defined.__module__}:{defined.__qualname__}"


def _of_reference(call: Called) -> ProblemSpec:
    """A user's object by its name, with settings if it is a function that takes them."""
    reference, settings, texts, _ = call
    source = load(reference)
    if not callable(source):
        checked_instance(source)
        if settings:
            raise InvalidSetting(f"{reference!r} takes no settings: it is an instance")
    elif settings:
        taken = inspect.signature(source).parameters
        if not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
            _refuse_unknown(reference, settings, [name for name in taken if name != "seed"], TABLE_WORDS)
    label = _called(reference, [f"{name}={text}" for name, text in texts.items()])
    return ProblemSpec(reference, tuple(settings.items()), label, _problem_facts(reference, settings))


def _refuse_unknown(
    kind: str, settings: Iterable[str], known: Sequence[str], beside: Iterable[str] = ()
) -> None:
    for name in settings:
        if name not in known:
            near, listed = hint(name, [*known, *beside]), ", ".join(known) or "none"
            raise InvalidSetting(f"{kind} has no setting {name!r}{near}; it has {listed}")


def _of_kind(call: Called) -> ProblemSpec:
    """A problem of `infex.lab.environments` by its settings, made once to check them.

    Settings that have their defaults are left out. Where a default is None, as of the law of rewards, the
    value is read from an instance that was made without that setting.
    """
    kind, settings, texts, _ = call
    make = environments.PROBLEMS[kind]
    asked = environments.settings_of(make)
    _refuse_unknown(kind, settings, list(asked))
    required = [name for name, default in asked.items() if default is inspect.Parameter.empty]
    for name in required:
        if name not in settings:
            words = ", ".join(f"{each}={EXAMPLES.get(each, '...')}" for each in required)
            raise InvalidSetting(f"{kind} needs {name}, as in {kind}({words})")
    made = make(**settings, seed=0)
    plainly = {name: value for name, value in settings.items() if asked[name] is not None}
    bare = made if len(plainly) == len(settings) else make(**plainly, seed=0)
    values, defaults = (
        asked | {name: each for name, each in settings_by_name(one).items() if asked.get(name, 0) is None}
        for one in (made, bare)
    )
    said = {
        name: settings[name]
        for name in asked
        if name in settings
        and not (isinstance(settings[name], int | float | str | None) and settings[name] == defaults[name])
    }
    label = f"{kind}({', '.join(f'{name}={texts[name]}' for name in said)})"
    facts = _problem_facts(kind, values | settings)
    return ProblemSpec(kind, tuple(said.items()), label, facts, made.count * made.dim)


def kinds() -> list[str]:
    """The problems of `infex.lab.environments`, each with its settings and their defaults.

    >>> kinds()[0]
    'changing(dim, arms, best=moving, gap=0.1, rewards, noise, degrees, link, moves, late)'
    """
    found = []
    for kind in sorted(environments.PROBLEMS):
        asked = environments.settings_of(environments.PROBLEMS[kind]).items()
        none = (None, inspect.Parameter.empty)
        words = [name if each in none else f"{name}={setting_text(each)}" for name, each in asked]
        found.append(f"{kind}({', '.join(words)})")
    return found


def seeded(function: Callable[..., Any], settings: Facts, seed: int) -> Any:
    """What a function gives for its settings and a seed.

    The seed goes to a parameter called `seed`, or else to the first that has no default and is no
    setting. A function without settings and without such a parameter is called with the seed alone.
    """
    try:
        taken = inspect.signature(function).parameters
    except (TypeError, ValueError):  # what is written in C may tell nothing
        return function(seed, **settings)
    free = [each for name, each in taken.items() if name not in settings]
    due = [each for each in free if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    if "seed" in taken:
        return function(**settings, seed=seed)
    if due and due[0].kind in (due[0].POSITIONAL_ONLY, due[0].VAR_POSITIONAL):
        return function(seed, **settings)
    if due or any(each.kind is each.VAR_KEYWORD for each in free):
        return function(**settings, **{due[0].name if due else "seed": seed})
    if free and not settings:
        raise InvalidSetting(
            f"which parameter of {_function_label(function)} is the seed? Call it `seed`, or give it no "
            "default"
        )
    return function(**settings)
