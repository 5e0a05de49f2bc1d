"""A plan for contexts begins with what a log of contexts has taught."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from infex import Bandit, Greedy, Infex, LinUCB, every, features
from infex.cli.main import main
from infex.errors import InfexError, InvalidArms, InvalidReward, InvalidSetting, LargeReward
from infex.lab import plan, play_many
from infex.lab.environments import ChangingInstance, ContextualInstance
from infex.lab.environments.instances import OfferSets
from infex.lab.planner.beliefs import belief_of_log, with_map
from infex.logs import Log, write
from infex.logs.columns import map_named

ARMS, WIDTH = 3, 2
POLICIES = [
    Greedy(),
    LinUCB(scale=0.3),
    Infex(LinUCB(), every(7)),
    Infex(LinUCB(scale=0.2), every(5), data="own"),
]


def visits(rewards: int, seed: int = 0, longest: float = 1.0) -> Log:
    """A log of contexts and arms, each with a parameter of its own."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(rewards, WIDTH))
    contexts /= np.linalg.norm(contexts, axis=1)[:, None]
    thetas = np.array([[0.8, 0.1], [-0.2, 0.7], [0.1, -0.9]])
    arm = rng.integers(ARMS, size=rewards)
    reward = np.einsum("nc,nc->n", contexts, thetas[arm]) + 0.3 * rng.normal(size=rewards)
    return Log(
        arm=arm,
        reward=reward,
        context=contexts * longest,
        features=features.disjoint(ARMS, WIDTH, longest=longest),
    )


def pairs_map() -> features.FeatureMap:
    return features.hybrid(shared=features.interactions([[0.6, 0.0], [0.0, 0.7], [0.5, 0.5]], WIDTH))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("longest", [1.0, 4.0])
def test_runs_in_contexts_begin_with_what_was_learnt(policy: Any, longest: float) -> None:
    """A bandit that learnt the log first, asked in the contexts of the run, plays the same arms."""
    log = visits(40, longest=longest)
    known = belief_of_log(log, 0.3, 1.0)
    problems = [known.instance(number, 0) for number in range(2)]
    settings: Any = {"penalty": known.penalty, "paired": True, "record": True}
    runs = play_many(problems, policy, 120, range(2), learnt=known.learnt, **settings)
    cold = play_many(problems, policy, 120, range(2), **settings)
    assert any(not np.array_equal(run.arms, other.arms) for run, other in zip(runs, cold, strict=True))
    for problem, run in zip(problems, runs, strict=True):
        assert isinstance(problem, ContextualInstance)
        bandit = Bandit(features=log.features, policy=run.policy)
        bandit.learn(log.context, log.arm, log.reward)
        contexts = np.concatenate([part for _, part in problem.rounds(run.seed, 120)]) * longest
        assert run.arms is not None
        assert run.rewards is not None
        for context, arm, reward in zip(contexts, run.arms.tolist(), run.rewards.tolist(), strict=True):
            decision = bandit.ask(context=context)
            assert decision.arm == arm
            bandit.tell(decision, reward)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_runs_of_arms_that_change_begin_with_what_was_learnt(policy: Any) -> None:
    log = with_map(visits(40), pairs_map())
    known = belief_of_log(log, 0.3, 1.0)
    problem = known.instance(0, 0)
    assert isinstance(problem, ChangingInstance)
    (run,) = play_many(problem, policy, 120, penalty=known.penalty, record=True, learnt=known.learnt)
    bandit = Bandit(dim=known.dim, policy=run.policy, penalty=known.penalty)
    rows = np.array([pairs_map()(context)[arm] for context, arm in zip(log.context, log.arm, strict=True)])
    bandit.learn(arms=rows, rewards=log.reward)
    blocks = np.concatenate([part for _, part in problem.blocks(run.seed, 120)])
    assert run.arms is not None
    assert run.rewards is not None
    for columns, arm, reward in zip(blocks, run.arms.tolist(), run.rewards.tolist(), strict=True):
        decision = bandit.ask(arms=columns.T)
        assert decision.arm == arm
        bandit.tell(decision, reward)


def test_the_posterior_of_blocks_is_that_of_rows_with_each_arm_in_its_place() -> None:
    """Bayes by hand: precision I/prior + sum x x'/noise^2 in all dimensions at once."""
    log, noise, bound = visits(60), 0.3, 1.5
    known = belief_of_log(log, noise, bound)
    rows = np.zeros((60, ARMS * WIDTH))
    for place, (context, arm) in enumerate(zip(np.asarray(log.context), log.arm, strict=True)):
        rows[place, WIDTH * arm : WIDTH * (arm + 1)] = context
    precision = np.eye(ARMS * WIDTH) * WIDTH / bound**2 + rows.T @ rows / noise**2
    covariance = np.linalg.inv(precision)
    assert known.mean is not None
    assert known.root is not None
    np.testing.assert_allclose(known.mean.ravel(), covariance @ rows.T @ log.reward / noise**2, atol=1e-12)
    for arm in range(ARMS):
        block = slice(WIDTH * arm, WIDTH * (arm + 1))
        np.testing.assert_allclose(known.root[arm] @ known.root[arm].T, covariance[block, block], atol=1e-12)


def test_contexts_are_those_of_the_log() -> None:
    log = visits(25)
    known = belief_of_log(log, 0.3, 1.0)
    problem = known.instance(5, 1)
    assert isinstance(problem, ContextualInstance)
    seen = {tuple(row) for row in np.round(np.asarray(log.context), 12)}
    drawn = np.concatenate([part for _, part in problem.rounds(3, 400)])
    assert {tuple(row) for row in np.round(drawn, 12)} == seen


def test_a_log_of_contexts_that_has_taught_enough_needs_no_exploration() -> None:
    answer = plan(logged=visits(6000), horizon=400, noise=0.3, seconds=0.4)
    assert (answer.explorations, answer.code) == (0, "infex.Greedy()")
    assert answer.why.startswith("You need no exploration: what the log has taught is enough.")
    assert "as in 4,096 rounds of the log" in answer.assumed
    assert sum(arm.best for arm in answer.arms) == pytest.approx(1.0)


def test_arms_that_the_log_never_played_are_to_be_explored() -> None:
    """One arm was always played: the others may be better, and greedy never finds out."""
    log = visits(2000)
    mine = log.take(log.arm == 0)
    answer = plan(logged=mine, horizon=2000, noise=0.3, seconds=6, keep_within=1.05, workers=1)
    assert answer.explorations > 0


@pytest.mark.parametrize("words", ["disjoint", "interactions", "hybrid"])
def test_the_command_plans_for_columns_of_contexts(tmp_path: Path, words: str) -> None:
    log = visits(600)
    assert log.context is not None
    names = "arm,reward,x,y\n"
    rows = zip(log.arm.tolist(), log.reward.tolist(), log.context.tolist(), strict=True)
    text = names + "".join(f"{arm},{reward},{x},{y}\n" for arm, reward, (x, y) in rows)
    (tmp_path / "log.csv").write_text(text)
    (tmp_path / "arms.csv").write_text("a,b\n0.6,0\n0,0.7\n0.5,0.5\n")
    said = [
        "plan",
        "--logged",
        str(tmp_path / "log.csv"),
        "--context",
        "x",
        "--context",
        "y",
        "--features",
        words,
    ]
    said += ["--horizon", "200", "--noise", "0.3", "--seconds", "0.15", "--out", str(tmp_path / "out")]
    said += [] if words == "disjoint" else ["--arms", str(tmp_path / "arms.csv")]
    found = CliRunner().invoke(main, said)
    assert found.exit_code == 0, found.output
    assert "600 logged rewards of 3 arms; map: " in found.output
    data = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert (data["question"]["logged"], data["question"]["offers"]) == (600, 600)


def test_the_command_plans_for_categories_and_for_logs_of_infex(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    text = "arm,reward,age,country\n"
    for _ in range(300):
        age, country, arm = rng.integers(18, 80), rng.choice(["FR", "DE"]), rng.choice(["tea", "coffee"])
        text += f"{arm},{float((arm == 'tea') == (country == 'FR'))},{age},{country}\n"
    (tmp_path / "log.csv").write_text(text)
    said = ["plan", "--logged", str(tmp_path / "log.csv"), "--context", "age", "--context", "country"]
    rest = ["--horizon", "200", "--noise", "0.5", "--seconds", "0.15", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(main, [*said, "--features", "table disjoint", *rest])
    assert found.exit_code == 0, found.output
    assert "{'country': ['DE', 'FR']}" in found.output.replace("\n", " ")
    refused = CliRunner().invoke(main, [*said, *rest])
    assert refused.exit_code == 2
    assert "contexts need a map" in refused.output
    write(visits(300), tmp_path / "own.parquet")
    own = CliRunner().invoke(main, ["plan", "--logged", str(tmp_path / "own.parquet"), *rest])
    assert own.exit_code == 0, own.output


def test_what_cannot_be_planned_is_refused() -> None:
    log = visits(50)
    bare = Log(arm=log.arm, reward=log.reward)
    ragged = Log(
        arm=[0, 1], reward=[0.0, 1.0], offers=np.ones((2, 2, 1)), offered=[[True, True], [False, True]]
    )
    settings: Any = {"horizon": 100, "seconds": 0.5}
    for bad, words in [(bare, "what its arms look like"), (ragged, "other numbers of arms")]:
        with pytest.raises(InvalidReward, match=words):
            plan(logged=bad, **settings)
    with pytest.raises(InvalidSetting, match="this log has none"):
        plan(logged=bare, features=pairs_map(), **settings)
    with pytest.raises(InvalidSetting, match="leave out arms"):
        plan(np.eye(3), logged=log, **settings)
    with pytest.raises(InvalidSetting, match="features need logged"):
        plan(np.eye(3), features=pairs_map(), **settings)
    with pytest.warns(LargeReward, match="do not fit noise 0.01"):
        belief_of_log(log, 0.01, 1.0)


@pytest.mark.parametrize(
    ("words", "columns", "message"),
    [
        ("disjoint", [], "has no contexts"),
        ("table", ["age"], "features must be one of"),
        ("disjoint hybrid", ["age"], "features must be one of"),
        ("table disjoint", [], "name the columns"),
        ("table disjoint", ["size"], "no column 'size'"),
        ("table disjoint", ["one"], "is 3 in all rows"),
        ("table interactions", ["age"], "needs the features of arms"),
        ("no.such.module:map", ["age"], "cannot load the feature map"),
    ],
)
def test_words_that_name_no_map_are_refused(words: str, columns: list[str], message: str) -> None:
    log = Log(arm=[0, 1], reward=[0.0, 1.0], others={"age": np.array([20, 30]), "one": np.array([3, 3])})
    with pytest.raises(InfexError, match=message):
        map_named(words, log, columns, None)


def test_sets_of_offers_are_checked_once() -> None:
    with pytest.raises(InvalidArms, match="finite and no longer than 1"):
        OfferSets(np.full((2, 3, 2), 0.9))
    with pytest.raises(InvalidArms, match="finite"):
        OfferSets(np.full((1, 1, 1), np.nan))
    with pytest.raises(InvalidArms, match="the shape"):
        OfferSets(np.zeros((2, 2)))
    shared = OfferSets(np.full((2, 3, 2), 0.5))
    first, second = (ChangingInstance(theta=theta, arms=3, sets=shared) for theta in ([0.1, 0.2], [0.3, 0.1]))
    assert np.shares_memory(first.sets, second.sets)
    with pytest.raises(InvalidArms, match="of 2 arms of 2 features"):
        ChangingInstance(theta=[0.1, 0.2], arms=2, sets=shared)
    with pytest.raises(InvalidSetting, match="must be contexts of 2 features"):
        ContextualInstance(thetas=[[0.1, 0.2]], sets=shared)
