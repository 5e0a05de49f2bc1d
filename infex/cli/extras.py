"""Which extra of infex has what a command needs; read without any of these libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires

EXTRAS_OF_COMMANDS = {  # every command, and the extra with what it needs; each is loaded when it is called
    "reproduce": "experiments",
    "run": "experiments",
    "suite": "experiments",
    "report": "experiments",
    "compare": "experiments",
    "diff": "experiments",
    "plan": "experiments",
    "evaluate": "experiments",
    "log": "experiments",
    "bound": "experiments",
    "verify": "experiments",
    "study": "study",
    "serve": "service",
    "token": "service",
}
REQUIREMENT = re.compile(r"([\w.-]+).*extra == ['\"](\w+)['\"]")


def command_in(words: Iterable[str]) -> str | None:
    """The first command that a command line names."""
    return next((word for word in words if word in EXTRAS_OF_COMMANDS), None)


def needed_by(command: str | None, library: str) -> str:
    """What to type where a library is missing: the command's own extra, unless only others have it."""
    who = "the commands need" if command is None else f"infex {command} needs"
    return f"{library} is missing; {who}: pip install 'infex[{_extra(command, library)}]'"


def is_of_extras(library: str) -> bool:
    """Is this a library that one of the extras brings?"""
    return bool(_extras_with(library))


def _extra(command: str | None, library: str) -> str:
    own = EXTRAS_OF_COMMANDS.get(command or "", "experiments")
    having = _extras_with(library)
    return own if own in having or not having else having[0]


def _extras_with(library: str) -> list[str]:
    """The extras that have a library, as the installed package says it."""
    try:
        lines = requires("infex") or []
    except PackageNotFoundError:
        return []
    pairs = [found.groups() for line in lines if (found := REQUIREMENT.match(line))]
    return [extra for name, extra in pairs if name.replace("-", "_").lower() == library.lower()]
