"""An evaluation says where rewards do not fit the noise and the bound that an interval rests on."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex import evaluation
from infex.cli.main import main
from infex.errors import LargeReward
from infex.logs import Log, LogFacts

MEANS = np.array([30.0, 50.0, 90.0])
TARGETS = {"now": evaluation.logged, "last": 2}


def euros(scale: float = 1.0, **more: Any) -> Log:
    """A log without probabilities, of rewards from 0 to 250 whose means are 30, 50 and 90."""
    rng = np.random.default_rng(3)
    arm = rng.integers(3, size=600)
    reward = np.clip(MEANS[arm] + 20.0 * rng.normal(size=600), 0.0, 250.0)
    return Log(arm=arm, reward=scale * reward, arms=np.eye(3), **more)


def warned(call: Any, *given: Any, **more: Any) -> Any:
    """What a call gives, which must warn exactly once."""
    with pytest.warns(LargeReward) as caught:
        found = call(*given, **more)
    assert len(caught) == 1
    return found, str(caught[0].message)


def quiet(call: Any, *given: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*given, **more)


@pytest.mark.parametrize("settings", [{}, {"rewards": (0, 250)}, {"noise": 20.0}, {"bound": 5.0}])
def test_one_is_warned_of_a_bound_that_rewards_contradict(settings: dict[str, Any]) -> None:
    found, words = warned(evaluation.evaluate, euros(), TARGETS, estimator="dm", **settings)
    assert f"600 logged rewards lie beyond what bound {settings.get('bound', 1.0):g} allows" in words
    assert "they need a bound of at least " in words
    assert "Set both in the unit of the rewards" in words
    assert [each.words for each in found.findings if each.kind == "large rewards"] == [words]
    assert words in str(found)
    assert found["last"].ground == "assumed"


def test_a_bound_of_that_size_ends_the_warning() -> None:
    _, words = warned(evaluation.evaluate, euros(), TARGETS, estimator="dm")
    enough = float(words.split("at least ")[1].split(",")[0].split(" ")[0])
    assert 80.0 < enough < np.linalg.norm(MEANS)
    found = quiet(evaluation.evaluate, euros(), TARGETS, estimator="dm", bound=enough)
    assert "bound" not in " ".join(each.words for each in found.findings)


def test_one_is_warned_of_noise_that_rewards_contradict() -> None:
    """A log of a bandit that kept the noise and the bound of 1."""
    log = euros(facts=LogFacts(noise=1.0, bound=1.0))
    found, words = warned(evaluation.evaluate, log, TARGETS, estimator="dm")
    assert "do not fit noise 1 and bound 1: they lie " in words
    assert found["last"].ground == "assumed"


def test_rewards_that_fit_are_not_warned_of() -> None:
    found = quiet(evaluation.evaluate, euros(1 / 250), TARGETS, estimator="dm", rewards=(0, 1))
    assert "large rewards" not in [each.kind for each in found.findings]
    arm = np.tile([0, 1], 20)
    constant = Log(arm=arm, reward=np.zeros(40))
    quiet(evaluation.evaluate, constant, {"first": 0}, estimator="dm")
    facts = LogFacts(noise=1e-12, bound=1.0)
    exact = Log(arm=arm, reward=np.array([0.6, 0.8])[arm], arms=np.eye(2), facts=facts)
    quiet(evaluation.evaluate, exact, {"first": 0}, estimator="dm")


def test_weights_do_not_rest_on_a_bound() -> None:
    log = euros(propensity=np.full(600, 1 / 3))
    quiet(evaluation.evaluate, log, TARGETS, estimator="ips", rewards=(0, 250))


def test_learning_parts_and_checks_say_so_too() -> None:
    warned(evaluation.learn, euros())
    warned(evaluation.evaluate_parts, [euros(), euros()], {"last": 2})
    checked = quiet(evaluation.check, euros())
    assert "600 logged rewards lie beyond what bound 1 allows" in str(checked)


def test_the_page_and_the_console_say_so(tmp_path: Path) -> None:
    evaluation.write(euros(), tmp_path / "euros.parquet")
    page = tmp_path / "evaluation.html"
    asked = ["evaluate", str(tmp_path / "euros.parquet"), "--policy", "last=2", "--estimator", "dm"]
    result = CliRunner().invoke(main, [*asked, "--page", str(page)])
    assert result.exit_code == 0
    assert "they need a bound of at least" in result.stdout
    assert "warning: 600 logged rewards lie beyond" in result.stderr
    assert "they need a bound of at least" in page.read_text()
    again = CliRunner().invoke(main, [*asked, "--bound", "120"])
    assert (again.exit_code, "bound of at least" in again.output) == (0, False)


def test_a_bandit_warns_of_the_same_rewards() -> None:
    log = euros()
    bandit = infex.Bandit(np.eye(3), infex.LinUCB())
    with pytest.warns(LargeReward):
        bandit.tell(bandit.ask(), float(log.reward[0]))
