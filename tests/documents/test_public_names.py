"""Every public name tells its arguments, and shows an example."""

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import infex
from docs.building import names, pages

PUBLIC = names.public()


def arguments(value: object) -> list[str]:
    """What a caller may give; those of protocols, enumerations and errors are nobody's business."""
    if not callable(value) or (inspect.isclass(value) and names.plain(value)):
        return []
    return [name for name in inspect.signature(value).parameters if name not in ("self", "_")]


def untold(value: object) -> list[str]:
    """The arguments that a docstring does not name."""
    text = inspect.getdoc(value) or ""
    return [name for name in arguments(value) if not re.search(rf"\b{re.escape(name)}\b", text)]


def named(node: ast.AST | None) -> str:
    """The last word of `a.b.c`, or of `c`; nothing of anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def uses(node: ast.AST) -> list[ast.AST | None]:
    """What one piece of code works with: calls, inherits from, decorates with, reads from, or is typed as."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return [kind]
        case ast.Call():
            return [node.func]
        case ast.ClassDef():
            return [*node.bases, *node.decorator_list]
        case ast.FunctionDef():
            return [*node.decorator_list, node.returns]
        case ast.AnnAssign(value=ast.AST()):
            return list(ast.walk(node.annotation))
        case ast.arg(annotation=ast.AST()):
            return list(ast.walk(node.annotation))
        case ast.Attribute(value=value) if not node.attr.startswith("__"):
            return [value]
    return []


def used(code: str) -> set[str]:
    """Names that code works with; one that is only named, or whose docstring is printed, is none of them."""
    return {named(each) for node in ast.walk(ast.parse(code)) for each in uses(node)}


def mentioned(code: str) -> set[str]:
    """All names in code: what is no class and no function is shown by being read."""
    return {named(node) for node in ast.walk(ast.parse(code))}


def listed(page: Path) -> list[str]:
    """The public names that a page of the API describes."""
    found = []
    for block in pages.blocks(page):
        if block.language == "{names}":
            room = [name for name in PUBLIC if name.rpartition(".")[0] == block.rest]
            found += [f"{block.rest}.{name}" for name in block.code.split()] or room
    return found


def code_of(page: Path) -> str:
    return "\n".join(block.code for block in pages.programs(page) if block.language == "python")


@pytest.mark.parametrize("reason", infex.policies.Reason)
def test_the_page_on_exploring_names_every_reason(reason: str) -> None:
    assert f'"{reason}"' in (pages.DOCS / "exploring.md").read_text()


CODE = {name: code_of(page) for page in (pages.DOCS / "api").glob("*.md") for name in listed(page)}


def is_shown(name: str, value: object, code: str) -> bool:
    """Is a public name at work in this code?"""
    return name.rpartition(".")[2] in (used(code) if callable(value) else mentioned(code))


def has_example(name: str, value: object, code: str) -> bool:
    """Is a name at work in its own docstring, or in the code of the page that describes it?"""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return True  # the page of errors shows how they are caught
    own = "\n".join(each.source for each in doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""))
    return is_shown(name, value, own) or is_shown(name, value, code)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_with_its_arguments_and_an_example(name: str) -> None:
    value = PUBLIC[name]
    assert inspect.getdoc(value)
    assert untold(value) == []
    assert has_example(name, value, CODE[name]), (
        f"{name} has no example, in its docstring or on its page in docs/api"
    )


def test_every_public_method_has_a_docstring() -> None:
    for name, kind in PUBLIC.items():
        if inspect.isclass(kind) and kind.__module__.startswith("infex"):
            for method, value in vars(kind).items():
                if not method.startswith(("_", "test_")) and inspect.isfunction(value):
                    assert inspect.getdoc(getattr(kind, method)), f"{name}.{method}"


def test_what_is_not_told_is_seen() -> None:
    def move(far: int, fast: bool) -> int:
        """So far: `far`."""
        return far * fast

    assert untold(move) == ["fast"]
    assert not has_example("infex.move", move, "hooks = infex.move\nprint(infex.move.__doc__)")
    assert has_example("infex.move", move, "infex.move(1, True)")
