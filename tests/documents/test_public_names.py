"""Every public name tells its arguments, and shows an example."""

import inspect
import re

import pytest

from docs.building import names, pages

PUBLIC = names.public()
FROM_KERNELS = "infex.view."  # what stands in infex/kernels has its example on the page, and one argument


def arguments(value: object) -> list[str]:
    """What a caller may give; those of protocols, enumerations and errors are nobody's business."""
    if not callable(value) or (inspect.isclass(value) and names.plain(value)):
        return []
    return [name for name in inspect.signature(value).parameters if name not in ("self", "_")]


def untold(value: object) -> list[str]:
    """The arguments that a docstring does not name."""
    text = inspect.getdoc(value) or ""
    return [name for name in arguments(value) if not re.search(rf"\b{re.escape(name)}\b", text)]


def examples_on_pages() -> set[str]:
    """Names in the code of the API's pages, which tests run."""
    code = [block.code for page in (pages.DOCS / "api").glob("*.md") for block in pages.programs(page)]
    return set(re.findall(r"\w+", "\n".join(code)))


SHOWN = examples_on_pages()


def has_example(name: str, value: object) -> bool:
    if inspect.isclass(value) and issubclass(value, BaseException):
        return True  # the page of errors shows how they are caught
    return ">>> " in (inspect.getdoc(value) or "") or name.rpartition(".")[2] in SHOWN


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_with_its_arguments_and_an_example(name: str) -> None:
    value = PUBLIC[name]
    assert inspect.getdoc(value)
    if not name.startswith(FROM_KERNELS):
        assert untold(value) == []
    assert has_example(name, value), f"{name} has no example, in its docstring or on its page in docs/api"


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
    assert not has_example("infex.move", move)
