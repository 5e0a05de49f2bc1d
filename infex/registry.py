"""Every built-in thing by its name: as a record (plain data, and back), as an expression, and as a label.

A record is `{"kind": "LinUCB", "version": 1, "delta": 0.01, ...}`, with every setting. All other names of a
thing are views of its kind and settings. An expression is written like the Python that makes the thing, with
defaults left out, the brackets of a call without arguments too, and words without quotes:
`Infex(LinUCB(delta=0.001), every(100), data=own)`; `parse` reads it back. A label is the expression, or as
much of it as can be said of a thing that holds a user's code. A stream name is the expression as it was when
streams got their names.

Policies and models are found where their packages list them. What is made by a function is an entry of
`MADE` or `MAPS`. Problems are registered by `infex.lab.environments`.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import types
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from infex import features, models, policies, schedules
from infex.arrays import Floats, brief, fitting, plain_scalar
from infex.checks import DATA_KINDS, hint, plain, refuse_attribute, settings_by_name, whole
from infex.errors import InfexError, InvalidExpression, InvalidRecord, NoRecord, SparseExploration
from infex.features.base import encoder_of
from infex.models.layout import ArmRow, DesignRow
from infex.policies.base import DEFAULT_DELTA, InfexState, hook
from infex.policies.choice import Reason, check_policy_state
from infex.policies.conservative import Conservative, ConservativeState
from infex.policies.controls import Guarded, GuardedState, Limited, Paused
from infex.policies.doubt import Doubtful, Ledger, LedgerState
from infex.policies.ensemble import EnsembleState
from infex.policies.exp2 import WeightsState
from infex.policies.greedy import GreedyFirstState
from infex.policies.last_play import LastPlay
from infex.policies.layered import LayersState
from infex.policies.phased import PhaseState, Quota
from infex.policies.ucb import SwitchingState
from infex.policies.until_certain import CertainState, UntilCertain
from infex.schedules.counted import Counted, FromCount, Logarithmic, Power, Stretched

Settings = dict[str, Any]
Record = dict[str, Any]
VERSION = 1
LONGEST_TEXT = 60  # characters of a setting in a label
DEEPEST = 6  # levels of nesting in a label


# Kinds


class Entry(NamedTuple):
    """One kind of thing: its name, its class, what makes it, and the arguments that make an equal one.

    `settings` gives None for a thing that this entry does not make, or that holds a user's function.
    """

    name: str
    kind: type
    make: Callable[..., Any]
    settings: Callable[[Any], Settings | None] = settings_by_name


def _dataclasses_of(package: types.ModuleType, method: str) -> dict[str, Entry]:
    """The dataclasses that a package exports and that have a method."""
    kinds = [each for each in vars(package).values() if isinstance(each, type)]
    own = [each for each in kinds if dataclasses.is_dataclass(each) and callable(getattr(each, method, None))]
    return {kind.__name__: Entry(kind.__name__, kind, kind) for kind in own}


def _target(kind: type[Stretched | Power | Logarithmic]) -> Callable[[Any], Settings | None]:
    return lambda counted: {"r": counted.target.r} if type(counted.target) is kind else None


def _without_code(settings: Settings) -> Settings | None:
    """The settings of a feature map; None if a user's code encodes its contexts."""
    if settings["context"] is None:
        return {name: value for name, value in settings.items() if name != "context"}
    return settings if isinstance(settings["context"], features.ContextTable | features.ClipNorm) else None


def _disjoint(disjoint: features.Disjoint) -> Settings | None:
    arms = disjoint.count if disjoint.labels is None else list(disjoint.labels)
    context = {"context_dim": disjoint.context_dim, "longest": disjoint.longest, "context": disjoint.context}
    return _without_code({"arms": arms} | context)


def _interactions(interactions: features.Interactions) -> Settings | None:
    return _without_code(settings_by_name(interactions))


def _hybrid(hybrid: features.Hybrid) -> Settings | None:
    shared = hybrid.shared
    if not isinstance(shared, features.Interactions) or _interactions(shared) is None:
        return None
    return {"shared": shared, "own": list(hybrid.own)}


def _paused(paused: Paused) -> Settings | None:
    return settings_by_name(paused) if paused.by_rounds and not paused.catches_up else None


def _catching_up(paused: Paused) -> Settings | None:
    return {"schedule": paused.schedule, "at_most": paused.at_most} if paused.catches_up else None


def _union(members: list[Any]) -> schedules.Schedule:
    return schedules.union(*members)


MADE = (
    Entry("every", schedules.Every, schedules.every, lambda e: {"m": e.period, "offset": e.offset}),
    Entry("listed", schedules.Listed, schedules.listed, lambda s: {"rounds": list(s.rounds)}),
    Entry("jittered", schedules.Jittered, schedules.jittered, lambda s: {"m": s.period, "seed": s.seed}),
    Entry("stretched", Counted, schedules.stretched, _target(Stretched)),
    Entry("power", Counted, schedules.power, _target(Power)),
    Entry("logarithmic", Counted, schedules.logarithmic, _target(Logarithmic)),
    Entry("union", schedules.Union, _union, lambda u: {"members": list(u.members)}),
    Entry("budget", schedules.Budget, policies.budget, lambda b: settings_by_name(b) | {"window": None}),
    Entry("budget", Limited, policies.budget),
    Entry("guarded", Guarded, policies.guarded),
    Entry("conservative", Conservative, policies.conservative),
    Entry("doubtful", Doubtful, policies.doubtful),
    Entry("ledger", Ledger, policies.ledger),
    Entry("until_certain", UntilCertain, policies.until_certain),
    Entry("paused", Paused, policies.paused, _paused),
    Entry("catching_up", Paused, policies.catching_up, _catching_up),
)
MAPS = (
    Entry("disjoint", features.Disjoint, features.disjoint, _disjoint),
    Entry("interactions", features.Interactions, features.interactions, _interactions),
    Entry("hybrid", features.Hybrid, features.hybrid, _hybrid),
    Entry("table", features.ContextTable, features.table),
    Entry("clip_norm", features.ClipNorm, features.clip_norm),
)
POLICIES: Mapping[str, Entry] = _dataclasses_of(policies, "choose")
ESTIMATORS: Mapping[str, Entry] = _dataclasses_of(models, "new_model")
SCHEDULES: Mapping[str, Entry] = {entry.name: entry for entry in MADE}

BY_NAME: dict[str, Entry] = {}
BY_KIND: dict[type, tuple[Entry, ...]] = {}
NAMES: dict[str, dict[str, Callable[..., Any]]] = {}  # what an expression may name: makers by name, by kind
PACKAGES_ABOVE = ("infex.lab.environments",)  # whose kinds are registered once they are imported


def register(*entries: Entry, kind: str | None = None) -> None:
    """Makes kinds of things known, so that they have records and labels; packages above this one call it.

    With a `kind`, such as "policy", expressions can name them. A misspelt attribute of a thing is refused by
    its name from here on.
    """
    for entry in entries:
        BY_NAME[entry.name] = entry
        BY_KIND[entry.kind] = (*BY_KIND.get(entry.kind, ()), entry)
        entry.kind.__setattr__ = refuse_attribute  # type: ignore[method-assign, assignment]
        if kind is not None:
            NAMES.setdefault(kind, {})[entry.name] = entry.make


register(*POLICIES.values(), kind="policy")
register(*MADE, kind="schedule")
register(*ESTIMATORS.values(), kind="estimator")
register(*MAPS)
NAMES["schedule"] |= {"always": schedules.always, "never": schedules.never}
del NAMES["schedule"]["union"]  # it is written with `|`


def entry_of(thing: object) -> tuple[Entry, Settings] | None:
    """The entry of a thing and its settings; None if it is not built in, or holds a user's code."""
    found = ((entry, entry.settings(thing)) for entry in BY_KIND.get(type(thing), ()))
    return next(((entry, settings) for entry, settings in found if settings is not None), None)


# Records


class Converter(NamedTuple):
    """How things of a package above this one become records, and are read from them."""

    to_record: Callable[[Any], Record]
    from_record: Callable[[Record], Any]


CONVERTERS: dict[type, Converter] = {}  # `infex.bandit` adds its decisions


def to_record(thing: object) -> Record:
    """A built-in policy, schedule, estimator, feature map, environment or decision as plain data, for JSON.

    NoRecord is raised if the `thing` is none of these, or holds a function of yours.

    >>> from infex import LinUCB
    >>> to_record(LinUCB(delta=0.05))["delta"]
    0.05
    """
    if type(thing) in CONVERTERS:
        return CONVERTERS[type(thing)].to_record(thing)
    found = entry_of(thing)
    if found is None:
        raise NoRecord(
            f"{type(thing).__name__} is no built-in kind, or holds code of yours: it has no record"
        )
    entry, settings = found
    return {"kind": entry.name, "version": VERSION} | {
        name: _plain(value) for name, value in settings.items()
    }


def from_record(record: object) -> Any:
    """The thing that a `record` is of.

    >>> from infex import LinUCB
    >>> from_record(to_record(LinUCB(delta=0.05))) == LinUCB(delta=0.05)
    True
    """
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        raise InvalidRecord("a record must be a mapping that names its kind")
    for kind, converter in CONVERTERS.items():
        if kind.__name__ == record["kind"]:
            return converter.from_record(record)
    if record["kind"] not in BY_NAME:
        for package in PACKAGES_ABOVE:
            importlib.import_module(package)
    entry = BY_NAME.get(record["kind"])
    if entry is None:
        raise InvalidRecord(f"no built-in thing is called {record['kind']!r}")
    if record.get("version") != VERSION:
        raise InvalidRecord(
            f"version {record.get('version')!r} of {entry.name} is not known here, only {VERSION}"
        )
    settings = {name: _made(value) for name, value in record.items() if name not in ("kind", "version")}
    try:
        return entry.make(**settings)
    except (TypeError, InfexError) as error:
        raise InvalidRecord(f"the record of {entry.name} cannot be made: {error}") from None


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return to_record(value)


def _made(value: object) -> Any:
    if isinstance(value, list):
        return [_made(part) for part in value]
    return from_record(value) if isinstance(value, dict) else value


def from_record_quietly(record: object) -> Any:
    """`from_record` without the warning that whoever made the thing first has seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)
        return from_record(record)


def record_of(thing: object) -> Record | None:
    """The record of a thing; None for what has none."""
    with contextlib.suppress(NoRecord):
        return None if thing is None else to_record(thing)
    return None


def describe(thing: object) -> Any:
    """A record; or what can be said of a thing that has none: its class, and those settings that are data.

    Two things whose descriptions differ are different; with a user's code the reverse need not hold.
    """
    thing = plain_scalar(thing)
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if (record := record_of(thing)) is not None:
        return record
    if isinstance(thing, tuple | list):
        return [describe(part) for part in thing]
    found: dict[str, Any] = {"class": type(thing).__qualname__}
    if isinstance(thing, features.FeatureMap):
        return found | _describe_map(thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return found | {name: describe(value) for name, value in settings_by_name(thing).items()}
    base = hook(thing, "base")
    return found if base is None else found | {"base": describe(base)}


def _describe_map(map_: features.FeatureMap) -> dict[str, Any]:
    labels = None if map_.labels is None else list(map_.labels)
    found: dict[str, Any] = {"labels": labels, "count": map_.count}
    if isinstance(map_, features.Joined):
        found |= {"longest": map_.longest}
    if (encoder := encoder_of(map_)) is not None:
        found |= {"longest": encoder.longest, "names": list(encoder.names)}
    if isinstance(map_, features.Disjoint):
        found |= {"context_dim": map_.context_dim}
    if isinstance(map_, features.Hybrid):
        found |= {"shared": describe(map_.shared), "own": list(map_.own)}
        found |= {"reader": describe(map_.reader), "longest": map_.longest}
    return found


def difference(before: Any, now: Any, name: str = "it") -> str:
    """Where two descriptions differ first."""
    if isinstance(before, dict) and isinstance(now, dict) and set(before) == set(now):
        kinds = [(part.get("kind"), part.get("class")) for part in (before, now)]
        if kinds[0] == kinds[1]:
            for word in before:
                if before[word] != now[word]:
                    return difference(before[word], now[word], word)
    return f"{name} is {_brief(before)}, not {_brief(now)}"


def _brief(value: object) -> str:
    if isinstance(value, dict) and "kind" in value:
        with contextlib.suppress(InfexError):
            return label_of(from_record_quietly(value))
    return brief(value, most=60)


# Expressions

Unsaid = Mapping[str, float]
NOTHING_UNSAID: Unsaid = {}
ALWAYS_SAID = {("jittered", "seed")}  # though they have defaults
KINDS_ASKED = {  # by names of arguments
    "base": "policy",
    "greedy": "policy",
    "schedule": "schedule",
    "when": "schedule",
}


def expression(thing: object, unsaid: Unsaid = NOTHING_UNSAID) -> str:
    """A policy, a schedule or an estimator as an expression that `parse` reads back.

    A setting that has its default, or the value that `unsaid` has under its name, is left out.

    >>> from infex import Infex, LinUCB, every
    >>> expression(Infex(LinUCB(delta=1e-3), every(20), data="own"))
    'Infex(LinUCB(delta=0.001), every(20), data=own)'
    """
    found = entry_of(thing)
    if found is None or (not is_named(found[0].name) and found[0].name != "union"):
        raise InvalidExpression(f"not in the catalogue: {type(thing).__name__}")
    (name, _, make, _), settings = found
    if name == "union":
        return " | ".join(expression(member, unsaid) for member in settings["members"])
    if (name, settings.get("m")) == ("every", 1):
        return "always()"
    if name == "listed":
        return f"listed({settings['rounds']})" if settings["rounds"] else "never()"
    arguments = []
    for word, parameter in parameters_of(make).items():
        value, default = settings[word], parameter.default
        if word in unsaid and value in (None, unsaid[word]):
            continue
        text = argument_text(value, unsaid)
        if default is parameter.empty:
            arguments.append(text)
        elif (name, word) in ALWAYS_SAID or text != argument_text(default, unsaid):
            arguments.append(f"{word}={text}")
    return f"{name}({', '.join(arguments)})" if arguments else name


def argument_text(value: object, unsaid: Unsaid = NOTHING_UNSAID) -> str:
    """A number, a word, None, a thing or several of them as an argument in an expression."""
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if value is None or isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):  # as a tuple: a list in a sweep stands for its values in turn
        return f"({', '.join(argument_text(each, unsaid) for each in value)}{',' if len(value) == 1 else ''})"
    return plain(value) if isinstance(value, float) else expression(value, unsaid)


def is_named(name: str) -> bool:
    """Can an expression name it?"""
    return any(name in makers for makers in NAMES.values())


def has_expression(thing: object) -> bool:
    """Is it built in with all that it holds, so that an expression says all of it?"""
    with contextlib.suppress(InvalidExpression):
        return bool(expression(thing))
    return False


def parse(text: str, kind: str | None = None) -> Any:
    """The policy, the schedule or the estimator that an expression names; of one `kind`, if that is said.

    >>> parse("Infex(LinTS, every(100), data=own)").data
    'own'
    """
    found = Reader(text).read(syntax_tree(text), kind or "thing")
    if entry_of(found) is None:
        raise InvalidExpression(f"{text!r} names no {kind or 'policy, schedule or estimator'}")
    return found


def syntax_tree(text: str, given: str | None = None) -> ast.expr:
    """The text of an expression as Python reads it; errors show what was `given` in its place."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (AttributeError, SyntaxError, ValueError):
        shown = text if given is None else given
        raise InvalidExpression(f"not an expression like 'Infex(LinUCB, every(20))': {shown!r}") from None


class Reader:
    """Makes what the nodes of an expression's syntax tree say; `text` is the expression, for errors.

    A name of the catalogue is called, with or without brackets. A list or tuple is a list of values.
    Schedules are joined by `|`. Any other bare word is text, unless a thing of a kind is asked for: a
    "policy", a "schedule", an "estimator", or a "thing" of any of them. Nothing is ever imported.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.expr, kind: str | None) -> Any:
        """What a node stands for; `kind` is what is asked for there, if anything."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                return node.value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.read(item, kind) for item in items]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                side = str(kind) if kind in NAMES else "schedule"
                return self.call("|", [self.read(each, side) for each in (left, right)], {}, kind)
            case ast.Name(id=name):
                return self.call(name, None, {}, kind) if kind or self.knows(name) else name
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                asked = self.asked(name, kind)
                given = [self.read(each, asked.get(place)) for place, each in enumerate(args)]
                named = {str(word.arg): self.read(word.value, asked.get(word.arg)) for word in keywords}
                return self.call(name, given, named, kind)
            case ast.Attribute(value=ast.Name() | ast.Attribute() as module, attr=name):
                raise InvalidExpression(
                    f"cannot read {self.written(node)!r} in {self.text!r}; an object of yours is written "
                    f"with a colon: '{self.written(module)}:{name}'"
                )
        raise InvalidExpression(f"cannot read {self.written(node)!r} in {self.text!r}")

    def written(self, node: ast.expr) -> str:
        """A node as text."""
        return ast.unparse(node)

    def knows(self, name: str) -> bool:
        """Does a name stand for something that is called?"""
        return is_named(name)

    def asked(self, name: str, kind: str | None) -> dict[int | str | None, str]:
        """Which kinds of things the arguments of a name are, by place and by name."""
        known = enumerate(parameters_of(self.maker(name, kind)))
        return {
            key: KINDS_ASKED[word] for place, word in known if word in KINDS_ASKED for key in (place, word)
        }

    def call(self, name: str, args: list[Any] | None, named: Settings, kind: str | None) -> Any:
        """What a name makes of its arguments; `args` is None where it has no brackets."""
        make = schedules.union if name == "|" else self.maker(name, kind)
        try:
            return make(*(args or ()), **named)
        except (TypeError, InfexError) as error:
            raise InvalidExpression(f"in {self.text!r}: {error}".replace(".__init__()", "()")) from None

    def maker(self, name: str, kind: str | None) -> Callable[..., Any]:
        """The class or function of a name; one that is not known, or is of another kind, is refused."""
        known: dict[str, Callable[..., Any]] = {}
        for each, makers in NAMES.items():
            known |= makers if kind in (each, "thing", None) else {}
        if name not in known:
            article = "an" if kind == "estimator" else "a"
            which = f"{article} {kind} is one of" if kind in NAMES else "known are"
            listed = ", ".join(sorted(known))
            raise InvalidExpression(
                f"unknown name {name!r} in {self.text!r}{hint(name, known)}; {which} {listed}"
            )
        return known[name]


@cache
def parameters_of(make: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a function or a class by name; none of what has no signature, as in C."""
    with contextlib.suppress(TypeError, ValueError):
        return dict(inspect.signature(make).parameters)
    return {}


# Labels and names of streams


def label_of(thing: object, depth: int = DEEPEST) -> str:
    """A thing in tables and messages: its expression, or its kind with the settings that are not defaults.

    Of infex's own things, settings without a default are positional. No `repr` of a user's object is called:
    it may raise anything, or show an address. What stands deeper than `depth` is left out.

    >>> from infex import Infex, LinUCB, every
    >>> label_of(Infex(LinUCB(scale=0.5), every(20), data="own"))
    'Infex(LinUCB(scale=0.5), every(20), data=own)'
    """
    with contextlib.suppress(InvalidExpression):
        return expression(thing)
    if depth == 0:
        return "..."
    if isinstance(thing, schedules.Union):
        return " | ".join(label_of(member, depth - 1) for member in thing.members)
    (kind, settings, defaults), words = described(thing), []
    for name, value in settings.items():
        if name not in defaults and type(thing).__module__.startswith("infex."):
            words.append(setting_text(value, depth))
        elif name not in defaults or not _same_data(value, defaults[name]):
            words.append(f"{name}={setting_text(value, depth)}")
    return f"{kind}({', '.join(words)})" if words else kind


def setting_text(value: object, depth: int = DEEPEST) -> str:
    """A setting as text: numbers and words as an expression has them, things by their labels."""
    if isinstance(value, str) and value.isidentifier():
        return value
    if type(value) is int or type(value) is float:
        return plain(value) if abs(value) < float("inf") else repr(value)
    if _is_data(value):
        text = repr(value)
        return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."
    if isinstance(value, np.ndarray):
        return f"array{value.shape}".replace(",)", ")")
    return label_of(value, depth - 1)


def stream_name(thing: object) -> str:
    """What the stream of a policy's draws is named for: its expression, or what it is made of.

    Its module is left out, as that may be `__main__`. A delta of 0.01 is left out too: that was the default
    when streams got their names.
    """
    with contextlib.suppress(InvalidExpression):
        return expression(thing, {"delta": DEFAULT_DELTA})
    kind = type(thing).__qualname__
    if isinstance(thing, policies.Infex):
        parts = [stream_name(thing.base), stream_name(thing.schedule), thing.data, thing.ties]
        model = [] if thing.greedy is None else [stream_name(thing.greedy)]
        return f"{kind}({', '.join(parts + model)})"
    base = hook(thing, "base")
    return kind if base is None else f"{kind}({stream_name(base)})"


class Described(NamedTuple):
    """The kind of a thing, its settings by name, and the defaults of those that have one."""

    kind: str
    settings: Settings
    defaults: Settings


def described(thing: object) -> Described:
    """The kind and the settings of a thing, read without calling any code of a user's but properties.

    Those of a user's own objects are the fields of a dataclass, or the parameters of `__init__` that the
    object keeps under the same names.

    >>> from infex import every
    >>> described(every(20))
    Described(kind='every', settings={'m': 20, 'offset': 0}, defaults={'offset': 0})
    """
    found = entry_of(thing)
    if found is not None:
        return Described(found[0].name, found[1], _defaults(found[0].make))
    kind: Any = type(thing)
    if isinstance(thing, Counted) and isinstance(thing.target, FromCount):
        settings: Settings = {"g": thing.target.function, "grows": thing.growth}
        return Described("from_count", settings, {"grows": None})
    if isinstance(thing, types.FunctionType | type):
        return Described(thing.__qualname__, {}, {})
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return Described(kind.__qualname__, settings_by_name(thing), _field_defaults(kind))
    held = thing.__dict__ if "__dict__" in dir(kind) else {}
    settings = {name: held[name] for name in parameters_of(kind) if name in held}
    return Described(kind.__qualname__, settings, _defaults(kind))


def _defaults(make: Any) -> Settings:
    return {
        name: each.default for name, each in parameters_of(make).items() if each.default is not each.empty
    }


def _field_defaults(kind: Any) -> Settings:
    found = {}
    for field in dataclasses.fields(kind):
        if field.init and field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.init and field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found


def _is_data(value: object) -> bool:
    """Is it made of numbers and texts alone, so that Python's own `repr` writes all of it?"""
    if type(value) in DATA_KINDS or isinstance(value, np.generic):
        return True
    parts: Any = [*value, *value.values()] if type(value) is dict else value
    return type(value) in (list, tuple, dict) and all(map(_is_data, parts))


def _same_data(one: object, other: object) -> bool:
    """Only data are compared: a user's `==` may do anything."""
    return one is other or (_is_data(one) and _is_data(other) and one == other)


# Policy states, rows that rewards are learnt on, and reasons, as parts of a decision's record

POLICY_STATES: dict[str, type[Any]] = {  # by the names that files have
    "InfexNote": InfexState,
    "FirstNote": GreedyFirstState,
    "Switched": SwitchingState,
    "GuardedState": GuardedState,
    "CertainState": CertainState,
    "LedgerState": LedgerState,
    "ConservativeState": ConservativeState,
    "EnsembleState": EnsembleState,
    "PhaseState": PhaseState,
    "Quota": Quota,
    "LayersState": LayersState,
    "WeightsState": WeightsState,
    "LastPlay": LastPlay,
}
STATE_NAMES = {state: kind for kind, state in POLICY_STATES.items()}
REASONS = {str(reason): reason for reason in Reason}


def policy_state_to_record(state: object) -> Any:
    """A policy state as plain data: a named tuple keeps its names, and a tuple is told from a list."""
    if type(state) in STATE_NAMES:
        parts = state._asdict()  # type: ignore[attr-defined]
        return {"kind": STATE_NAMES[type(state)]} | {
            name: policy_state_to_record(part) for name, part in parts.items()
        }
    if isinstance(state, tuple):
        return {"kind": "tuple", "parts": [policy_state_to_record(part) for part in state]}
    if isinstance(state, dict):
        return {"kind": "dict", "parts": {name: policy_state_to_record(part) for name, part in state.items()}}
    return [policy_state_to_record(part) for part in state] if isinstance(state, list) else state


def policy_state_from_record(record: object) -> Any:
    """The policy state that a record is of."""
    if isinstance(record, list):
        return [policy_state_from_record(part) for part in record]
    if not isinstance(record, dict):
        check_policy_state(record)
        return record
    kind, parts = record.get("kind"), record.get("parts")
    if kind == "tuple" and isinstance(parts, list):
        return tuple(policy_state_from_record(part) for part in parts)
    if kind == "dict" and isinstance(parts, dict):
        return {str(name): policy_state_from_record(part) for name, part in parts.items()}
    if kind not in POLICY_STATES:
        raise InvalidRecord(f"no policy state is called {kind!r}")
    fields = {name: policy_state_from_record(part) for name, part in record.items() if name != "kind"}
    try:
        state = POLICY_STATES[kind](**fields)
    except TypeError as error:
        raise InvalidRecord(f"the policy state {kind} cannot be read: {error}") from None
    for name, declared in get_type_hints(POLICY_STATES[kind]).items():
        value = getattr(state, name)
        hints = (declared,) if get_origin(declared) is tuple else get_args(declared) or (declared,)
        if not any(_is_of(value, part) for part in hints):
            raise InvalidRecord(f"{name} of the policy state {kind} cannot be {value!r}")
    return state


def _is_of(value: object, declared: Any) -> bool:
    """Has a part of a policy state its type? An int is a float too; `Any` is not checked."""
    if get_origin(declared) is tuple:
        return isinstance(value, tuple)
    if declared not in (bool, int, float, str, type(None)):
        return True
    if isinstance(value, bool):
        return declared is bool
    return isinstance(value, int | float if declared is float else declared)


def row_record(on: DesignRow) -> Any:
    """What a reward is learnt on, as plain data."""
    if isinstance(on, ArmRow):
        return {"arm": on.arm, "context": on.context.tolist()}
    return on if isinstance(on, int) else on.tolist()


def row_of(record: object) -> DesignRow:
    """What a record says a reward is learnt on."""
    if isinstance(record, dict):
        arm = whole("the arm that is learnt on", record["arm"], least=0, error=InvalidRecord)
        return ArmRow(arm, fitting("on", record["context"], (-1,)))
    if isinstance(record, list):
        features: Floats = fitting("on", record, (-1,))
        return features
    return whole("on", record, error=InvalidRecord)


def reason_of(text: str) -> Reason | str:
    """A reason by its text: one of infex's own, or a user's."""
    return REASONS.get(text, text)
