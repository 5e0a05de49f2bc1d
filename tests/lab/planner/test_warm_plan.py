"""A plan with a log begins with what the log has taught."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, power
from infex.cli.inputs import read_logged
from infex.cli.main import main
from infex.errors import InvalidReward, InvalidSetting
from infex.features import disjoint
from infex.lab import plan, play_many
from infex.lab.environments import LinearInstance, changing
from infex.lab.planner.beliefs import Belief, belief, belief_of_log
from infex.lab.planner.race import Candidate, is_within
from infex.lab.planner.report import front_figure
from infex.logs import Log, write
from infex.models.ridge import RidgeModel
from infex.policies import UCB1


def shop(rewards: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arms, and the arms and rewards of a log."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(20, 5))
    arms /= np.linalg.norm(arms, axis=1).max()
    theta = rng.normal(size=5)
    which = rng.integers(20, size=rewards)
    return arms, which, arms[which] @ (theta / np.linalg.norm(theta)) + 0.5 * rng.normal(size=rewards)


POLICIES = [Greedy(), LinUCB(scale=0.3), Infex(LinUCB(), every(7)), Infex(LinTS(scale=0.2), power(0.75))]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_runs_begin_with_what_was_learnt(policy: LinUCB) -> None:
    """A bandit that learnt the log first, told the rewards of the run, plays the same arms."""
    arms, which, rewards = shop(60)
    known = belief(arms, None, None, None, 0.5, 1.0, (which, rewards))
    problems = [known.instance(number, 0) for number in range(3)]
    runs = play_many(problems, policy, 150, range(3), paired=True, learnt=known.learnt, record=True)
    cold = play_many(problems, policy, 150, range(3), paired=True, record=True)
    assert any(not np.array_equal(run.arms, other.arms) for run, other in zip(runs, cold, strict=True))
    for problem, run in zip(problems, runs, strict=True):
        bandit = Bandit(problem.arms, run.policy)
        bandit.learn(arms=which, rewards=rewards)
        assert run.arms is not None
        assert run.rewards is not None
        for arm, reward in zip(run.arms.tolist(), run.rewards.tolist(), strict=True):
            decision = bandit.ask()
            drawn = decision.propensity is None  # by LinTS, whose draws in a run are others
            assert drawn or decision.arm == arm
            bandit.drop(decision)
            bandit.learn(arms=[arm], rewards=[reward])


def test_a_log_that_has_taught_enough_needs_no_exploration() -> None:
    arms, which, rewards = shop(4000)
    answer = plan(arms, horizon=500, noise=0.5, logged=(which, rewards), seconds=0.6, workers=1)
    assert (answer.recommended, answer.explorations, answer.code) == ("Greedy", 0, "infex.Greedy()")
    assert answer.when == "never"
    assert answer.why.startswith("You need no exploration: what the log has taught is enough.")
    assert "with which every run begins" in answer.assumed
    none = plan(arms, horizon=500, noise=0.5, logged=(which, rewards), seconds=0.3, max_count=0, workers=1)
    assert none.explorations == 0
    with pytest.raises(InvalidSetting, match="nothing to plan but"):
        plan(arms, horizon=500, noise=0.5, seconds=0.3, max_count=0, workers=1)


def test_no_exploration_at_all_has_a_place_in_the_picture() -> None:
    """Zero has none on a log scale: matplotlib warned, and left out what is recommended."""
    arms, which, rewards = shop(4000)
    answer = plan(arms, horizon=500, noise=0.5, logged=(which, rewards), seconds=0.6, workers=1)
    assert answer.explorations == 0
    (axes,) = front_figure(answer).axes
    low, high = axes.get_xlim()
    assert low <= 0 < high


def test_a_log_without_rewards_teaches_nothing() -> None:
    """Empty lists were no indices: an IndexError of NumPy's."""
    known = belief(np.eye(2), None, None, None, None, 1.0, ([], []))
    assert (known.logged, known.noise) == (0, 1.0)
    assert known.mean is not None
    np.testing.assert_array_equal(known.mean, np.zeros(2))


def test_what_loses_nothing_is_within_any_factor() -> None:
    one, other = Candidate(Greedy(), 0), Candidate(Greedy(), 0)
    one.record(np.zeros(20), np.zeros(20))
    other.record(np.zeros(20), np.zeros(20))
    assert is_within(one, other, 1.1)
    other.record(np.full(20, 3.0), np.zeros(20))
    assert is_within(one, other, 1.1)
    assert not is_within(other, one, 1.1)


def test_runs_that_cannot_begin_so_are_refused() -> None:
    learnt = RidgeModel(np.eye(2), 1.0)
    with pytest.raises(InvalidSetting, match="only if rewards come at once"):
        play_many(changing(dim=2, arms=3, seed=0, late=3), LinUCB(), 10, learnt=learnt)
    with pytest.raises(InvalidSetting, match="only if the policy is compiled"):
        play_many(LinearInstance(np.eye(2), np.ones(2) / 3), UCB1(), 10, learnt=learnt)
    with pytest.raises(InvalidSetting, match="of 2 features"):
        play_many(LinearInstance(np.eye(3), np.ones(3) / 3), LinUCB(), 10, learnt=learnt)


def test_the_command_takes_arms_from_a_log_and_names_what_it_does_not_read(tmp_path: Path) -> None:
    arms, which, rewards = shop(1500)
    rewards[3] = np.nan
    labels = tuple(f"sku-{k}" for k in range(20))
    write(Log(arm=which, reward=rewards, arms=arms, labels=labels), tmp_path / "year.parquet")
    words = ["plan", "--logged", str(tmp_path / "year.parquet"), "--horizon", "300", "--noise", "0.5"]
    words += ["--seconds", "0.3", "--out", str(tmp_path / "plan"), "--json"]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    said = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert said["question"]["logged"] == 1499
    assert said["arms"][0]["label"].startswith("sku-")
    (tmp_path / "log.csv").write_text("arm,reward,propensity,age\n0,1.0,0.5,30\n")
    assert (
        read_logged(tmp_path / "log.csv")[1] == "1 logged rewards; columns that are not read: propensity, age"
    )
    write(Log(arm=[0], reward=[1.0], offers=np.ones((1, 2, 2)) / 2), tmp_path / "given.parquet")
    assert isinstance(read_logged(tmp_path / "given.parquet")[0], Log)


def noisy_log(rng: np.random.Generator, noise: float, kind: str) -> Log:
    """Four hundred rounds of five arms in three features, fixed or other ones in every round, or contexts."""
    arm = rng.integers(5, size=400)
    offers = rng.normal(size=(400, 5, 3)) / 3
    if kind == "contexts":
        contexts, thetas = offers[:, 0], rng.normal(size=(5, 3))
        reward = np.einsum("nd,nd->n", contexts, thetas[arm]) + noise * rng.normal(size=400)
        return Log(arm=arm, reward=reward, context=contexts, features=disjoint(5, 3, longest=3.0))
    looks = offers if kind == "offers" else np.tile(offers[0], (400, 1, 1))
    reward = looks[np.arange(400), arm] @ rng.normal(size=3) + noise * rng.normal(size=400)
    return Log(arm=arm, reward=reward, **({"offers": offers} if kind == "offers" else {"arms": offers[0]}))


def believed(log: Log, noise: float | None) -> Belief:
    if log.arms is None:
        return belief_of_log(log, noise, 20.0)
    return belief(log.arms, None, None, None, noise, 20.0, (log.arm, log.reward))


@pytest.mark.filterwarnings("ignore::infex.errors.LargeReward")
@pytest.mark.parametrize("kind", ["fixed", "offers", "contexts"])
@pytest.mark.parametrize("noise", [0.1, 7.0])
def test_the_noise_is_what_the_model_leaves_unless_it_is_told(kind: str, noise: float) -> None:
    log = noisy_log(np.random.default_rng(5), noise, kind)
    found, told = believed(log, None), believed(log, 2.0)
    assert found.noise == pytest.approx(noise, rel=0.1)
    assert found.noise_by == "from what the linear model leaves of logged rewards"
    assert (told.noise, told.noise_by) == (2.0, "as it was given")
    if log.arms is not None:
        rows, dof = log.arms[log.arm], 400 - 3
        left = log.reward - rows @ np.linalg.lstsq(rows, log.reward)[0]
        assert found.noise == pytest.approx(float(np.sqrt(left @ left / dof)), rel=1e-3)


def test_rewards_that_leave_nothing_have_the_noise_1_and_say_so() -> None:
    answer = plan([[1.0, 0.0], [0.0, 1.0]], horizon=50, logged=([0, 1], [1.0, 0.0]), seconds=0.3)
    assert answer.question.noise == 1.0
    assert "too few" in answer.assumed


def test_a_log_whose_offers_differ_in_number_is_refused_with_what_would_do() -> None:
    log = noisy_log(np.random.default_rng(6), 0.5, "offers")
    offered = np.ones((400, 5), dtype=bool)
    offered[:30] = np.arange(5) == log.arm[:30, None]
    ragged = replace(log, offered=offered)
    with pytest.raises(InvalidReward, match=r"in 30 of 400 rounds .*=log.take\(log.offered.all\(axis=1\)\)"):
        plan(horizon=50, logged=ragged, seconds=0.3)
    assert belief_of_log(ragged.take(np.flatnonzero(offered.all(axis=1))), None, 5.0).offers is not None


def test_arms_that_are_given_beside_a_log_are_those_of_the_plan() -> None:
    """They were left out without a word: the log's own features were simulated."""
    arms, which, rewards = shop(60)
    labels = tuple("abcdefghijklmnopqrst")
    log = Log(arm=which, reward=rewards, arms=arms, labels=labels)
    mine = arms[::-1, :2]
    found = plan(mine, labels="tsrqponmlkjihgfedcba", logged=log, horizon=100, seconds=0.2, workers=1)
    assert found.question.dim == 2
    by_label = plan(
        mine, labels="tsrqponmlkjihgfedcba", logged=([labels[arm] for arm in which], rewards),
        horizon=100, seconds=0.2, workers=1,
    )  # fmt: skip
    assert by_label.regret == found.regret
