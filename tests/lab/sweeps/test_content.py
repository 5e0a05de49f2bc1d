"""Digests: the same for the same content in every process, others for other content."""

import functools
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import Infex, LinUCB, every, schedules
from infex.lab import Sweep, environments
from infex.lab.environments import ChangingInstance, ContextualInstance, LinearInstance, steps
from infex.lab.fingerprint import digest
from infex.lab.simulation.simulator import checked_instance
from infex.lab.specs import Recipe
from tests.lab.sweeps.test_sweep import HERE, sweep

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
    """A class with a default repr."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

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
    "modules": [sys, threading],
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
    "environments": [checked_instance(Peaked(0.3)), checked_instance(Peaked(0.6))],
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
    "modules and classes": [np, infex, Plain, Holder, LinUCB],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_contents_have_other_digests(name: str) -> None:
    found = [digest(each) for each in OTHERS[name]]
    assert len(set(found)) == len(found)
    assert [digest(each) for each in OTHERS[name]] == found


def test_alike_objects_have_one_digest_wherever_they_stand_in_memory() -> None:
    assert digest(Plain(1)) == digest(Plain(1))
    assert digest(scaled([1, {2, "x"}])) == digest(scaled([1, {2, "x"}]))
    assert digest(Plain(threading.Lock())) == digest(Plain(threading.Lock()))


def test_the_code_and_the_globals_of_a_function_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(read_factor)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    assert digest(read_factor) != before
    whole = digest(Plain(1))
    monkeypatch.setattr(Plain, "choose", lambda self, t, posterior, rng: infex.Choice(1))
    assert digest(Plain(1)) != whole


def test_what_holds_itself_has_a_digest() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert digest(ring) == digest(ring)

    def again(t: int) -> int:
        return again(t - 1) if t else 0

    assert digest(again) == digest(again)


def test_another_process_finds_the_same() -> None:
    program = (
        "from tests.lab.sweeps.test_content import OTHERS, digest\n"
        "print(*[digest(each) for name in OTHERS for each in OTHERS[name]])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == [digest(each) for name in OTHERS for each in OTHERS[name]]


def keys(**more: Any) -> set[str]:
    return {task.key for task in sweep(**more).tasks()}


def test_a_changed_environment_is_another_task() -> None:
    def made(theta: float) -> Any:
        return lambda seed: LinearInstance(np.eye(2), [theta, 0.1])

    assert (
        sweep(environments=[made(0.5)]).problems[0].label == sweep(environments=[made(0.4)]).problems[0].label
    )
    assert not keys(environments=[made(0.5)]) & keys(environments=[made(0.4)])
    assert keys(environments=[made(0.5)]) == keys(environments=[made(0.5)])
    one, other = (Recipe(f"{HERE}:{name}", label="mine") for name in ("square", "small"))
    assert not keys(environments=[one]) & keys(environments=[other])
    settings = [Recipe("gaussian", (("dim", 2), ("arms", arms)), label="mine") for arms in (3, 4)]
    assert not keys(environments=settings[:1]) & keys(environments=settings[1:])


def test_an_environment_that_was_edited_is_played_again(tmp_path: Path) -> None:
    """The same name, seed and class, and another setting: the runs in the folder are of the other."""

    def regret(peak: float) -> Any:
        results = Sweep(environments={"mine": Peaked(peak)}, policies=["Greedy"], horizon=50, seeds=2).run(
            out=tmp_path, workers=1
        )
        return [results.regret(cell, "Greedy").tolist() for cell in results.cells]

    assert regret(0.3) != regret(1.0)


def test_an_environment_of_a_users_is_named_by_its_class_and_settings() -> None:
    assert Recipe(Peaked(0.3)).label == "Peaked(peak=0.3)"
    assert sweep(environments=[Peaked(0.3), Peaked(0.6)]).run(workers=1).finals.num_rows == 18


def test_draws_do_not_depend_on_where_a_users_object_stands_in_memory() -> None:
    kept = [linear(moves=Standing(0.1)) for _ in range(3)]
    assert len({each.key for each in kept}) == 1


def test_a_changed_policy_is_another_task() -> None:
    counts = [Infex(LinUCB(), schedules.from_count(g)) for g in (lambda t: t**0.5, lambda t: t**0.4)]
    assert not keys(policies=counts[:1]) & keys(policies=counts[1:])
    assert not keys(policies=[Plain(1)]) & keys(policies=[Plain(2)])
    assert keys(policies=[Plain(1)]) == keys(policies=[Plain(1)])
