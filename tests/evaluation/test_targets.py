"""What may be judged: chances, arms, labels, functions, bandits as they stand; learners are refused."""

from __future__ import annotations

import numpy as np
import pytest

import infex
from infex import evaluation
from infex.errors import InvalidSetting, InvalidTarget
from infex.features import disjoint, interactions
from infex.logs import Log, LogFacts
from tests.evaluation.synthetic_logs import as_log, logs


def soft(**other: object) -> Log:
    found = logs()
    columns = {
        "arm": found["soft_action"],
        "reward": found["soft_reward"],
        "base_propensities": found["soft_behaviour"],
    }
    return Log(**(columns | {"propensity": found["soft_pscore"], "context": found["soft_context"]} | other))


def value(log: Log, target: object, estimator: str = "ips") -> float:
    return evaluation.evaluate(log, {"x": target}, estimator=estimator)["x"].value


def test_the_same_target_in_every_form_has_the_same_value() -> None:
    log, chances = soft(labels=tuple("abcdef")), np.zeros((1500, 6))
    chances[:, 2] = 1.0
    forms = ["c", chances, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0], np.full(1500, 2)]
    forms += [
        lambda offers, context: np.full(len(context), 2),
        lambda offers, context: chances[: len(context)],
    ]
    assert len({value(log, form) for form in forms}) == 1
    assert value(soft(), 2) == value(log, "c")


def test_uniform_is_uniform_among_what_is_on_offer() -> None:
    assert value(soft(), infex.policies.Uniform()) == pytest.approx(
        value(soft(), np.full(6, 1 / 6)), abs=1e-14
    )
    log = Log(arm=[0, 1, 0, 1], reward=[1.0, 0.0, 1.0, 0.0], propensity=[0.5] * 4, count=3)
    masked = Log(
        arm=[0, 1, 0, 1],
        reward=[1.0, 0.0, 1.0, 0.0],
        propensity=[0.5] * 4,
        offered=np.tile([True, True, False], (4, 1)),
    )
    assert value(log, infex.policies.Uniform()) == pytest.approx(1 / 3)
    assert value(masked, infex.policies.Uniform()) == pytest.approx(1 / 2)


def test_a_function_sees_offers_where_there_are_some() -> None:
    seen: list[tuple[int, ...]] = []

    def mine(offers: np.ndarray, context: object) -> np.ndarray:
        seen.append(offers.shape)
        assert context is None
        found: np.ndarray = (offers @ logs()["jit_theta"]).argmax(axis=1)
        return found

    value(as_log("jit"), mine, "dm")
    assert seen == [(1200, 5, 4)]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ([0.5] * 6, "'x' must give probabilities.*in round 1 they add up to 3"),
        ([1.5, -0.5, 0.0, 0.0, 0.0, 0.0], "the least is -0.5"),
        ([0.5, 0.5], "'x' must be 6 probabilities, or 1500 rows"),
        (np.full((1500, 6), "a"), "'x' must be 6 probabilities"),
        ("zebra", "'x': no arm of this log is called 'zebra'"),
        (9, "'x': no arm of this log is called 9"),
        (True, "'x' must be evaluation.logged"),
        (None, "'x' must be evaluation.logged.*got None"),
        (lambda offers, context: np.full(len(context), 6), "'x' plays arm 6 in round 1, of 6"),
        (lambda offers, context: np.zeros(3), "must give probabilities of the shape"),
        (infex.LinUCB(), "'x' is LinUCB.*which learns.*evaluation.replay and evaluation.simulate"),
        (infex.Infex(infex.LinUCB(), infex.every(5)), "which learns"),
        (infex.LinUCB, "'x' must be evaluation.logged"),
    ],
)
def test_what_cannot_be_judged_is_refused(target: object, words: str) -> None:
    with pytest.raises(InvalidTarget, match=words):
        value(soft(), target)


def test_names_and_settings_are_checked() -> None:
    for targets in ({}, [1], {1: 0}):
        with pytest.raises(InvalidTarget, match="targets must"):
            evaluation.evaluate(soft(), targets)
    with pytest.raises(InvalidTarget, match="against must name"):
        evaluation.evaluate(soft(), {"a": 0}, against="b")
    with pytest.raises(InvalidTarget, match="no target is called 'b'; there are 'a'"):
        evaluation.evaluate(soft(), {"a": 0})["b"]
    for wrong in (
        {"estimator": "weights"},
        {"confidence": 1.0},
        {"noise": 0.0},
        {"anytime": True},
        {"limit": -1.0},
    ):
        with pytest.raises(InvalidSetting):
            evaluation.evaluate(soft(), {"a": 0}, **wrong)
    with pytest.raises(InvalidSetting, match="log must be a Log"):
        evaluation.evaluate([1, 2], {"a": 0})


def test_an_arm_that_is_not_on_offer_is_refused() -> None:
    log = Log(arm=[0, 1], reward=[1.0, 0.0], propensity=[0.5, 0.5], offered=[[True, True], [False, True]])
    with pytest.raises(InvalidTarget, match="for arms on offer alone; in round 2"):
        value(log, 0)


def arms_log(
    labels: tuple[str, ...] | None = None, arms: object = ((1.0, 0.0), (0.0, 1.0), (0.6, 0.8))
) -> Log:
    rng = np.random.default_rng(3)
    arm = rng.integers(3, size=300)
    reward = np.array([0.1, 0.9, 0.5])[arm] + 0.1 * rng.normal(size=300)
    return Log(arm=arm, reward=reward, propensity=np.full(300, 1 / 3), arms=arms, labels=labels, count=3)


def test_a_bandit_is_judged_as_it_stands() -> None:
    bandit = infex.Bandit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], infex.LinUCB())
    for _ in range(30):
        bandit.learn(arms=[1, 0], rewards=[1.0, 0.0])
    log = arms_log()
    assert value(log, bandit, "snips") == value(log, 1, "snips")
    without = arms_log(arms=None)
    assert value(without, bandit, "snips") == value(log, 1, "snips")


def test_a_bandit_of_other_arms_is_refused() -> None:
    few = infex.Bandit([[1.0, 0.0], [0.0, 1.0]], infex.LinUCB())
    with pytest.raises(InvalidTarget, match="reads features of arms, and this log has none"):
        value(arms_log(arms=None), few)
    with pytest.raises(InvalidTarget, match="knows 3 features, and arms of this log have 2"):
        value(arms_log(), infex.Bandit(np.eye(3), infex.LinUCB()))
    named = infex.Bandit(np.eye(3), infex.LinUCB(), labels=["c", "b", "a"])
    with pytest.raises(InvalidTarget, match="in another order"):
        value(arms_log(("a", "b", "c"), None), named)


def context_log(features: object) -> Log:
    rng = np.random.default_rng(5)
    context = rng.uniform(-1, 1, size=(200, 2))
    arm = rng.integers(2, size=200)
    reward = np.where(arm == 0, context[:, 0], context[:, 1]) + 0.1 * rng.normal(size=200)
    return Log(arm=arm, reward=reward, propensity=np.full(200, 0.5), context=context, features=features)


class Own:
    """The disjoint map, as a user would write it."""

    dim, count, labels = 4, 2, None

    def __call__(self, context: object) -> np.ndarray:
        return disjoint(2, 2, longest=2.0)(context)


def test_every_map_of_contexts_gives_the_same_model() -> None:
    """Disjoint, outer products with unit arms, and a user's own function are one map here."""
    maps = [disjoint(2, 2, longest=2.0), interactions(np.eye(2), 2, longest=2.0)]
    target = np.arange(200) % 2
    found = [
        evaluation.evaluate(context_log(each), {"x": target}, estimator="dm", noise=0.1, bound=2)
        for each in maps
    ]
    assert found[0]["x"].value == pytest.approx(found[1]["x"].value, abs=1e-12)
    assert found[0]["x"].low == pytest.approx(found[1]["x"].low, abs=1e-12)
    same = {
        **columns(context_log(maps[0])),
        "facts": LogFacts(penalty=4.0),
    }  # of contexts before they are divided
    own = evaluation.evaluate(context_log(Own()), {"x": target}, estimator="dr")
    assert own["x"].value == pytest.approx(
        evaluation.evaluate(Log(**same), {"x": target}, estimator="dr")["x"].value, abs=1e-12
    )
    plain = np.zeros((200, 2, 4))
    context = context_log(Own()).context
    assert context is not None
    plain[:, 0, :2], plain[:, 1, 2:] = context, context
    offers = Log(
        **{
            name: each
            for name, each in columns(context_log(Own())).items()
            if name not in ("context", "features")
        },
        offers=plain,
    )
    model = evaluation.evaluate(offers, {"x": target}, estimator="dm", noise=0.1, bound=2)["x"]
    assert model.value == pytest.approx(found[0]["x"].value, abs=1e-12)
    assert model.low == pytest.approx(found[0]["x"].low, abs=1e-12)


def columns(log: Log) -> dict[str, object]:
    return {name: getattr(log, name) for name in ("arm", "reward", "propensity", "context", "features")}


def test_a_bandit_with_a_map_is_judged_in_the_units_of_the_map() -> None:
    log = context_log(disjoint(2, 2, longest=2.0))
    bandit = infex.Bandit(features=disjoint(2, 2, longest=2.0), policy=infex.Greedy())
    assert log.context is not None
    bandit.learn(contexts=log.context[:50], arms=log.arm[:50], rewards=log.reward[:50])
    theta = bandit.theta
    greedy = (log.context @ theta.T).argmax(axis=1)
    assert value(log, bandit) == value(log, greedy)


def test_greedy_by_the_log_itself_is_judged_by_the_model_alone() -> None:
    log = arms_log()
    assert evaluation.evaluate(log, {"x": infex.Greedy()})["x"].estimator == "dm"
    with pytest.raises(InvalidTarget, match="learnt from this very log"):
        value(log, infex.Greedy(), "dr")


def test_many_rounds_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from infex.logs import arm_features

    whole = [value(as_log("jit"), logs()["jit_target"], estimator) for estimator in ("dm", "dr", "blocks")]
    monkeypatch.setattr(arm_features.spans, "__defaults__", (97,))
    parts = [value(as_log("jit"), logs()["jit_target"], estimator) for estimator in ("dm", "dr", "blocks")]
    assert parts == pytest.approx(whole, abs=1e-13)
