"""A log whose schedule was changed on the way is evaluated by the blocks of the schedule in force."""

import itertools

import numpy as np
import pytest

from infex import Infex, LinUCB, every, jittered
from infex.evaluation import Log, evaluate, evaluate_parts, logged
from infex.logs import LogFacts
from infex.policies import Softened
from infex.registry import label_of
from infex.schedules import Every, Jittered

ROUNDS, CHANGE = 600, 243
TARGETS = {"now": logged, "other": 1}
CHANGES = list(
    itertools.permutations(["jittered(10)", "jittered(8)", "every(20)", "every(7)", "always()"], 2)
)


def schedule(text: str, seed: int) -> Every | Jittered:
    if text == "always()":
        return every(1)
    kind, length = text.rstrip(")").split("(")
    return jittered(int(length), seed) if kind == "jittered" else every(int(length))


def changed_log(texts: tuple[str, str], seed: int, means: np.ndarray, told: bool = True) -> Log:
    """Arm 0 is greedy, explorations draw one of two; what arms earn grows with the change."""
    rng = np.random.default_rng(seed)
    eras = [schedule(text, seed) for text in texts]
    in_force = [eras[t > CHANGE] for t in range(1, ROUNDS + 1)]
    explored = np.array([each.explores(t) for t, each in enumerate(in_force, 1)])
    arm = np.where(explored, rng.integers(2, size=ROUNDS), 0)
    policies = [label_of(Infex(Softened(LinUCB(), share=0.5), each)) for each in eras]
    return Log(
        arm=arm,
        reward=(rng.random(ROUNDS) < means[np.arange(ROUNDS), arm]).astype(float),
        explored=explored,
        explore_probability=np.array([each.explore_probability(t) for t, each in enumerate(in_force, 1)]),
        base_propensity=np.where(explored, 0.5, np.nan),
        greedy=np.zeros(ROUNDS, dtype=int),
        facts=LogFacts(rewards=(0, 1)),
        others={
            "policy": np.array([(policies if told else texts)[t > CHANGE] for t in range(1, ROUNDS + 1)])
        },
    )


@pytest.mark.parametrize("told", [True, False], ids=["known schedules", "schedules of somebody else"])
@pytest.mark.parametrize("texts", CHANGES, ids=" then ".join)
def test_what_was_played_is_worth_the_mean_reward_of_represented_rounds(
    texts: tuple[str, str], told: bool
) -> None:
    means = np.where(np.arange(ROUNDS)[:, None] < CHANGE, [0.2, 0.4], [0.7, 0.9])
    log = changed_log(texts, 1, means, told)
    found = evaluate(log, TARGETS)
    covered = found.analysis.design.covered
    assert (~covered).sum() <= 40  # two blocks that the change cut, and one at each end
    assert found["now"].value == pytest.approx(log.reward[covered].mean(), abs=1e-12)
    assert found["now"].low < log.reward.mean() < found["now"].high


@pytest.mark.parametrize("texts", [("jittered(10)", "jittered(4)"), ("jittered(4)", "every(10)")])
def test_intervals_cover_what_another_policy_would_have_earned(texts: tuple[str, str]) -> None:
    means = np.where(np.arange(ROUNDS)[:, None] < CHANGE, [0.2, 0.4], [0.7, 0.9])
    truth, values, hits = means[:, 1].mean(), [], 0
    for seed in range(200):
        found = evaluate(changed_log(texts, seed, means), TARGETS, estimator="dr")["other"]
        values.append(found.value)
        hits += found.low <= truth <= found.high
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4 * error + 0.01  # rounds of blocks that were cut
    assert hits >= 180


def test_parts_under_different_schedules_add_up_to_the_whole() -> None:
    means = np.where(np.arange(ROUNDS)[:, None] < CHANGE, [0.2, 0.4], [0.7, 0.9])
    for texts in (("jittered(9)", "jittered(3)"), ("every(9)", "every(3)")):
        log = changed_log(texts, 2, means)
        parts = [log.take(slice(0, CHANGE)), log.take(slice(CHANGE, ROUNDS))]
        whole = evaluate(log, TARGETS, estimator="ips")
        found = evaluate_parts(parts, TARGETS)
        assert found["other"].ips == pytest.approx(whole["other"].value, rel=1e-12)
        assert found["now"].ips == pytest.approx(log.reward.mean(), rel=1e-12)
