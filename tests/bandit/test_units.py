"""A penalty is in the units of the contexts that a user gives, whatever a map divides by."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, features
from infex.bandit import archive
from infex.errors import DamagedFile, InvalidSetting
from infex.features import disjoint, interactions, joined, table
from infex.models import Discounted, Lasso, Logistic, Ridge, Windowed
from infex.policies import Uniform

GOLDEN = Path(__file__).parent.parent / "golden"
ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.5]])


def ridge(rows: Any, rewards: Any, penalty: float) -> Any:
    """Plain ridge regression, as scikit-learn's Ridge(alpha=penalty, fit_intercept=False)."""
    rows = np.asarray(rows)
    return np.linalg.solve(penalty * np.eye(rows.shape[1]) + rows.T @ rows, rows.T @ np.asarray(rewards))


def long_contexts(seed: int, dim: int, rounds: int, longest: float) -> Any:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((rounds, dim))
    return longest * rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(0.2, 1, (rounds, 1))


@given(
    seed=st.integers(0, 10**6),
    longest=st.sampled_from([0.3, 1.0, 2.0, 10.0, 700.0]),
    penalty=st.sampled_from([0.1, 1.0, 30.0]),
    kind=st.sampled_from(["disjoint", "interactions", "joined"]),
)
@settings(max_examples=40, deadline=None)
def test_theta_is_that_of_a_ridge_with_the_penalty_that_was_asked_for(
    seed: int, longest: float, penalty: float, kind: str
) -> None:
    """With `longest=10` the default penalty was 100."""
    dim, rounds = 3, 30
    rules: dict[str, Any] = {
        "disjoint": disjoint(3, dim, longest=longest),
        "interactions": interactions(ARMS, dim, longest=longest),
        "joined": joined(lambda context, arm: np.outer(arm, context).ravel(), ARMS, 2 * dim, longest=longest),
    }
    bandit = Bandit(features=rules[kind], policy=Uniform(), seed=seed, penalty=penalty)
    seen, rewards = [], []
    arms = np.eye(3) if kind == "disjoint" else ARMS
    for t, context in enumerate(long_contexts(seed, dim, rounds, longest)):
        decision = bandit.ask(context=context)
        bandit.tell(decision, math.sin(t))
        seen.append(np.outer(arms[decision.arm], context).ravel())
        rewards.append(math.sin(t))
    theta = ridge(seen, rewards, penalty)
    np.testing.assert_allclose(bandit.theta.ravel(), theta, rtol=1e-7, atol=1e-10 / longest)
    assert bandit.penalty == penalty
    context = long_contexts(seed + 1, dim, 1, longest)[0]
    rows = np.array([np.outer(arm, context).ravel() for arm in arms])
    posterior = bandit.posterior(context=context)
    np.testing.assert_allclose(posterior.estimates, rows @ theta, rtol=1e-7, atol=1e-9)
    gram = penalty * np.eye(rows.shape[1]) + np.array(seen).T @ np.array(seen)
    widths = np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(gram, rows.T)))
    np.testing.assert_allclose(posterior.widths, widths, rtol=1e-7)
    _, grown = np.linalg.slogdet(gram / penalty)
    assert posterior.log_det_ratio == pytest.approx(grown, rel=1e-7)


def test_the_ridge_of_ten_features_fits_as_it_should() -> None:
    """R² was 0.55 with `longest=10`, where a ridge with penalty 1 has 0.97."""
    rng = np.random.default_rng(5)
    contexts = rng.uniform(-1, 1, (60, 10)) * 3
    truth = rng.standard_normal(10)
    bandit = Bandit(features=disjoint(1, 10, longest=10), policy=Greedy())
    for context in contexts:
        bandit.tell(bandit.ask(context=context), float(context @ truth))
    theta = ridge(contexts, contexts @ truth, 1.0)
    np.testing.assert_allclose(bandit.theta[0], theta, rtol=1e-9)
    errors = contexts @ (bandit.theta[0] - truth)
    assert 1 - np.var(errors) / np.var(contexts @ truth) > 0.97


def test_a_table_has_the_ridge_of_its_features() -> None:
    encoder = table({"age": (18, 90), "spent": (0, 500)}, {"country": ["FR", "DE"]}, missing="flag")
    bandit = Bandit(features=disjoint(["a"], context=encoder), policy=Greedy(), penalty=0.7)
    rng = np.random.default_rng(2)
    told = [
        {"age": float(rng.uniform(18, 90)), "country": "FR" if rng.random() < 0.6 else "DE"}
        for _ in range(50)
    ]
    rewards = [0.02 * each["age"] + (each["country"] == "DE") for each in told]
    for context, reward in zip(told, rewards, strict=True):
        bandit.tell(bandit.ask(context=context), reward)
    np.testing.assert_allclose(
        bandit.theta[0], ridge(encoder.rows(told), rewards, 0.7), rtol=1e-9, atol=1e-12
    )
    by_name = dict(zip(bandit.names or (), bandit.theta[0], strict=True))
    assert by_name["age"] == pytest.approx(0.02 * 36, rel=0.2)  # from the middle of the range to its end
    assert by_name["spent missing"] == pytest.approx(by_name["intercept"])  # always 1, both of them


@pytest.mark.parametrize("longest", [1.0, 2.0, 10.0])
def test_the_radius_holds_for_a_theta_of_the_bound_over_longest(longest: float) -> None:
    """bound is that of the parameter of rows no longer than 1: longest times that of contexts."""
    bandit = Bandit(features=disjoint(1, 2, longest=longest), policy=LinUCB(noise=0.5, bound=3.0, delta=0.05))
    for t, context in enumerate(long_contexts(3, 2, 20, longest)):
        bandit.tell(bandit.ask(context=context), math.sin(t))
    posterior = bandit.posterior(context=[0.1 * longest, 0.2 * longest])
    beta = 0.5 * math.sqrt(posterior.log_det_ratio + 2 * math.log(20)) + math.sqrt(1.0) * 3.0 / longest
    found = bandit.estimates(context=[0.1 * longest, 0.2 * longest])[0]
    assert (found.high - found.low) / 2 == pytest.approx(beta * posterior.widths[0], rel=1e-12)


def test_the_papers_setting_is_what_it_was() -> None:
    """Rows no longer than 1, penalty 1: the statistics are those of the rows, to the last bit."""
    short = Bandit(features=interactions(np.eye(2), 3), policy=Infex(LinTS(), every(2)), seed=4)
    rows = Bandit(dim=6, policy=Infex(LinTS(), every(2)), seed=4)
    for t, context in enumerate(long_contexts(1, 3, 40, 1.0)):
        one = short.ask(context=context)
        other = rows.ask(np.kron(np.eye(2), context))
        assert one[1:9] == (*other[1:3], None, *other[4:9])
        short.tell(one, math.sin(t))
        rows.tell(other, math.sin(t))
    np.testing.assert_array_equal(short.theta.ravel(), rows.theta)


@pytest.mark.parametrize(
    "estimator",
    [None, Ridge(penalty=0.3), Logistic(penalty=0.3), Lasso(), Discounted(), Windowed(size=7)],
    ids=repr,
)
@pytest.mark.parametrize("longest", [1.0, 3.0, 10.0])
def test_what_a_map_divides_by_changes_no_estimate(estimator: Any, longest: float, tmp_path: Path) -> None:
    """Also of estimators with a strength or penalty of their own."""
    one = Bandit(features=disjoint(2, 3, longest=longest), policy=Uniform(), estimator=estimator)
    same = Bandit(features=disjoint(2, 3, longest=40.0), policy=Uniform(), estimator=estimator)
    for t, context in enumerate(long_contexts(6, 3, 30, longest)):
        for bandit in (one, same):
            bandit.tell(bandit.ask(context=context), float(math.sin(t) > 0))
    np.testing.assert_allclose(one.theta, same.theta, rtol=1e-6, atol=1e-9)
    assert one.penalty == same.penalty
    one.save(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex")
    assert (again.digest(), again.penalty, again.estimator) == (one.digest(), one.penalty, estimator)
    for bandit in (one, again):
        bandit.tell(bandit.ask(context=[0.1, 0.2, 0.3]), 1.0)
    assert again.digest() == one.digest()


def test_a_penalty_that_is_too_small_inside_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"a penalty of 1 is 1e-12 for features .* longest=1e\+06"):
        Bandit(features=disjoint(2, 3, longest=1e6), policy=Greedy())
    with pytest.raises(InvalidSetting, match=r"a penalty of 0\.001 is 1e-13"):
        Bandit(features=disjoint(2, 3, longest=1e5), policy=Greedy(), estimator=Ridge(penalty=1e-3))
    assert Bandit(features=disjoint(2, 3, longest=1e6), policy=Greedy(), penalty=100.0).penalty == 100.0


def test_an_adopted_estimator_has_its_penalty_in_the_same_units(tmp_path: Path) -> None:
    bandit = Bandit(features=disjoint(1, 2, longest=10), policy=Greedy())
    contexts = long_contexts(1, 2, 20, 10.0)
    for t, context in enumerate(contexts):
        bandit.tell(bandit.ask(context=context), math.cos(t))
    bandit.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex", estimator=Ridge(penalty=1.0)).digest()
    adopted = Bandit.load(tmp_path / "x.infex", estimator=Ridge(penalty=5.0), adopt=True)
    expected = ridge(contexts, [math.cos(t) for t in range(20)], 5.0)
    np.testing.assert_allclose(adopted.theta[0], expected, rtol=1e-9)
    assert adopted.penalty == 5.0


@pytest.mark.parametrize("prior", [[1.0], "x", [1.0, 0.0], [True, 10.0]])
def test_a_prior_that_does_not_fit_is_damage(prior: Any, tmp_path: Path) -> None:
    Bandit(features=disjoint(1, 2, longest=10), policy=Greedy()).save(tmp_path / "x.infex")
    kept, arrays = archive.read(tmp_path / "x.infex")
    archive.write(tmp_path / "x.infex", json.loads(json.dumps(kept | {"prior": prior})), arrays)
    with pytest.raises(DamagedFile):
        Bandit.load(tmp_path / "x.infex")


def test_pulls_are_counted_by_arm_with_every_kind_of_arms(tmp_path: Path) -> None:
    """With a map they were 0 for all."""
    fixed = Bandit(ARMS, Uniform(), labels=["x", "y", "z"])
    mapped = Bandit(features=disjoint(["x", "y", "z"], 2), policy=Uniform())
    other = Bandit(features=disjoint(["x", "y", "z"], 2), policy=Uniform(), seed=3)
    played = np.zeros((3, 3), dtype=int)
    for t in range(30):
        for row, bandit in enumerate((fixed, mapped, other)):
            decision = bandit.ask() if bandit is fixed else bandit.ask(context=[0.6, 0.1])
            if t % 3:
                bandit.tell(decision, 1.0)
                played[row, decision.arm] += 1
    assert fixed.pulls.tolist() == played[0].tolist()  # type: ignore[union-attr]
    assert mapped.pulls.tolist() == played[1].tolist()  # type: ignore[union-attr]
    assert mapped.estimates(context=[1, 0]).pulls.tolist() == played[1].tolist()
    assert mapped.labels == ("x", "y", "z")
    mapped.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex").pulls.tolist() == played[1].tolist()  # type: ignore[union-attr]
    mapped.apply(other.changes())
    assert mapped.pulls.tolist() == (played[1] + played[2]).tolist()  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="read-only"):
        mapped.pulls[0] = 3  # type: ignore[index]
    changing = Bandit(dim=2, policy=Greedy())
    assert (changing.pulls, changing.labels, changing.names, changing.noticed) == (None, None, None, {})
    assert changing.theta.tolist() == [0.0, 0.0]
    assert features.disjoint is disjoint


def test_an_adopted_map_takes_pulls_by_label(tmp_path: Path) -> None:
    bandit = Bandit(features=disjoint(["x", "y"], 2), policy=Greedy())
    bandit.tell(bandit.ask(context=[1, 0]), 1.0)
    bandit.save(tmp_path / "x.infex")
    turned = Bandit.load(tmp_path / "x.infex", features=disjoint(["y", "x"], 2), adopt=True)
    assert turned.pulls.tolist() == [0, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["disjoint", "interactions", "joined"])
def test_pulls_go_with_their_arms(kind: str) -> None:
    rules: dict[str, Any] = {
        "disjoint": disjoint(["x", "y", "z"], 2),
        "interactions": interactions(ARMS, 2, labels=["x", "y", "z"]),
        "joined": joined(lambda context, arm: [len(arm) / 2, 0.1], ["x", "y", "z"], 2),
    }
    bandit = Bandit(features=rules[kind], policy=Uniform(), seed=1)
    told = dict.fromkeys("xyzw", 0)
    late = []
    for t in range(40):
        if t == 20:
            bandit.remove_arms("y")
            if kind == "interactions":
                bandit.add_arms([[0.1, 0.2]], ["w"])
            else:
                bandit.add_arms("w")
        decision = bandit.ask(context=[0.3, 0.4])
        if t % 4 == 0:
            late.append(decision)
            continue
        bandit.tell(decision, 1.0)
        told[str(decision.label)] += 1
    for decision in late:
        bandit.tell(decision, 1.0)
        told[str(decision.label)] += 1
    assert bandit.labels == ("x", "z", "w")
    assert bandit.pulls.tolist() == [told["x"], told["z"], told["w"]]  # type: ignore[union-attr]
