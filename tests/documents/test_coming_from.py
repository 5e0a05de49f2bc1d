"""The page for those who come from other libraries: both halves of each pair run, and decide alike.

Five of the six libraries are installed with what development uses. contextualbandits is compiled for minutes
when it is installed, so that `make peers` alone runs its lines; it records what they decided, and which lines
they were.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from benchmarks.peers import page_lines
from docs.building import pages
from infex.arrays import Floats

pytestmark = pytest.mark.filterwarnings("default")  # these libraries warn of matters of their own

RECORDED = json.loads(page_lines.FILE.read_text())
LINES = page_lines.lines()
INSTALLED = [name for name in page_lines.LIBRARIES if name != "contextualbandits"]
OURS = [block for block in pages.programs(page_lines.PAGE) if block.language == "python"]


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ours(place: int) -> dict[str, Any]:
    """The names that our half of a pair leaves behind."""
    names: dict[str, Any] = {"infex": infex}
    pages.run_python(page_lines.PAGE, OURS[place], OURS[place].code, names)
    return names


@pytest.mark.parametrize("name", INSTALLED)
def test_the_lines_of_another_library_run_and_decide_as_recorded(name: str) -> None:
    assert page_lines.decided(page_lines.played(LINES[name])) == RECORDED["lines"][name]["decided"]
    assert name in sys.modules


@pytest.mark.parametrize("name", page_lines.LIBRARIES)
def test_the_lines_on_the_page_are_those_that_were_run(name: str) -> None:
    now, then = page_lines.digest(LINES[name]), RECORDED["lines"][name]["digest"]
    assert now == then, f"the lines of {name} have changed: `make peers` runs them"


def test_versions_are_those_that_are_installed_to_measure_and_to_test() -> None:
    folder = pages.ROOT / "benchmarks" / "peers"
    measured, tested = (
        dict(line.split("==") for line in file.read_text().splitlines() if "==" in line)
        for file in (folder / "requirements.txt", pages.ROOT / "requirements-dev.txt")
    )
    assert {name: measured[name] for name in page_lines.LIBRARIES} == RECORDED["versions"]
    assert {name: tested[name] for name in INSTALLED} == {name: measured[name] for name in INSTALLED}


def test_pairs_have_ten_lines_each_and_those_of_others_do_without_infex() -> None:
    halves = [block.code for pair in zip(LINES.values(), OURS, strict=True) for block in pair]
    assert [len([line for line in code.splitlines() if line]) for code in halves[:8]] == [10] * 8
    assert all(name in block.code and "infex" not in block.code for name, block in LINES.items())


def test_both_halves_decide_alike() -> None:
    mabwiser, contextual = (RECORDED["lines"][name]["decided"] for name in ("mabwiser", "contextualbandits"))
    shop, other = ours(0), ours(1)
    assert (shop["drink"].label, list(shop["drinks"])) == (mabwiser["drink"], mabwiser["drinks"])
    assert (other["drink"].label, list(other["surest"])) == (contextual["drink"], contextual["surest"])
    assert RECORDED["rounds alike, of 300"] == {"mabwiser": 300, "contextualbandits": 300}


def upper_bounds(x: Floats, log: list[tuple[Floats, str, float]], labels: list[str]) -> list[float]:
    """LinUCB with alpha = 1 and a penalty of 1, for each arm, by NumPy (Li et al., 2010, Algorithm 1)."""
    found = []
    for label in labels:
        mine = [(seen, reward) for seen, played, reward in log if played == label]
        inverse = np.linalg.inv(
            np.eye(x.size) + sum((np.outer(seen, seen) for seen, _ in mine), np.zeros((2, 2)))
        )
        theta = inverse @ sum((reward * seen for seen, reward in mine), np.zeros(2))
        found.append(float(x @ theta + np.sqrt(x @ inverse @ x)))
    return found


def test_our_half_of_mabwiser_decides_as_the_definition() -> None:
    shop = ours(0)
    rows = [np.array(row) for row in shop["visits"]]
    log = list(zip(rows, ["tea", "coffee", "tea"], [1.0, 0.0, 1.0], strict=True))
    x = np.array([1.0, 0.3])
    assert shop["drink"].label == ["tea", "coffee"][int(np.argmax(upper_bounds(x, log, ["tea", "coffee"])))]
    log.append((x, shop["drink"].label, 1.0))
    for seen, drink in zip([[1.0, 0.5], [1.0, 0.8]], shop["drinks"], strict=True):
        assert drink == ["tea", "juice"][int(np.argmax(upper_bounds(np.array(seen), log, ["tea", "juice"])))]


def test_our_half_of_contextualbandits_explores_once_and_of_vowpal_wabbit_tells_its_chance() -> None:
    assert ours(1)["shop"].exploration().done == 1
    news = ours(2)
    assert news["shown"].label in news["actions"]
    assert news["chance"] == pytest.approx(0.95 if news["shown"].arm == news["shown"].greedy else 0.05)
    assert news["loaded"].digest() == news["news"].digest()


def test_mabwiser_chooses_the_same_arm_in_each_of_300_rounds() -> None:
    from mabwiser.mab import MAB, LearningPolicy

    rng = np.random.default_rng(5)
    contexts, rewards = rng.random((400, 3)), rng.normal(size=400)
    arms = [int(arm) for arm in rng.integers(4, size=100)]
    theirs = MAB(list(range(4)), LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0))
    theirs.fit(arms, rewards[:100], contexts[:100])
    bandit = infex.Bandit(
        features=infex.features.disjoint(4, 3, longest=2.0), policy=infex.policies.FixedBonusUCB(bonus=1.0)
    )
    bandit.learn(contexts[:100], arms, rewards[:100])
    for context, reward in zip(contexts[100:], rewards[100:], strict=True):
        decision = bandit.ask(context)
        assert theirs.predict([context]) == decision.arm
        bandit.tell(decision, reward)
        theirs.partial_fit([decision.arm], [reward], [context])


def test_coba_chooses_the_same_arms_on_the_same_rounds() -> None:
    from coba import LinUCBLearner

    rng = np.random.default_rng(6)
    theirs = LinUCBLearner(alpha=1.0, features=["a"])
    bandit = infex.Bandit(dim=3, policy=infex.policies.FixedBonusUCB(bonus=1.0))
    for reward in rng.normal(size=200):
        rows = rng.normal(size=(5, 3)) / 4
        decision = bandit.ask(rows)
        action, chance = theirs.predict(None, [tuple(row) for row in rows.tolist()])[:2]
        assert action == tuple(rows[decision.arm].tolist())
        bandit.tell(decision, reward)
        theirs.learn(None, action, reward, chance)
