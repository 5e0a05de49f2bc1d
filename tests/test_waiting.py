"""No test depends on how fast something is."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import waiting
from tests.waiting import PATIENCE

TESTS = Path(__file__).parent
FILES = sorted(path for path in TESTS.rglob("*.py") if path.name != "waiting.py")
LIMITS = ("timeout", "deadline")
WAITS = ("wait", "join", "result", "acquire")  # whose limit may be said by its place


def races(text: str) -> Iterator[str]:
    """What looks at a real clock, or sets a limit of time that may decide something."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(name.name == "time" for name in node.names):
            yield f"line {node.lineno} imports time; tests.clock has a clock to set"
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield f"line {node.lineno} imports from time; tests.clock has a clock to set"
        elif isinstance(node, ast.keyword) and node.arg in LIMITS:
            limit = ast.unparse(node.value)
            if limit not in ("PATIENCE", "None"):
                yield f"line {node.lineno} sets a {node.arg} of {limit}, not PATIENCE"
        elif isinstance(node, ast.Call) and (bound := limit_by_place(node)) is not None:
            yield f"line {node.lineno} waits for {bound:g} s, not PATIENCE"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Client"):
            for given in (each.value for each in node.keywords if each.arg == "seconds"):
                if isinstance(given, ast.Constant):
                    seconds = ast.unparse(given)
                    yield f"line {node.lineno} has a client that gives up after {seconds} s, not PATIENCE"


def limit_by_place(call: ast.Call) -> float | None:
    """The number of seconds in `event.wait(20)`, `thread.join(5)` or `lock.acquire(True, 5)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in WAITS:
        return None
    given = [each.value for each in call.args if isinstance(each, ast.Constant)]
    limits = [each for each in given if isinstance(each, int | float) and not isinstance(each, bool)]
    return limits[0] if limits else None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_test_looks_at_no_clock_and_waits_for_events(path: Path) -> None:
    assert list(races(path.read_text())) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import time", "line 1 imports time"),
        ("from time import sleep", "imports from time"),
        ("process.wait(timeout=60)", "sets a timeout of 60, not PATIENCE"),
        ("gate.wait(20)", "waits for 20 s, not PATIENCE"),
        ("lock.acquire(True, 2.5)", "waits for 2.5 s"),
        ("settings(deadline=200)", "sets a deadline of 200"),
        ("infex.Client(url, seconds=60)", "a client that gives up after 60 s"),
    ],
)
def test_races_are_found(text: str, words: str) -> None:
    (found,) = races(text)
    assert words in found


def test_no_property_has_a_deadline() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_waiting_gives_what_came_and_ends_when_nothing_can_come(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(["", "", "came"])
    assert waiting.until(lambda: next(looks), "it comes") == "came"
    with waiting.started([sys.executable, "-c", ""]) as process:
        process.wait(waiting.PATIENCE)
        with pytest.raises(AssertionError, match="the process ended before it comes"):
            waiting.until(lambda: False, "it comes", process)
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    with pytest.raises(AssertionError, match="waited 0 s until it comes"):
        waiting.until(lambda: False, "it comes")


def test_ctrl_c_reaches_processes_also_where_tests_run_in_the_background() -> None:
    """A shell without job control starts them with Ctrl-C ignored, which processes inherit."""
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import tests.conftest, subprocess, sys\n"
        "told = 'import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)'\n"
        "sys.exit(subprocess.run([sys.executable, '-c', told], capture_output=True).stdout != b'True\\n')\n"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=TESTS.parent, timeout=PATIENCE)
    assert found.returncode == 0
