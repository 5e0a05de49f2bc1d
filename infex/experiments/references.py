"""Objects of a user's inside an expression: `Infex(package.module:object, every(20))`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from infex.errors import InfexError, InvalidExpression
from infex.experiments.expressions import names_delta, refuse_strangers, tree_of
from infex.records import catalog

REFERENCE = re.compile(r"[\w.]+:[\w.]+")


class Named(NamedTuple):
    """What an expression stands for, its name in tables, its base's name, and whether it names a delta."""

    thing: Any
    label: str
    base: str | None = None
    has_delta: bool = False


def holds_references(text: str) -> bool:
    """Has an expression `package.module:object` in it, and is more than that?

    >>> holds_references("Infex(my.rules:policy, every(5))"), holds_references("my.rules:policy")
    (True, False)
    """
    return REFERENCE.search(text) is not None and "(" in text


def read(text: str, load: Callable[[str], Any]) -> Named:
    """The policy of an expression with references, each loaded by a function.

    >>> from infex import Greedy
    >>> named = read("Infex( my.rules:policy, every(5), data='own')", lambda reference: Greedy())
    >>> named.label, named.base
    ('Infex(my.rules:policy, every(5), data=own)', 'my.rules:policy')
    """
    references: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        name = f"reference_{len(references)}_"  # a name that Python can read
        references[name] = match[0]
        return name

    plain = REFERENCE.sub(replaced, text)
    tree = tree_of(plain)
    if tree is None:
        raise InvalidExpression(f"not an expression like 'Infex(my.module:policy, every(20))': {text!r}")
    refuse_strangers(tree, text, "policy", references)
    return _Reader(text, references, load).named(tree)._replace(has_delta=names_delta(plain))


@final
@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a text in which names have taken the place of references."""

    text: str
    references: dict[str, str]
    load: Callable[[str], Any]

    def named(self, node: ast.expr) -> Named:
        """One node: a reference, a call that holds one, or what the catalogue reads."""
        if not self._holds(node):
            thing = catalog.parse(ast.unparse(node))
            return Named(thing, catalog.expression(thing))
        match node:
            case ast.Name(id=name):
                return Named(self.load(self.references[name]), self.references[name])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                given = [self.named(each) for each in args]
                return self._made(name, given, {str(word.arg): self._value(word) for word in keywords})
        raise InvalidExpression(f"cannot read {self.text!r}: an object of yours stands where none can")

    def _made(self, name: str, given: list[Named], named: dict[str, Named]) -> Named:
        make = catalog.NAMES[name]
        things, settings = [part.thing for part in given], {word: part.thing for word, part in named.items()}
        try:
            inspect.signature(make).bind(*things, **settings)
        except TypeError as error:
            raise InvalidExpression(f"in {self.text!r}: {name}() {error}") from None
        try:
            made = make(*things, **settings)
        except (TypeError, InfexError) as error:
            raise InvalidExpression(f"in {self.text!r}: {error}") from None
        words = [part.label for part in given]
        words += [f"{word}={part.label}" for word, part in named.items() if not _is_default(made, word)]
        base = given[0] if given else named.get("base")
        return Named(made, f"{name}({', '.join(words)})", None if base is None else base.label)

    def _value(self, word: ast.keyword) -> Named:
        """The value of a keyword: a reference, or what the catalogue reads."""
        if self._holds(word.value):
            return self.named(word.value)
        written = ast.unparse(word.value)
        value = catalog.arguments(f"f(value={written})")["value"]
        return Named(value, value if isinstance(value, str) else written)

    def _holds(self, node: ast.expr) -> bool:
        return any(isinstance(each, ast.Name) and each.id in self.references for each in ast.walk(node))


def _is_default(made: object, word: str) -> bool:
    fields = dataclasses.fields(made) if dataclasses.is_dataclass(made) else ()
    return any(each.name == word and each.default == getattr(made, word) for each in fields)
