"""The program `infex`: the list of its commands, read without any library, and how it begins.

Each command is imported when it is called; `infex --help` reads this list alone.
"""

import contextlib
import gc
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires
from typing import NamedTuple

INTERRUPTED_CODE = 130  # what a program that Ctrl-C has ended exits with
OBJECTS_TO_COLLECT = (
    50_000  # new objects between two garbage collections; Python's own 700 take 0.3 s of imports
)
REQUIREMENT = re.compile(r"([\w.-]+).*extra == ['\"](\w+)['\"]")


class Entry(NamedTuple):
    """A command on the list: its module in `infex.cli`, the extra that it needs, and what it does."""

    module: str
    extra: str
    summary: str


COMMANDS = {  # practitioners' commands first; those of the group `lab` are called `infex lab ...`
    "plan": Entry("plan_command", "experiments", "How rarely may I explore?"),
    "evaluate": Entry("evaluate_command", "experiments", "What does my log say of another policy?"),
    "log": Entry("log_command", "experiments", "Logs of other programs as Parquet, and back."),
    "study": Entry(
        "study_command", "study", "Studies: explain, verify, correct, erase, change, export, back up."
    ),
    "serve": Entry("serve_command", "service", "Decisions over HTTP, and a page that shows them."),
    "token": Entry("token_command", "service", "Who may call a service, and for what."),
    "reproduce": Entry("lab_command", "experiments", "The paper's experiment, in a folder with a report."),
    "lab": Entry("main", "experiments", "The laboratory: sweeps, their results, the suite, the theory."),
    "lab run": Entry("lab_command", "experiments", "Play a sweep of your own."),
    "lab compare": Entry("lab_command", "experiments", "Compare two policies of a sweep, pair by pair."),
    "lab diff": Entry("lab_command", "experiments", "Which runs of two folders agree bit for bit?"),
    "lab suite": Entry("lab_command", "experiments", "Score your policies on eleven named challenges."),
    "lab atlas": Entry("lab_command", "experiments", "Every published base, alone and under schedules."),
    "lab report": Entry("lab_command", "experiments", "Draw the figures and the page of a sweep again."),
    "lab bound": Entry(
        "theory_command", "experiments", "What does the paper's theorem promise, if anything?"
    ),
    "lab worst-case": Entry(
        "theory_command", "experiments", "Search the worst regret, by how often one explores."
    ),
    "lab verify": Entry("theory_command", "experiments", "Check the paper's statements on fresh runs."),
}


def main() -> None:
    """The program `infex`."""
    gc.set_threshold(OBJECTS_TO_COLLECT)
    try:
        with _quiet():
            from infex.cli.main import main as commands
    except ModuleNotFoundError as error:
        words = sys.argv[1:]
        path = next((path for path in (" ".join(words[:2]), *words[:1]) if path in COMMANDS), None)
        sys.exit(f"infex: {needed_by(path, error.name or 'a library')}")
    commands(prog_name="infex")


def needed_by(path: str | None, library: str) -> str:
    """What to install where a library is missing: the command's own extra, unless only others have it."""
    own = COMMANDS[path].extra if path in COMMANDS else "experiments"
    having = extras_with(library)
    extra = own if own in having or not having else having[0]
    who = "the commands need" if path is None else f"infex {path} needs"
    return f"{library} is missing; {who}: pip install 'infex[{extra}]'"


def extras_with(library: str) -> Sequence[str]:
    """The extras that bring a library, by the metadata of the installed package."""
    try:
        lines = requires("infex") or []
    except PackageNotFoundError:
        return []
    pairs = [found.groups() for line in lines if (found := REQUIREMENT.match(line))]
    return [extra for name, extra in pairs if name.replace("-", "_").lower() == library.lower()]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Ctrl-C ends the program at once and in silence; a library being imported would print a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a shell may have set it to be ignored
        signal.signal(signal.SIGINT, lambda *given: os._exit(INTERRUPTED_CODE))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
