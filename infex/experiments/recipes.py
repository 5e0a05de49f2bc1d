"""Problems of a sweep as data: what they are called, and how a worker makes them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, final, runtime_checkable

from infex import environments
from infex.checks import settings_by_name
from infex.errors import InfexError, InvalidSetting
from infex.experiments.content import digest
from infex.experiments.expressions import read_calls
from infex.experiments.loading import load
from infex.experiments.naming import hint
from infex.registry import GENERATORS, label_of, setting_text
from infex.simulation.copies import own_copies
from infex.simulation.simulator import checked_instance

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
    """A problem for each seed: one of `infex.environments` by its settings, or a user's.

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
            return GENERATORS[self.source]
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
        """Is it one of `infex.environments` by its settings?"""
        return isinstance(self.source, str) and self.source in GENERATORS

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
    if name in GENERATORS and "(" in text:
        return of_kind(name, settings, texts)
    if ":" not in name:
        raise InvalidSetting(
            "an environment must be like 'gaussian(dim=10, arms=100)', one of "
            f"{', '.join(sorted(GENERATORS))}, or 'package.module:object'; got {text!r}"
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
    if kind != "object" and kind not in GENERATORS:
        known = ", ".join([*sorted(GENERATORS), "object"])
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
            if kind in GENERATORS
            else functools.partial(_of_reference, table["object"])
        )
        yield make(settings, texts), varied


def _choices(name: str, value: object) -> list[Any]:
    """The values of a list, one after the other; a list in a list is one value."""
    if value == []:
        raise InvalidSetting(f"an empty list of {name}; say one number or more")
    return value if isinstance(value, list) else [value]


def of_kind(kind: str, settings: dict[str, Any], texts: dict[str, str] | None = None) -> Recipe:
    """A problem of `infex.environments` by its settings, tried at once; defaults are left out."""
    asked = environments.settings_of(GENERATORS[kind])
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
    """The problems of `infex.environments`, each with its settings and their defaults.

    >>> kinds()[0]
    'changing(dim, arms, best=moving, gap=0.1, rewards, noise, degrees, link, moves, late)'
    """
    return [f"{kind}({', '.join(_asked_of(GENERATORS[kind]))})" for kind in sorted(GENERATORS)]


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
