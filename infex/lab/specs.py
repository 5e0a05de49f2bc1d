"""Policies and problems of a sweep as data: labels, settings, and how a worker makes them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, final, runtime_checkable

from infex.checks import hint, plain, safe_repr, settings_by_name
from infex.errors import InfexError, InvalidSetting
from infex.lab import environments
from infex.lab.expressions import Kind, load, read, read_calls
from infex.lab.fingerprint import digest
from infex.lab.simulation.copies import own_copies
from infex.lab.simulation.simulator import checked_instance
from infex.models.base import checked_estimator
from infex.policies import Infex, Policy
from infex.policies.base import checked, lacks_delta, resolve_defaults
from infex.registry import label_of, setting_text, stream_name
from infex.schedules.base import has


@runtime_checkable
class Wrapper(Protocol):
    """A policy with a `base`, such as `Infex`, or a user's own."""

    base: Policy | None


def base_in(policy: object) -> Policy | None:
    """The policy that another one holds; None if it holds none."""
    return policy.base if isinstance(policy, Wrapper) else None


Delta = float | Literal["1/T"]


class Named(NamedTuple):
    """A policy, a schedule or an estimator under a name; for an `Infex`, the names of its parts too."""

    thing: Any
    label: str
    base: str | None = None
    schedule: str | None = None
    names: tuple[str, ...] = ()  # what else a user has called it


@final
@dataclass(frozen=True, slots=True)
class LabelledPolicy:
    """A policy as it is played, under the name it has in tables, with all else that a run needs.

    `base` and `schedule` are the names of an `Infex`'s parts; `names` are those that the user gave. The
    estimator None is ridge regression.
    """

    policy: Any
    label: str
    base: str | None
    schedule: str | None
    names: tuple[str, ...]
    horizon: int
    penalty: float
    estimator: Named | None = None
    content: str = field(init=False, repr=False)  # a digest of the policy
    stream: str = field(init=False, repr=False)  # the name of its draws
    estimator_content: str | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", digest(self.policy))
        object.__setattr__(self, "stream", stream_name(self.policy))
        estimator = None if self.estimator is None else digest(self.estimator.thing)
        object.__setattr__(self, "estimator_content", estimator)


def named(given: object, kind: Kind, name: str | None = None) -> list[Named]:
    """The policies, schedules or estimators that a text or an object stands for, perhaps under a name.

    >>> [each.label for each in named("LinUCB(scale=[0.1, 0.5])", "policy", "mine")]
    ['mine(scale=0.1)', 'mine(scale=0.5)']
    """
    if not isinstance(given, str):
        found = _object(_of_kind(given, kind))
        return [found if name is None else found._replace(label=name)]
    readings = read(given, kind)
    labels = [each.label for each in readings]
    if name is not None:
        one = len(readings) == 1
        labels = [name if one else f"{name}({', '.join(each.varied)})" for each in readings]
    return [
        Named(
            _of_kind(each.make(), kind), label, each.base, each.schedule, (given, *([name] if name else []))
        )
        for each, label in zip(readings, labels, strict=True)
    ]


def _object(thing: Any) -> Named:
    if not isinstance(thing, Infex):
        return Named(thing, label_of(thing))
    return Named(thing, label_of(thing), label_of(thing.base), label_of(thing.schedule))


def _of_kind(given: Any, kind: Kind) -> Any:
    """A copy of a policy, a schedule or an estimator: a sweep plays it as it was given."""
    (thing,) = own_copies(**{kind: given})
    if kind == "policy":
        return checked("policy", thing)
    if kind == "estimator":
        return checked_estimator(thing)
    if isinstance(thing, type) or not has(thing, "explores"):
        raise InvalidSetting(f"a schedule must be an object with a method explores, got {safe_repr(thing)}")
    return thing


def combined(
    bases: Iterable[Named], schedules: Iterable[Named], data: Iterable[Literal["shared", "own"]]
) -> list[Named]:
    """`Infex` of every base with every schedule, and data of each kind."""
    return [
        Named(
            Infex(base.thing, schedule.thing, data=kind),
            f"Infex({base.label}, {schedule.label}{', data=own' if kind == 'own' else ''})",
            base.label,
            schedule.label,
        )
        for base, schedule, kind in itertools.product(bases, schedules, data)
    ]


def entrants(
    players: Sequence[Named],
    horizon: int,
    deltas: Sequence[Delta],
    penalties: Sequence[float],
    estimators: Sequence[Named | None],
) -> Iterator[LabelledPolicy]:
    """All of them over a horizon, with every penalty and estimator, and every delta where they say none.

    A name tells what varies: a delta that the sweep says as a number, and penalty and estimator where
    there are several. What all share is in the table's columns alone.
    """
    for player, penalty, estimator in itertools.product(players, penalties, estimators):
        shared = _varied(penalty, penalties) + _varied(estimator, estimators)
        for delta in deltas if lacks_delta(player.thing) else deltas[:1]:
            policy = resolve_defaults(player.thing, 1.0 / horizon if delta == "1/T" else delta)
            tells = policy is not player.thing and (delta != "1/T" or len(deltas) > 1)
            label, base = (
                _labels(player, policy, delta, shared) if tells else _suffixed(player, shared, shared)
            )
            names = tuple(dict.fromkeys((player.label, *player.names)))
            yield LabelledPolicy(policy, label, base, player.schedule, names, horizon, penalty, estimator)


def _varied(value: float | Named | None, values: Sequence[object]) -> list[str]:
    """What a name says of a penalty or an estimator, if there are several."""
    if len(values) == 1:
        return []
    if isinstance(value, float):
        return [f"penalty={plain(value)}"]
    return [f"estimator={'Ridge' if value is None else value.label}"]


def _labels(player: Named, policy: Policy, delta: Delta, shared: list[str]) -> tuple[str, str | None]:
    """The names of a policy and of its base once the sweep has said a delta.

    What has an expression is called as if it had said the delta itself.
    """
    told = [f"delta={delta if isinstance(delta, str) else plain(delta)}", *shared]
    base, filled = base_in(player.thing), base_in(policy)
    label, own = _suffixed(player, told, told if filled is not base else shared)
    if delta != "1/T" and player.label == label_of(player.thing):
        label = _with(label_of(policy), shared)
    if delta != "1/T" and player.base is not None and player.base == label_of(base):
        own = _with(label_of(filled), shared)
    return label, own


def _suffixed(player: Named, words: list[str], base_words: list[str]) -> tuple[str, str | None]:
    return _with(player.label, words), None if player.base is None else _with(player.base, base_words)


def _with(name: str, words: list[str]) -> str:
    return f"{name} [{', '.join(words)}]" if words else name


EXAMPLES = {
    "dim": "10",
    "context_dim": "5",
    "arms": "100",
    "gap": "0.1",
}  # what an error shows a user to type
NO_DEFAULTS = (None, inspect.Parameter.empty)
TABLE_WORDS = ("kind", "object", "label")  # keys of a table that are no settings


@runtime_checkable
class Defined(Protocol):
    """A function or a class, which knows where it was defined."""

    __module__: str
    __qualname__: str


class ProblemContent(NamedTuple):
    """A digest of a problem, whether it is plain (`LinearInstance.is_plain`), and the numbers in its arms.

    `code` is a digest of what makes it, whatever the seed.
    """

    digest: str
    is_plain: bool
    numbers: int
    code: str


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    """A problem for each seed: one of `infex.lab.environments` by its settings, or a user's.

    `source` is a kind such as "gaussian", `package.module:object`, or an instance; an object that
    can be called is called with its settings and the seed.
    """

    source: Any
    settings: tuple[tuple[str, Any], ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self._described())

    def make(self, seed: int) -> environments.Instance:
        """The instance of one seed."""
        (source,) = own_copies(problem=self.maker())
        made = seeded(source, dict(self.settings), seed) if callable(source) else source
        return checked_instance(made)

    def maker(self) -> Any:
        """The function that makes the problem, or the instance itself."""
        if self.is_of_a_kind:
            return environments.PROBLEMS[self.source]
        return load(self.source) if isinstance(self.source, str) else self.source

    def contents(self, seeds: Sequence[int]) -> list[ProblemContent]:
        """What the problem of each seed is; its digest is of settings, or of what a user's object gives."""
        code = self.code()
        if not self.is_of_a_kind:
            return [self._content(seed, code) for seed in seeds]
        return [self._content(seeds[0], code, code)] * len(seeds)

    def code(self) -> str:
        """A digest of what makes the problem: its settings, and a user's function or object; "" of none."""
        with contextlib.suppress(InfexError):  # it cannot be loaded here; playing it will record why
            return digest((self.source if self.is_of_a_kind else self.maker(), self.settings))
        return ""

    def _content(self, seed: int, code: str, known: str | None = None) -> ProblemContent:
        try:
            made = self.make(seed)
            plain = isinstance(made, environments.LinearInstance) and made.is_plain
            content = digest(made) if known is None else known
            return ProblemContent(content, plain, made.count * made.dim, code)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a user's code may raise anything; playing it will record what
            return ProblemContent(known or "", False, 0, code)

    @property
    def is_of_a_kind(self) -> bool:
        """Is it one of `infex.lab.environments` by its settings?"""
        return isinstance(self.source, str) and self.source in environments.PROBLEMS

    def _described(self) -> str:
        if isinstance(self.source, str):
            words = [f"{name}={setting_text(value)}" for name, value in self.settings]
            return f"{self.source}({', '.join(words)})" if words or self.is_of_a_kind else self.source
        if callable(self.source):
            return _called(self.source)
        if isinstance(self.source, environments.Instance):
            return f"{type(self.source).__name__}({self.source.key:016x})"
        return label_of(self.source)


def recipes(given: object, name: str | None = None) -> list[Recipe]:
    """The problems that a text, a table, an instance or a function of a seed stands for.

    A text such as "gaussian(dim=[5, 10], arms=100)" stands for one problem for each value of its lists.
    `name` takes the place of their labels.
    """
    if isinstance(given, str):
        found = [(_of_text(given, *call[:3]), call.varied) for call in read_calls(given)]
    elif isinstance(given, Mapping):
        found = list(_of_table(given))
        name = name or given.get("label") or None
    else:
        found = [(given if isinstance(given, Recipe) else _of_object(given), ())]
    if name is None:
        return [each for each, _ in found]
    one = len(found) == 1
    return [replace(each, label=name if one else f"{name}({', '.join(varied)})") for each, varied in found]


def _of_object(given: Any) -> Recipe:
    if not callable(given):
        checked_instance(given)
    return Recipe(*own_copies(problem=given))


def _of_text(text: str, name: str, settings: dict[str, Any], texts: dict[str, str]) -> Recipe:
    if name in environments.PROBLEMS and "(" in text:
        return of_kind(name, settings, texts)
    if ":" not in name:
        raise InvalidSetting(
            "an environment must be like 'gaussian(dim=10, arms=100)', one of "
            f"{', '.join(sorted(environments.PROBLEMS))}, or 'package.module:object'; got {text!r}"
        )
    return _of_reference(name, settings, texts)


def _of_reference(reference: str, settings: dict[str, Any], texts: dict[str, str]) -> Recipe:
    source = load(reference)
    if not callable(source):
        checked_instance(source)
        if settings:
            raise InvalidSetting(f"{reference!r} takes no settings: it is an instance")
    elif settings:
        _refuse_unknown(reference, source, settings)
    words = ", ".join(f"{name}={text}" for name, text in texts.items())
    return Recipe(reference, tuple(settings.items()), f"{reference}({words})" if words else reference)


def _refuse_unknown(reference: str, source: Callable[..., Any], settings: dict[str, Any]) -> None:
    taken = inspect.signature(source).parameters
    known = [name for name in taken if name != "seed"]
    for name in settings:
        if name not in taken and not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
            raise InvalidSetting(
                f"{reference} has no setting {name!r}{hint(name, [*known, *TABLE_WORDS])}; "
                f"it has {', '.join(known) or 'none'}"
            )


def _of_table(table: Mapping[str, Any]) -> Iterable[tuple[Recipe, tuple[str, ...]]]:
    """A table has a kind, settings whose lists stand for their values, and perhaps a label."""
    kind = str(table.get("kind"))
    if kind != "object" and kind not in environments.PROBLEMS:
        known = ", ".join([*sorted(environments.PROBLEMS), "object"])
        raise InvalidSetting(f"the kind of an environment must be one of {known}; got {kind!r}")
    if kind == "object" and not isinstance(table.get("object"), str):
        raise InvalidSetting("the key `object` is missing: 'package.module:object'")
    words = TABLE_WORDS if kind == "object" else ("kind", "label")
    names = [name for name in table if name not in words]
    choices = [_choices(name, table[name]) for name in names]
    for values in itertools.product(*choices):
        settings = dict(zip(names, values, strict=True))
        texts = {name: setting_text(value) for name, value in settings.items()}
        varied = tuple(f"{name}={texts[name]}" for name in names if isinstance(table[name], list))
        make = (
            functools.partial(of_kind, kind)
            if kind in environments.PROBLEMS
            else functools.partial(_of_reference, table["object"])
        )
        yield make(settings, texts), varied


def _choices(name: str, value: object) -> list[Any]:
    """The values of a list, one after the other; a list in a list is one value."""
    if value == []:
        raise InvalidSetting(f"an empty list of {name}; say one number or more")
    return value if isinstance(value, list) else [value]


def of_kind(kind: str, settings: dict[str, Any], texts: dict[str, str] | None = None) -> Recipe:
    """A problem of `infex.lab.environments` by its settings, tried at once; defaults are left out."""
    asked = environments.settings_of(environments.PROBLEMS[kind])
    _refuse_other(kind, asked, settings)
    Recipe(kind, tuple(settings.items())).make(seed=0)
    unsaid = asked | _unsaid(kind, asked, settings)
    named = [name for name in asked if name in settings and not _is_default(settings[name], unsaid[name])]
    written = {name: setting_text(value) for name, value in settings.items()} | (texts or {})
    label = f"{kind}({', '.join(f'{name}={written[name]}' for name in named)})"
    return Recipe(kind, tuple((name, settings[name]) for name in named), label)


def _unsaid(kind: str, asked: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """What an instance has where a setting has no default by that name, such as the law of its rewards."""
    said = {name: value for name, value in settings.items() if asked[name] is not None}
    made = settings_by_name(Recipe(kind, tuple(said.items())).make(seed=0))
    return {name: value for name, value in made.items() if name in asked and asked[name] is None}


def _refuse_other(kind: str, asked: dict[str, Any], settings: dict[str, Any]) -> None:
    """Refuses settings that a problem does not have, and those that are missing."""
    for name in settings:
        if name not in asked:
            raise InvalidSetting(
                f"{kind} has no setting {name!r}{hint(name, asked)}; it has {', '.join(asked)}"
            )
    required = [name for name, default in asked.items() if default is inspect.Parameter.empty]
    for name in required:
        if name not in settings:
            words = ", ".join(f"{each}={EXAMPLES.get(each, '...')}" for each in required)
            raise InvalidSetting(f"{kind} needs {name}, as in {kind}({words})")


def kinds() -> list[str]:
    """The problems of `infex.lab.environments`, each with its settings and their defaults.

    >>> kinds()[0]
    'changing(dim, arms, best=moving, gap=0.1, rewards, noise, degrees, link, moves, late)'
    """
    return [
        f"{kind}({', '.join(_asked_of(environments.PROBLEMS[kind]))})"
        for kind in sorted(environments.PROBLEMS)
    ]


def _asked_of(make: Callable[..., Any]) -> list[str]:
    asked = environments.settings_of(make).items()
    return [name if each in NO_DEFAULTS else f"{name}={setting_text(each)}" for name, each in asked]


def _is_default(value: object, default: object) -> bool:
    return type(value) in (int, float, str, bool, type(None)) and value == default


def seeded(function: Callable[..., Any], settings: dict[str, Any], seed: int) -> Any:
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
            f"which parameter of {_called(function)} is the seed? Call it `seed`, or give it no default"
        )
    return function(**settings)


def _called(source: object) -> str:
    """A name for a function that makes problems: where it was defined, and the arguments of a partial."""
    if isinstance(source, functools.partial):
        words = [*map(setting_text, source.args)]
        words += [f"{name}={setting_text(value)}" for name, value in source.keywords.items()]
        return f"{_called(source.func)}({', '.join(words)})"
    named = source if isinstance(source, Defined) else type(source)
    return f"{named.__module__}:{named.__qualname__}"
