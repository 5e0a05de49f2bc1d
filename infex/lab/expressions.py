"""Expressions as sweeps read them: the catalogue's, objects of a user's with settings, lists of settings.

`Infex(LinUCB(scale=[0.1, 0.5]), my.rules:Doubling(c=3))` names two policies. A list stands for its values,
one after the other; a value that is itself a list is written as a tuple, `(1, 2)`. Python finds the objects
of a user's under `package.module:object`; to name a thing none of them is loaded.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, final

from infex import registry, schedules
from infex.checks import imported, safe_repr
from infex.errors import InfexError, InfexWarning, InvalidExpression, InvalidSetting
from infex.registry import label_of, setting_text


def hint(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known name; nothing if none is near.

    >>> hint("horizont", ["horizon", "seeds"]), hint("x", ["horizon"])
    (' (did you mean horizon?)', '')
    """
    names = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.7)
    return f" (did you mean {names[nearest[0]]}?)" if nearest else ""


VERBS = {"policy": "choose", "schedule": "explores", "estimator": "new_model"}


def load(reference: str) -> Any:
    """The object that `package.module:object` names."""
    return imported(reference, InvalidSetting, f"cannot load {reference!r}")


def loaded(reference: str, kind: str | None) -> Any:
    """The object of a name, or what it makes without arguments where a thing of a kind is asked for."""
    source = load(reference)
    if kind is None or not callable(source):
        return source
    if not isinstance(source, type) and VERBS[kind] in dir(source):  # it may be called, and is what is meant
        return source
    return call(reference, (), {})


def call(reference: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What the function or class of a name makes with these settings."""
    source = load(reference)
    words = [*map(safe_repr, given), *(f"{name}={safe_repr(value)}" for name, value in named.items())]
    how = f"with {', '.join(words)}" if words else "without arguments"
    if not callable(source):
        raise InvalidSetting(f"{reference!r} takes no settings: it is {safe_repr(source)}")
    try:
        return source(*given, **named)
    except Exception as error:  # a user's code may raise anything
        raise InvalidSetting(f"{reference!r} cannot be made {how}: {error}") from error


REFERENCE = re.compile(r"""('[^']*'|"[^"]*")|([\w.]+:[\w.]+)""")
CATALOGUE = {
    "policy": registry.POLICIES,
    "schedule": {**registry.SCHEDULES, **registry.SHORTHANDS},
    "estimator": registry.ESTIMATORS,
}
KINDS_ASKED = {"base": "policy", "schedule": "schedule", "when": "schedule"}  # by names of arguments
LIST_TAKERS = ("listed",)  # whose own value is a list
Made = TypeVar("Made")
Kind = str  # "policy", "schedule", "estimator"


class Reading(NamedTuple):
    """One thing that a text names: its label, the labels of its parts, and how it is made.

    `varied` are the settings that a list gave it.
    """

    label: str
    base: str | None
    schedule: str | None
    varied: tuple[str, ...]
    make: Callable[[], Any]


class Called(NamedTuple):
    """A name with named settings in brackets, and each of these as text; `varied` are those of lists."""

    name: str
    settings: dict[str, Any]
    texts: dict[str, str]
    varied: tuple[str, ...]


def read(text: str, kind: Kind) -> list[Reading]:
    """All that an expression of a "policy", a "schedule" or an "estimator" names.

    >>> [each.label for each in read("Infex( LinUCB(scale=[0.1, 0.5]), every(1))", "policy")]
    ['Infex(LinUCB(scale=0.1), always())', 'Infex(LinUCB(scale=0.5), always())']
    >>> read("my.rules:Policy(size = 3)", "policy")[0].label
    'my.rules:Policy(size=3)'
    """
    tree, references = _tree(text)
    _refuse_strangers(tree, text, kind, references)
    return [_Reader(text, references).reading(*each, kind) for each in alternatives(tree, text)]


def read_calls(text: str) -> list[Called]:
    """What a name with named settings in brackets says, once for each value of its lists.

    >>> [(each.name, each.texts) for each in read_calls("gaussian(dim=[2, 3], rewards=sign)")]
    [('gaussian', {'dim': '2', 'rewards': 'sign'}), ('gaussian', {'dim': '3', 'rewards': 'sign'})]
    """
    tree, references = _tree(text)
    return [_Reader(text, references).called(*each) for each in alternatives(tree, text)]


def canonical(text: str, kind: Kind = "policy") -> str | None:
    """The label of the one thing that a text names; None if it is no expression, or names several.

    >>> canonical("Infex(LinUCB,every(1))"), canonical("ours")
    ('Infex(LinUCB, always())', None)
    """
    try:
        found = quietly(read, text, kind)
    except InfexError:
        return None
    return found[0].label if len(found) == 1 else None


def quietly(make: Callable[..., Made], *given: object) -> Made:
    """What a function gives, without infex's warnings: whoever played a policy has been warned of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfexWarning)
        return make(*given)


def _tree(text: str) -> tuple[ast.expr, dict[str, str]]:
    """Python's reading of a text, and the references in whose places it has names."""
    references: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        if match[1] is not None:  # in quotes
            return match[1]
        name = f"reference_{len(references)}_"  # a name that Python can read
        references[name] = match[2]
        return name

    try:
        return ast.parse(REFERENCE.sub(replaced, text).strip(), mode="eval").body, references
    except (SyntaxError, ValueError):
        raise InvalidExpression(f"not an expression like 'Infex(LinUCB, every(20))': {text!r}") from None


Alternative = tuple[ast.expr, tuple[str, ...]]


def alternatives(node: ast.expr, text: str) -> list[Alternative]:
    """The expressions that one with lists stands for, each with the settings that vary."""
    if isinstance(node, ast.BinOp):
        sides = itertools.product(alternatives(node.left, text), alternatives(node.right, text))
        return [(ast.BinOp(left, node.op, right), one + other) for (left, one), (right, other) in sides]
    return list(_calls(node, text)) if isinstance(node, ast.Call) and not _takes_lists(node) else [(node, ())]


def _calls(node: ast.Call, text: str) -> Iterator[Alternative]:
    """A call with every value of each of its arguments."""
    called, count = ast.unparse(node.func), len(node.args)
    given = [(None, each) for each in node.args] + [(word.arg, word.value) for word in node.keywords]
    for chosen in itertools.product(*(_values(value, text, called, name) for name, value in given)):
        values, names = [value for value, _ in chosen], [word.arg for word in node.keywords]
        words = [ast.keyword(*pair) for pair in zip(names, values[count:], strict=True)]
        yield (
            ast.Call(node.func, values[:count], words),
            tuple(itertools.chain(*(each for _, each in chosen))),
        )


def _takes_lists(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in LIST_TAKERS


def _values(node: ast.expr, text: str, called: str, name: str | None) -> list[Alternative]:
    """The values that one argument takes in turn; a list in a list is one value."""
    if not isinstance(node, ast.List):
        return alternatives(node, text)
    if not node.elts:
        raise InvalidExpression(f"an empty list in {text!r}; say one value or more")
    return [
        (value, (_varied(called, name, value), *varied))
        for item in node.elts
        for value, varied in ([(item, ())] if isinstance(item, ast.List) else alternatives(item, text))
    ]


def _varied(called: str, name: str | None, value: ast.expr) -> str:
    """What a list gave: `scale=0.1`, or `every(5)` where it has no name."""
    written = ast.unparse(value)
    alone = written if called == "Infex" else f"{called}({written})"
    return alone if name is None else f"{name}={written}"


@final
class _Reader:
    """Reads a text in which names have taken the place of references."""

    def __init__(self, text: str, references: dict[str, str]) -> None:
        self._text = text
        self._references = references

    def reading(self, node: ast.expr, varied: tuple[str, ...], kind: Kind) -> Reading:
        """One thing of those that the text names."""
        parts, words = self._parts(node), tuple(self._named_back(word) for word in varied)
        if self._holds(node):
            return Reading(self._label(node), *parts, words, lambda: self._thing(node, kind))
        thing = registry.parse_node(node, self._text)
        return Reading(label_of(thing), *parts, words, lambda: thing)

    def called(self, node: ast.expr, varied: tuple[str, ...]) -> Called:
        """A call with named settings, or a name alone."""
        keywords: list[ast.keyword] = []
        match node:
            case ast.Name(id=name):
                pass
            case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
                pass
            case _:
                raise InvalidExpression(f"not a name with named settings in brackets: {self._text!r}")
        named = {str(word.arg): word.value for word in keywords}
        return Called(
            self._references.get(name, name),
            {word: self._thing(value, None) for word, value in named.items()},
            {word: self._word(value) for word, value in named.items()},
            tuple(self._named_back(word) for word in varied),
        )

    def _named_back(self, written: str) -> str:
        for name, reference in self._references.items():
            written = written.replace(name, reference)
        return written

    def _parts(self, node: ast.expr) -> tuple[str | None, str | None]:
        """The labels of the base and of the schedule, if it is an `Infex`."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Infex"):
            return None, None
        named = {str(word.arg): word.value for word in node.keywords}
        given = dict(zip(("base", "schedule"), node.args, strict=False)) | named
        labels = [self._label(given[name]) if name in given else None for name in ("base", "schedule")]
        return labels[0], labels[1]

    def _holds(self, node: ast.expr) -> bool:
        return any(isinstance(each, ast.Name) and each.id in self._references for each in ast.walk(node))

    def _label(self, node: ast.expr) -> str:
        """What is written of a node; nothing of a user's is loaded for it."""
        if not self._holds(node):
            return label_of(registry.parse_node(node, self._text))
        match node:
            case ast.Name(id=name):
                return self._references[name]
            case ast.BinOp(left=left, right=right):
                return f"{self._label(left)} | {self._label(right)}"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                named = {str(word.arg): word.value for word in keywords}
                words = list(self._said(name, args, named))
                called = self._references.get(name, name)
                return f"{called}({', '.join(words)})" if words else called
        raise InvalidExpression(f"cannot read {self._text!r}: an object of yours stands where none can")

    def _said(self, name: str, args: list[ast.expr], named: dict[str, ast.expr]) -> Iterator[str]:
        """What stands in the brackets; of what is built in, in its own order and without defaults."""
        order = [] if name in self._references else list(_taken(name))
        given = dict(zip(order, args, strict=False)) | named
        yield from (self._word(each) for each in args[len(order) :])
        for word in [
            *(each for each in order if each in given),
            *(each for each in given if each not in order),
        ]:
            text, default = self._word(given[word]), _taken(name)[word].default if word in order else None
            if word in order and default is inspect.Parameter.empty:
                yield text
            elif word not in order or text != setting_text(default):
                yield f"{word}={text}"

    def _word(self, node: ast.expr) -> str:
        """An argument: a thing by its label, a bare word as it is, data as Python writes them."""
        if self._holds(node):
            return self._label(node)
        value = registry.parse_argument(node, self._text)
        if registry.entry_of(value) is not None:
            return label_of(value)
        return ast.unparse(node) if isinstance(node, ast.Call) else data_text(value)

    def _thing(self, node: ast.expr, kind: Kind | None) -> Any:
        """What a node stands for; where a kind is asked for, a reference to a class is called."""
        if not self._holds(node):
            return (
                registry.parse_node(node, self._text) if kind else registry.parse_argument(node, self._text)
            )
        match node:
            case ast.Name(id=name):
                return loaded(self._references[name], kind)
            case ast.BinOp(left=left, right=right):
                return schedules.union(self._thing(left, "schedule"), self._thing(right, "schedule"))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return self._made(name, *self._given(name, args, keywords))
        raise InvalidExpression(f"cannot read {self._text!r}: an object of yours stands where none can")

    def _given(
        self, name: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The things that stand in the brackets."""
        asked = {} if name in self._references else _asked(name)
        given = [self._thing(each, asked.get(place)) for place, each in enumerate(args)]
        return given, {str(word.arg): self._thing(word.value, asked.get(word.arg)) for word in keywords}

    def _made(self, name: str, given: Sequence[Any], named: dict[str, Any]) -> Any:
        if name in self._references:
            return call(self._references[name], given, named)
        make = registry.NAMES[name]
        try:
            inspect.signature(make).bind(*given, **named)
        except TypeError as error:
            raise InvalidExpression(f"in {self._text!r}: {name}() {error}") from None
        try:
            return make(*given, **named)
        except (TypeError, InfexError) as error:
            raise InvalidExpression(f"in {self._text!r}: {error}") from None


def data_text(value: object) -> str:
    """Numbers and texts, also in tuples, as an expression writes them."""
    if isinstance(value, list):
        return f"({', '.join(map(data_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value) if value is None or isinstance(value, bool) else registry.argument_text(value)


def _taken(name: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(registry.NAMES[name]).parameters


def _asked(name: str) -> dict[int | str | None, Kind]:
    """Which kinds of things the arguments of a name of the catalogue are, by place and by name."""
    known = [(place, word) for place, word in enumerate(_taken(name)) if word in KINDS_ASKED]
    return {each: KINDS_ASKED[pair[1]] for pair in known for each in pair}


def _refuse_strangers(node: ast.expr, text: str, kind: Kind, own: dict[str, str]) -> None:
    """Refuses names of anything but policies where a policy is due, and schedules where a schedule is.

    `own` are names that stand for a user's objects.
    """
    inner: list[tuple[ast.expr, str]] = []
    match node:
        case ast.BinOp(left=left, right=right):
            inner = [(left, kind), (right, kind)]
        case ast.List(elts=items):
            inner = [(item, kind) for item in items]
        case ast.Attribute(value=module, attr=name):
            raise InvalidExpression(
                f"cannot read {ast.unparse(node)!r} in {text!r}; an object of yours is written with a colon: "
                f"'{ast.unparse(module)}:{name}'"
            )
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name in own:
            pass
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name not in CATALOGUE[kind]:
            near, known = hint(name, CATALOGUE[kind]), ", ".join(sorted(CATALOGUE[kind]))
            a = "an" if kind == "estimator" else "a"
            raise InvalidExpression(f"unknown name {name!r} in {text!r}{near}; {a} {kind} is one of {known}")
        case ast.Call(func=ast.Name(id="Infex"), args=given):
            inner = list(zip(given, ("policy", "schedule"), strict=False))
        case ast.Call(args=given):
            inner = [(each, kind) for each in given]
    for each, what in inner:
        _refuse_strangers(each, text, what, own)
