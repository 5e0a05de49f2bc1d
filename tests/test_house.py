"""The house keeps its measures: what `Any`, `getattr`, long functions and long files may come to."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import infex

PACKAGE = Path(infex.__file__).parent
MODULES = {str(path.relative_to(PACKAGE)): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
WHERE_POLICIES_CHOOSE = ("policies/", "testing/")  # those that hold another one, and what tests them
ANY = ("Any", "typing.Any")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def nodes(source: str) -> list[ast.AST]:
    """All that a module is made of; each is parsed once."""
    return list(ast.walk(ast.parse(source)))


def functions(source: str) -> Iterator[Function]:
    return (node for node in nodes(source) if isinstance(node, Function))


def calls(source: str) -> Iterator[tuple[int, str]]:
    """The line of every call and the name that is called, without what stands before its last dot."""
    for node in nodes(source):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.lineno, f".{node.func.attr}"
            elif isinstance(node.func, ast.Name):
                yield node.lineno, node.func.id


def parameters(source: str) -> list[str]:
    """What every parameter is annotated with; `self` and `cls` are none."""
    found = []
    for function in functions(source):
        given = function.args
        most = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        named = [each for each in most if each is not None and each.arg not in ("self", "cls")]
        found += ["" if each.annotation is None else ast.unparse(each.annotation) for each in named]
    return [annotation.strip("'") for annotation in found]


def lines_of_code(source: str) -> list[int]:
    """How long every function is, without its docstring and blank lines."""
    lines = source.splitlines()
    found = []
    for function in functions(source):
        assert function.end_lineno is not None
        code = set(range(function.lineno, function.end_lineno + 1))
        if ast.get_docstring(function) is not None:
            first = function.body[0]
            assert first.end_lineno is not None
            code -= set(range(first.lineno, first.end_lineno + 1))
        found.append(sum(bool(lines[number - 1].strip()) for number in code))
    return found


def other_names_of_any(source: str) -> set[str]:
    """What would be `Any` under another name."""
    assigned = [node for node in nodes(source) if isinstance(node, ast.Assign | ast.AnnAssign)]
    aliases = [node for node in assigned if node.value is not None and ast.unparse(node.value) in ANY]
    return {ast.unparse(node).split()[0].rstrip(":") for node in aliases}


def looks_for_attributes(source: str) -> set[int]:
    """The lines that ask an object at run time what it has."""
    return {line for line, name in calls(source) if name in ("getattr", "hasattr")}


def lets_policies_choose(source: str) -> bool:
    return any(name in (".choose", "choose_allowed", ".choose_allowed") for _, name in calls(source))


def share(sizes: list[int], part: float) -> int:
    return sorted(sizes)[int(part * len(sizes))]


def test_any_is_for_what_a_user_brings() -> None:
    annotations = [annotation for source in MODULES.values() for annotation in parameters(source)]
    assert len(annotations) > 2000
    assert sum(annotation in ANY for annotation in annotations) <= 0.03 * len(annotations)
    assert [alias for source in MODULES.values() for alias in other_names_of_any(source)] == []


def test_attributes_are_seldom_looked_for() -> None:
    found = [f"{name}:{line}" for name, source in MODULES.items() for line in looks_for_attributes(source)]
    assert len(found) <= 20, found


def test_functions_are_short() -> None:
    sizes = [size for source in MODULES.values() for size in lines_of_code(source)]
    assert share(sizes, 0.5) <= 4
    assert share(sizes, 0.9) <= 15


def test_no_file_is_long() -> None:
    assert {name: source.count("\n") for name, source in MODULES.items() if source.count("\n") > 350} == {}


def test_a_round_in_python_is_played_by_one_function() -> None:
    """`Player.decide` lets the policy choose, and `play_round` and the bandit call it."""
    players = {name for name, source in MODULES.items() if lets_policies_choose(source)}
    assert {name for name in players if not name.startswith(WHERE_POLICIES_CHOOSE)} == {"rounds/player.py"}
    own = ast.parse(MODULES["rounds/player.py"])
    choosing = [node.name for node in ast.walk(own) if isinstance(node, Function)]
    assert [name for name in choosing if lets_policies_choose(_function(own, name))] == ["decide"]


def _function(tree: ast.Module, name: str) -> str:
    return next(
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, Function) and node.name == name
    )


SMALL = '''
Whatever = Any
Other: TypeAlias = typing.Any
missing: Any = object()


def first(self, a: Any, *rest: int, b: "Any" = None, **more: Any) -> Any:
    """One line.

    And more.
    """

    return getattr(a, "x") or hasattr(a, "y")


class Thing:
    def second(self, a, policy):
        # said
        return policy.choose(1, a, None)
'''


def test_the_measures_see_what_they_measure() -> None:
    assert parameters(SMALL) == ["Any", "Any", "int", "Any", "", ""]
    assert other_names_of_any(SMALL) == {"Whatever", "Other"}
    assert lines_of_code(SMALL) == [2, 3]
    assert looks_for_attributes(SMALL) == {13}
    assert lets_policies_choose(SMALL)
    assert lets_policies_choose("masks.choose_allowed(policy)")
    assert not lets_policies_choose("chosen = policy.chooses(1)")
    assert share([4, 1, 3, 2], 0.5) == 3
