"""Expressions as sweeps read them: those of the registry, with lists of settings and a user's own objects.

`Infex(LinUCB(scale=[0.1, 0.5]), my.rules:Doubling(c=3))` names two policies. A list stands for its values,
one after the other; a value that is itself a list is written as a tuple, `(1, 2)`. Python finds the objects
of a user's under `package.module:object`; to name a thing none of them is loaded.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, final

from infex.checks import imported, safe_repr
from infex.errors import InfexError, InfexWarning, InvalidExpression, InvalidSetting
from infex.policies import Infex
from infex.registry import Reader, argument_text, entry_of, parameters_of, syntax_tree

Kind = Literal["policy", "schedule", "estimator"]
VERBS = {"policy": "choose", "schedule": "explores", "estimator": "new_model"}
REFERENCE = re.compile(r"""('[^']*'|"[^"]*")|([\w.]+:[\w.]+)""")
LIST_TAKERS = ("listed",)  # whose own value is a list
Made = TypeVar("Made")


class Reading(NamedTuple):
    """One thing that a text names: its label and the labels of its parts; `make` gives the thing itself.

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
    reader = ReferenceReader(text)
    found = []
    for node, varied in grid(reader.tree, reader):
        thing = reader.read(node, kind)
        if not isinstance(thing, DeferredCall) and entry_of(thing) is None:
            raise InvalidExpression(f"{text!r} names no {kind}")
        given = {"base": thing.base, "schedule": thing.schedule} if isinstance(thing, Infex) else {}
        if isinstance(thing, DeferredCall) and thing.name == "Infex":
            given = thing.arguments()
        base, schedule = (text_of(given[name]) if name in given else None for name in ("base", "schedule"))
        found.append(Reading(text_of(thing), base, schedule, varied, functools.partial(_made, thing)))
    return found


def references(text: str) -> list[str]:
    """The objects of a user's that an expression names; none of them is loaded.

    >>> references("Infex(my.rules:Base('a:b'), every(20))")
    ['my.rules:Base']
    """
    return [own for _, own in REFERENCE.findall(text) if own]


def read_calls(text: str) -> list[Called]:
    """What a name with named settings in brackets says, once for each value of its lists.

    >>> [(each.name, each.texts) for each in read_calls("gaussian(dim=[2, 3], rewards=sign)")]
    [('gaussian', {'dim': '2', 'rewards': 'sign'}), ('gaussian', {'dim': '3', 'rewards': 'sign'})]
    """
    reader = ReferenceReader(text)
    found = []
    for node, varied in grid(reader.tree, reader):
        keywords: list[ast.keyword] = []
        match node:
            case ast.Name(id=name):
                pass
            case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
                pass
            case _:
                raise InvalidExpression(f"not a name with named settings in brackets: {text!r}")
        settings = {str(word.arg): reader.read(word.value, None) for word in keywords}
        made = {word: _made(value) for word, value in settings.items()}
        texts = {word: text_of(value) for word, value in settings.items()}
        found.append(Called(reader.references.get(name, name), made, texts, varied))
    return found


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


# Lists that multiply out into a grid

Alternative = tuple[ast.expr, tuple[str, ...]]


def grid(node: ast.expr, reader: Reader) -> list[Alternative]:
    """The expressions that one with lists stands for, each with the settings that vary."""
    match node:
        case ast.BinOp():
            sides = itertools.product(grid(node.left, reader), grid(node.right, reader))
            return [(ast.BinOp(left, node.op, right), one + other) for (left, one), (right, other) in sides]
        case ast.Call(func=func, args=args, keywords=words) if reader.written(func) not in LIST_TAKERS:
            names = [None] * len(args) + [word.arg for word in words]
            given = zip(names, [*args, *(word.value for word in words)], strict=True)
            found: list[Alternative] = []
            for chosen in itertools.product(*(_values(func, *each, reader) for each in given)):
                values, varied = [value for value, _ in chosen], (word for _, some in chosen for word in some)
                keywords = map(ast.keyword, names[len(args) :], values[len(args) :])
                found.append((ast.Call(func, values[: len(args)], list(keywords)), tuple(varied)))
            return found
    return [(node, ())]


def _values(func: ast.expr, name: str | None, value: ast.expr, reader: Reader) -> list[Alternative]:
    """The values that one argument takes in turn; a list in a list is one value.

    A list says what varies: `scale=0.1`, or `every(5)` where an argument has no name.
    """
    if not isinstance(value, ast.List):
        return grid(value, reader)
    if not value.elts:
        raise InvalidExpression(f"an empty list in {reader.text!r}; say one value or more")
    found = []
    for item in value.elts:
        for each, varied in [(item, ())] if isinstance(item, ast.List) else grid(item, reader):
            word, called = reader.written(each), reader.written(func)
            if name is not None:
                word = f"{name}={word}"
            elif called != "Infex":
                word = f"{called}({word})"
            found.append((each, (word, *varied)))
    return found


# Objects of a user's


class ReferenceReader(Reader):
    """Reads `package.module:object` too; whatever holds such an object is made when it is asked for."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.references: dict[str, str] = {}  # by names that Python can read
        self.tree = syntax_tree(REFERENCE.sub(self._replaced, text), text)

    def _replaced(self, match: re.Match[str]) -> str:
        if match[1] is not None:  # in quotes
            return match[1]
        name = f"reference_{len(self.references)}_"
        self.references[name] = match[2]
        return name

    def _reference_of(self, match: re.Match[str]) -> str:
        return self.references.get(match[0], match[0])

    def written(self, node: ast.expr) -> str:
        return re.sub(r"reference_\d+_", self._reference_of, super().written(node))

    def read(self, node: ast.expr, kind: str | None) -> Any:
        found = super().read(node, kind)
        if isinstance(found, list) and any(isinstance(each, DeferredCall) for each in found):
            raise InvalidExpression(f"cannot read {self.text!r}: an object of yours stands where none can")
        return found

    def knows(self, name: str) -> bool:
        return name in self.references or super().knows(name)

    def asked(self, name: str, kind: str | None) -> dict[int | str | None, str]:
        return {} if name in self.references else super().asked(name, kind)

    def call(self, name: str, args: list[Any] | None, named: dict[str, Any], kind: str | None) -> Any:
        if name in self.references:
            return DeferredCall(self, self.references[name], args, named, kind)
        if any(isinstance(each, DeferredCall) for each in (*(args or ()), *named.values())):
            return DeferredCall(self, name, args, named, kind)
        return super().call(name, args, named, kind)


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeferredCall:
    """A call of a user's object, or with one among its arguments: it has a label before it is made."""

    reader: Reader
    name: str  # of the catalogue, `package.module:object`, or "|"
    args: list[Any] | None  # None without brackets
    named: dict[str, Any]
    kind: str | None  # what is asked for where it stands

    def arguments(self) -> dict[str, Any]:
        """The arguments of a name of the catalogue by their names, in its own order."""
        try:
            signature = inspect.signature(self.reader.maker(self.name, self.kind))
            return dict(signature.bind(*(self.args or ()), **self.named).arguments)
        except TypeError as error:
            raise InvalidExpression(f"in {self.reader.text!r}: {self.name}() {error}") from None

    def label(self) -> str:
        """What was written, in the order of what is built in, and without its defaults."""
        if self.name == "|":
            return " | ".join(map(text_of, self.args or ()))
        if ":" in self.name:
            words = [*map(text_of, self.args or ()), *(f"{n}={text_of(v)}" for n, v in self.named.items())]
        else:
            words, known = [], parameters_of(self.reader.maker(self.name, self.kind))
            for name, value in self.arguments().items():
                text, default = text_of(value), known[name].default
                if default is inspect.Parameter.empty:
                    words.append(text)
                elif text != argument_text(default):
                    words.append(f"{name}={text}")
        return f"{self.name}({', '.join(words)})" if words else self.name

    def make(self) -> Any:
        """What the call gives, once the objects in it are loaded."""
        args = None if self.args is None else [_made(each) for each in self.args]
        named = {name: _made(each) for name, each in self.named.items()}
        if ":" not in self.name:
            return Reader(self.reader.text).call(self.name, args, named, self.kind)
        source = load(self.name)
        if args is None:
            verb = VERBS.get(str(self.kind))
            is_meant = verb is not None and not isinstance(source, type) and verb in dir(source)
            if verb is None or is_meant or not callable(source):
                return source
        elif not callable(source):
            raise InvalidSetting(f"{self.name!r} takes no settings: it is {safe_repr(source)}")
        words = [*map(safe_repr, args or ()), *(f"{n}={safe_repr(v)}" for n, v in named.items())]
        how = f"with {', '.join(words)}" if words else "without arguments"
        try:
            return source(*(args or ()), **named)
        except Exception as error:  # a user's code may raise anything
            raise InvalidSetting(f"{self.name!r} cannot be made {how}: {error}") from error


def load(reference: str) -> Any:
    """The object that `package.module:object` names."""
    return imported(reference, InvalidSetting, f"cannot load {reference!r}")


def text_of(value: Any) -> str:
    """A thing, or data, as an expression writes it."""
    return value.label() if isinstance(value, DeferredCall) else argument_text(value)


def _made(value: Any) -> Any:
    return value.make() if isinstance(value, DeferredCall) else value
