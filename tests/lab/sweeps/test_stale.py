"""Runs are named by what was played: the same content is not played again, and any other is."""

import functools
import importlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import Infex, LinUCB, every, schedules
from infex.lab import Sweep, environments
from infex.lab.environments import ChangingInstance, ContextualInstance, LinearInstance, steps

FACTOR = 2


class Peaked:
    """An environment of a user's, whose best arm is a setting."""

    def __init__(self, peak: float) -> None:
        self.arms = np.linspace(0.1, 1.0, 4)[:, None]
        self.peak = peak

    def means(self, t: int, arms: Any) -> Any:
        return 1.0 - np.abs(arms[:, 0] - self.peak)


class Standing:
    """A way of moving of a user's, with Python's own repr, which tells where it stands in memory."""

    def __init__(self, size: float) -> None:
        self.size = size

    def path(self, theta: Any, rng: Any) -> Any:
        return self

    def rows(self, first: int, last: int) -> Any:
        return np.array([last]), np.full((1, 2), self.size)


def noisy(size: float) -> Any:
    return lambda rng, means: means + size * rng.normal(size=means.shape)


def linear(**more: Any) -> LinearInstance:
    return LinearInstance(np.eye(2), [0.1, 0.2], **more)


def drawn_anew(**more: Any) -> ChangingInstance:
    return ChangingInstance(theta=[0.5, 0.1], arms=2, **more)


class Plain:
    """A policy that holds anything."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        return infex.Choice(0)


@dataclass(frozen=True)
class Holder:
    rule: Any


def scaled(factor: Any) -> Any:
    return lambda t: factor * t


def read_factor(t: int) -> int:
    return FACTOR * t


def tooled(factor: int) -> type:
    """A class whose code differs in a static method, a class method or a property alone."""

    class Tool:
        @staticmethod
        def twice(t: int) -> int:
            return 2 * t if factor else 0

        @classmethod
        def made(cls) -> int:
            return factor

        @property
        def size(self) -> int:
            return factor

    return Tool


OTHERS: dict[str, list[Any]] = {
    "tools": [tooled(1), tooled(2), tooled(1)(), tooled(2)()],
    "numbers": [1, 1.0, True, "1", None, b"1"],
    "lists": [[1, 2], [2, 1], (1, 2), {1: 2}, {1, 2}, np.array([1, 2]), np.array([1.0, 2.0])],
    "objects": [np.array([1, "x"], dtype=object), np.array([2, "x"], dtype=object)],
    "functions": [lambda t: t, lambda t: 2 * t, lambda t: 3 * t, lambda t, k=1: t, lambda t, k=2: t],
    "closures": [scaled(1), scaled(2), scaled(np.ones(2)), scaled([1])],
    "dataclasses": [Holder(1), Holder(2), Holder(scaled(1)), Holder(scaled(2))],
    "plain objects": [Plain(1), Plain(2), Plain(scaled(1)), Plain(Plain(1))],
    "policies": [LinUCB(), LinUCB(delta=0.02), Infex(LinUCB(), every(5)), Infex(Plain(1), every(5))],
    "counts": [schedules.from_count(lambda t: t**0.5), schedules.from_count(lambda t: t**0.4)],
    "partials": [functools.partial(scaled, 1), functools.partial(scaled, 2)],
    "methods": [Plain(1).choose, Plain(2).choose],
    "instances": [LinearInstance(np.eye(2), [0.1, 0.2]), LinearInstance(np.eye(2), [0.2, 0.1])],
    "environments": [Peaked(0.3), Peaked(0.6)],
    "laws of rewards": [linear(rewards=noisy(1.0)), linear(rewards=noisy(2.0))],
    "late rewards": [linear(), linear(late=1), linear(late=2), linear(late=environments.late(mean=2))],
    "moves": [linear(moves=Standing(0.1)), linear(moves=Standing(0.2)), linear(moves=steps(every=5))],
    "late rewards over arms drawn anew": [drawn_anew(), drawn_anew(late=1), drawn_anew(late=2)],
    "means": [drawn_anew(mean=lambda arms: arms[:, 0]), drawn_anew(mean=lambda arms: arms[:, 1])],
    "rewards in contexts": [
        ContextualInstance(thetas=np.eye(2), **more)
        for more in ({}, {"late": 3}, {"rewards": noisy(1.0)}, {"rewards": noisy(2.0)})
    ],
    "contexts": [
        ChangingInstance(theta=[0.5], arms=2, contexts=lambda rng: [[0.5], [1.0]]),
        ChangingInstance(theta=[0.5], arms=2, contexts=lambda rng: [[0.4], [1.0]]),
    ],
    "classes": [Plain, Holder, LinUCB],
}


def keys(**given: Any) -> list[str]:
    """The names of the runs of a sweep, whose policies and problems are called alike."""
    settings = {"environments": ["gaussian(dim=2, arms=3)"], "policies": {"mine": "Greedy"}}
    return [task.key for task in Sweep(**settings | {"horizon": 30, "seeds": 1} | given).tasks()]


def key_of(thing: Any) -> str:
    """The name of a run whose policy holds a thing, or whose problem it is."""
    if isinstance(thing, environments.Instance | Peaked):
        return keys(environments={"mine": thing})[0]
    return keys(policies={"mine": Plain(thing)})[0]


@pytest.mark.parametrize("name", OTHERS)
def test_other_contents_are_other_runs(name: str) -> None:
    found = [key_of(each) for each in OTHERS[name]]
    assert len(set(found)) == len(found)
    assert [key_of(each) for each in OTHERS[name]] == found


def test_alike_objects_are_one_run_wherever_they_stand_in_memory() -> None:
    assert key_of(Plain(1)) == key_of(Plain(1))
    assert key_of(scaled([1, {2, "x"}])) == key_of(scaled([1, {2, "x"}]))


def test_the_code_and_the_globals_of_a_function_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before, whole = key_of(read_factor), key_of(Plain(1))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    assert key_of(read_factor) != before
    monkeypatch.setattr(Plain, "choose", lambda self, t, posterior, rng: infex.Choice(1))
    assert key_of(Plain(1)) != whole


def test_what_holds_itself_can_be_played() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert key_of(ring) == key_of(ring)

    def again(t: int) -> int:
        return again(t - 1) if t else 0

    assert key_of(again) == key_of(again)


def test_another_process_finds_the_same() -> None:
    program = (
        "from tests.lab.sweeps.test_stale import OTHERS, key_of\n"
        "print(*[key_of(each) for name in OTHERS for each in OTHERS[name]])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == [key_of(each) for name in OTHERS for each in OTHERS[name]]


def test_a_changed_environment_is_another_task() -> None:
    def made(theta: float) -> Any:
        return lambda seed: LinearInstance(np.eye(2), [theta, 0.1])

    assert keys(environments=[made(0.5)]) != keys(environments=[made(0.4)])
    assert keys(environments=[made(0.5)]) == keys(environments=[made(0.5)])
    texts = [f"tests.lab.sweeps.players:{name}" for name in ("square", "small")]
    texts += [f"gaussian(dim=2, arms={arms})" for arms in (3, 4)]
    assert len({keys(environments={"mine": text})[0] for text in texts}) == 4


def test_an_environment_that_was_edited_is_played_again(tmp_path: Path) -> None:
    """The same name, seed and class, and another setting: the runs in the folder are of the other."""

    def regret(peak: float) -> Any:
        results = Sweep(environments={"mine": Peaked(peak)}, policies=["Greedy"], horizon=50, seeds=2).run(
            out=tmp_path, workers=1
        )
        return [results.regret(cell, "Greedy").tolist() for cell in results.cells]

    assert regret(0.3) != regret(1.0)


def test_an_environment_of_a_users_is_named_by_its_class_and_settings() -> None:
    found = Sweep(environments=[Peaked(0.3), Peaked(0.6)], policies=["Greedy"], horizon=30, seeds=2)
    results = found.run(workers=1)
    assert [cell.environment for cell in results.cells] == ["Peaked(peak=0.3)", "Peaked(peak=0.6)"]


def test_draws_do_not_depend_on_where_a_users_object_stands_in_memory() -> None:
    kept = [linear(moves=Standing(0.1)) for _ in range(3)]
    assert len({each.key for each in kept}) == 1


def test_a_changed_policy_is_another_task() -> None:
    counts = [Infex(LinUCB(), schedules.from_count(g)) for g in (lambda t: t**0.5, lambda t: t**0.4)]
    assert keys(policies={"mine": counts[0]}) != keys(policies={"mine": counts[1]})
    assert keys(policies=[Plain(1)]) != keys(policies=[Plain(2)])
    assert keys(policies=[Plain(1)]) == keys(policies=[Plain(1)])


CONFIG = "SCALE = 1\n"
POLICY = """
import infex
import stale_config

class Scaled:
    def choose(self, t, posterior, rng):
        return infex.Choice(int(stale_config.SCALE) % len(posterior))
"""


def test_a_setting_of_a_module_that_is_set_while_it_runs_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`config.SCALE = 2` in a program, with no file edited."""
    (tmp_path / "stale_config.py").write_text(CONFIG)
    (tmp_path / "stale_policy.py").write_text(POLICY)
    monkeypatch.syspath_prepend(tmp_path)
    config: Any = __import__("stale_config")
    policy: Any = __import__("stale_policy")

    def regret() -> list[float]:
        given = Sweep(
            environments=["gaussian(dim=3, arms=5)"], policies={"mine": policy.Scaled()}, horizon=20, seeds=3
        )
        results = given.run(workers=1, out=tmp_path / "out")
        found: list[float] = results.regret(results.cells[0], "mine").tolist()
        return found

    before = regret()
    config.SCALE = 2
    after = regret()
    assert after != before
    config.SCALE = 1
    assert regret() == before


EDITED = """
import infex
from dataclasses import dataclass

@dataclass(frozen=True)
class Fixed:
    def choose(self, t, posterior, rng):
        return infex.Choice({arm})
"""


def test_workers_that_outlive_an_edit_do_not_play_the_old_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_policy.py"
    file.write_text(EDITED.format(arm=0))
    module = importlib.import_module("edited_policy")

    def regret(workers: int) -> list[float]:
        played = Sweep(
            environments=["gaussian(dim=3, arms=5)"], policies=[module.Fixed(), "Greedy"], horizon=20, seeds=3
        ).run(workers=workers)
        found: list[float] = played.regret(played.cells[0], "Fixed").tolist()
        return found

    before = regret(workers=2)
    file.write_text(EDITED.format(arm=1))
    importlib.invalidate_caches()
    importlib.reload(module)
    assert regret(workers=2) == regret(workers=1) != before


MODULES = {
    "settings_deep": "def deep(e):\n    return e.estimates\n",
    "settings_helper": (
        "import settings_deep\nSIGN = 1\ndef score(e):\n    return settings_deep.deep(e)\n"
        "def spare():\n    return 0\n"
    ),
    "settings_rule": (
        "import functools\nimport infex\nimport settings_helper\n"
        "@functools.cache\ndef sign():\n    return settings_helper.SIGN\n"
        "class Direct:\n    def choose(self, t, e, rng):\n"
        "        return infex.Choice(infex.best(settings_helper.score(e)))\n"
        "class Inside:\n    def choose(self, t, e, rng):\n        import settings_helper as h\n"
        "        return infex.Choice(infex.best(h.score(e)))\n"
        "class Passed:\n    def choose(self, t, e, rng):\n"
        "        return infex.Choice(infex.best(getattr(settings_helper, 'score')(e)))\n"
        "class Cached:\n    def choose(self, t, e, rng):\n        return infex.Choice(sign() - 1)\n"
    ),
}
EDITS = {  # which policies depend on it
    ("settings_deep", "e.estimates", "-e.estimates"): {"Direct", "Inside", "Passed"},
    ("settings_helper", "return 0", "return 1"): {"Inside", "Passed"},  # whose module is used as a whole
    ("settings_helper", "SIGN = 1", "SIGN = 2"): {"Inside", "Passed", "Cached"},
}


@pytest.mark.parametrize(("edit", "changed"), EDITS.items(), ids=str)
def test_an_edit_of_a_helper_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: tuple[str, str, str], changed: set[str]
) -> None:
    """P4: helpers were followed only where they were imported by name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def names() -> dict[str, str]:
        for name in MODULES:
            sys.modules.pop(name, None)
        rule = __import__("settings_rule")
        policies = ("Direct", "Inside", "Passed", "Cached")
        return {name: keys(policies={"mine": vars(rule)[name]()})[0] for name in policies}

    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    before = names()
    assert names() == before
    module, old, new = edit
    (tmp_path / f"{module}.py").write_text(MODULES[module].replace(old, new))
    after = names()
    assert {name for name in before if before[name] != after[name]} == changed
