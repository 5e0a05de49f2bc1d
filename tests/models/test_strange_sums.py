"""Crafted files: sums, pulls and starts that no rewards lead to; and good ones that were refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, LinUCB, every, models
from infex.bandit import archive
from infex.errors import DamagedFile
from infex.policies import UCB1, ContextReduction, RarelySwitchingUCB

ESTIMATORS = [
    None,
    models.Lasso(),
    models.Discounted(),
    models.Discounted(rate=1.0),
    models.Windowed(size=4),
    models.Logistic(),
]


def told(estimator: Any, policy: Any = LinUCB(), rounds: int = 9) -> Bandit:  # noqa: B008
    bandit = Bandit(np.eye(3), policy, estimator=estimator)
    for t in range(rounds):
        bandit.tell(bandit.ask(), float(t % 3 > 0))
    return bandit


def crafted(bandit: Bandit, path: Path, change: Callable[[Any, Any], None]) -> Bandit:
    bandit.save(path)
    stored, arrays = archive.read(path)
    change(stored, arrays)
    archive.write(path, stored, arrays)
    return Bandit.load(path)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_sums_that_are_none_are_refused(tmp_path: Path, estimator: Any) -> None:
    """Negated ones were believed: intervals were turned round, or no numbers."""
    names = [
        name
        for name in told(estimator)._agent.model.arrays()
        if name.endswith(("truth", "faded", "faded twice"))
    ]
    for name in names:

        def negate(stored: Any, arrays: Any, name: str = name) -> None:
            arrays[name] = -arrays[name]
            arrays.pop("all closed", None)

        def grow(stored: Any, arrays: Any, name: str = name) -> None:
            arrays[name] = arrays[name] * 1e14
            arrays.pop("all closed", None)

        def tilt(stored: Any, arrays: Any, name: str = name) -> None:
            arrays[name][0, 1, 0] = 50.0
            arrays.pop("all closed", None)

        for change in (negate, grow, tilt):
            with pytest.raises(DamagedFile):
                crafted(told(estimator), tmp_path / "x.infex", change)


def test_sums_without_what_was_derived_are_checked_too(tmp_path: Path) -> None:
    def huge(stored: Any, arrays: Any) -> None:
        arrays["all truth"][0, -1] = 1.7e308
        arrays["all truth"][1, -1] = 1.7e308
        del arrays["all closed"]

    with pytest.raises(DamagedFile, match="no theta follows"):
        crafted(told(None), tmp_path / "x.infex", huge)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("pulls", [[1.5, 0.0, 0.0], [5.0, 5.0, 0.0], [-1.0, 0.0, 0.0], [9.0, 0.0, 1.0]])
def test_pulls_that_were_not_told_are_refused(tmp_path: Path, estimator: Any, pulls: list[float]) -> None:
    def count(stored: Any, arrays: Any) -> None:
        arrays["all counts"][0] = pulls

    with pytest.raises(DamagedFile, match="pulls must be"):
        crafted(told(estimator, UCB1()), tmp_path / "x.infex", count)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=repr)
def test_any_start_of_a_search_that_ends_is_believed(tmp_path: Path, estimator: Any) -> None:
    """Starts a hundred times as far out as the solution were refused; rewards may change as much."""

    def far(stored: Any, arrays: Any) -> None:
        arrays["all start"] = arrays["all next start"] = np.array([300.0, -300.0, 5.0])

    bandit = crafted(told(estimator), tmp_path / "x.infex", far)
    np.testing.assert_allclose(bandit.estimates().estimate, told(estimator).estimates().estimate, atol=1e-6)


@pytest.mark.parametrize("estimator", [models.Lasso(), models.Logistic()], ids=repr)
def test_a_start_from_which_nothing_is_found_is_refused(tmp_path: Path, estimator: Any) -> None:
    def lost(stored: Any, arrays: Any) -> None:
        arrays["all start"] = np.array([1e308, -1e308, 1e308])

    try:
        bandit = crafted(told(estimator), tmp_path / "x.infex", lost)
    except DamagedFile as error:
        assert "its theta would not be finite" in str(error)  # noqa: PT017
    else:
        np.testing.assert_allclose(
            bandit.estimates().estimate, told(estimator).estimates().estimate, atol=1e-6
        )


def test_rewards_that_fall_to_nothing_leave_a_file_that_loads_and_arms_that_can_go(tmp_path: Path) -> None:
    policy = Infex(LinUCB(noise=1000, bound=1000), every(2))
    bandit = Bandit(np.eye(2), policy, estimator=models.Windowed(size=2), labels=["a", "b"])
    for _ in range(5):
        bandit.tell(bandit.ask(), 1000.0)
    late = [bandit.ask() for _ in range(8)]
    for decision in late[:-1]:
        bandit.tell(decision, 0.0)
    bandit.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex").digest() == bandit.digest()
    bandit.remove_arms(late[-1].label)
    bandit.tell(late[-1], 1.0)
    assert len(bandit.labels or ()) == 1


def reduction(base: Any) -> Bandit:
    return Bandit(dim=3, policy=ContextReduction(base, samples=np.array([np.eye(3)]), directions=5))


def test_a_reduction_of_a_file_takes_no_memory_that_is_not_there(tmp_path: Path) -> None:
    def huge(stored: Any, arrays: Any) -> None:
        stored["policy"]["directions"] = 10**13

    with pytest.raises(DamagedFile, match="directions must be at most 1000000"):
        crafted(reduction(LinUCB()), tmp_path / "x.infex", huge)


def test_a_reduction_reads_notes_of_its_base_alone(tmp_path: Path) -> None:
    def note(stored: Any, arrays: Any) -> None:
        stored["policy_state"] = "inf"

    with pytest.raises(DamagedFile, match="policy's state"):
        crafted(reduction(RarelySwitchingUCB()), tmp_path / "x.infex", note)
