"""Logs of bandits and studies whose arms came and went, and whose features were extended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import evaluation, features
from infex.errors import InvalidLog, StoreFailed
from infex.logs import Log
from tests.study.studies import shop

SOFT = infex.Infex(infex.Softened(infex.LinUCB(), share=0.5), infex.jittered(4))
Step = tuple[str, Any]
VISITOR = {"age": (20.0, 80.0)}
FIXED: list[Step] = [
    ("add_arms", ([[0.5, 0.5]], ["d"])),
    ("extend", (1,)),
    ("add_arms", ([[0.1, 0.2, 0.9]], ["e"])),
    ("remove_arms", (["a"],)),
]
VECTORS: list[Step] = [
    ("add_arms", (["d"],)),
    ("extend", (1,)),
    ("remove_arms", (["a"],)),
    ("add_arms", (["e"],)),
]
NAMED: list[Step] = [
    ("remove_arms", (["b"],)),
    ("add_arms", (["d"],)),
    ("extend", {"numbers": {"visits": (0.0, 10.0)}, "categories": {"country": ["IT", "FR"]}}),
    ("remove_arms", (["a"],)),
]
PRODUCTS: list[Step] = [
    ("add_arms", ([[0.3, 0.4]], ["d"])),
    ("extend", (2,)),
    ("remove_arms", (["a"],)),
]


def nothing(size: int, rng: np.random.Generator) -> dict[str, Any]:
    return {}


def vector(size: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"context": (rng.random(2 + size) / 3).tolist()}


def visitor(size: int, rng: np.random.Generator) -> dict[str, Any]:
    more = {"visits": float(rng.integers(10)), "country": str(rng.choice(["IT", "FR"]))} if size else {}
    return {"context": {"age": float(rng.integers(20, 80))} | more}


Asked = Callable[[int, np.random.Generator], dict[str, Any]]
CASES: dict[str, tuple[dict[str, Any], list[Step], Asked]] = {
    "fixed": ({"arms": [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], "labels": ["a", "b", "c"]}, FIXED, nothing),
    "disjoint": ({"features": features.disjoint(["a", "b", "c"], 2)}, VECTORS, vector),
    "named": (
        {"features": features.disjoint(["a", "b", "c"], context=features.table(VISITOR))},
        NAMED,
        visitor,
    ),
    "products": (
        {"features": features.interactions([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], 2, labels=["a", "b", "c"])},
        PRODUCTS,
        vector,
    ),
}


def changed(live: Any, step: Step) -> int:
    """Does what a step says; how many features came with it."""
    name, told = step
    getattr(live, name)(**told) if isinstance(told, dict) else getattr(live, name)(*told)
    return (told[0] if isinstance(told, tuple) else 1) if name == "extend" else 0


def theta_of(bandit: infex.Bandit) -> dict[Any, np.ndarray]:
    """Parameters by label where each arm has its own; else of all."""
    rule = bandit.features
    if isinstance(rule, features.Disjoint):
        assert rule.labels is not None
        return dict(zip(rule.labels, bandit.theta.reshape(rule.count, -1), strict=True))
    return {None: bandit.theta}


def same(log: Log, live: infex.Bandit, decisions: list[infex.Decision]) -> None:
    """The warm bandit of a log knows what the live one knows, and rows name the arms that were played."""
    warm = theta_of(evaluation.bandit(log, infex.Greedy()))
    for label, theta in theta_of(live).items():
        np.testing.assert_allclose(warm[label], theta, rtol=0, atol=1e-9)
    assert [log.label(int(arm)) for arm in log.arm] == [each.label for each in decisions]
    assert log.offered is not None
    assert not log.offered.all()


@pytest.mark.parametrize("case", CASES)
def test_a_bandits_log_knows_arms_by_label_and_features_as_0_before(case: str, tmp_path: Path) -> None:
    settings, steps, asked = CASES[case]
    rng, size, decisions = np.random.default_rng(3), 0, []
    live = infex.Bandit(**settings, policy=SOFT, log=tmp_path / "log")
    for step in [None, *steps]:
        size += 0 if step is None else changed(live, step)
        for _ in range(15):
            decisions.append(live.ask(**asked(size, rng)))
            live.tell(decisions[-1], float(rng.normal()))
    log = evaluation.read(tmp_path / "log")
    same(log, live, decisions)
    assert log.base_propensities is not None
    evaluation.write(log, tmp_path / "log.parquet")
    same(evaluation.read(tmp_path / "log.parquet"), live, decisions)
    found = evaluation.evaluate(log, {"now": evaluation.logged, "c": "c"}, estimator="dm", rewards=(-9, 9))
    theta, c = theta_of(live), log.place("c")
    if case == "fixed":
        assert log.arms is not None
        assert found["c"].value == pytest.approx(float(log.arms[c] @ theta[None]), abs=1e-9)


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
@pytest.mark.parametrize("case", CASES)
def test_a_studys_export_is_read_after_all_that_changed(case: str, tmp_path: Path) -> None:
    settings, steps, asked = CASES[case]
    rng, size, decisions = np.random.default_rng(4), 0, []
    with shop(tmp_path, policy=SOFT, **settings) as study:
        for at, step in enumerate([None, *steps]):
            size += 0 if step is None else changed(study, step)
            for n in range(15):
                decisions.append(study.ask(f"{at}-{n}", **asked(size, rng)))
                study.tell(f"{at}-{n}", float(rng.normal()))
        study.flush()
        study.export(tmp_path / "log.parquet")
        live = study.bandit()
        same(evaluation.read(tmp_path / "log.parquet"), live, decisions)


def returned_thetas(live: infex.Bandit, log: evaluation.Log) -> None:
    """Every arm that is there has learnt what it learnt live, and the one from before is another."""
    warm = evaluation.bandit(log, infex.Greedy())
    assert live.labels is not None
    assert log.labels == (*live.labels, "b (before, 1)")
    np.testing.assert_allclose(warm.theta[:-1], live.theta, atol=1e-9)


@pytest.mark.parametrize("order", [["a", "b", "c"], ["a", "c", "b"]])  # the last comes back to its old place
@pytest.mark.parametrize("between", [0, 10])
def test_an_arm_that_came_again_has_not_learnt_what_one_of_its_label_had(
    order: list[str], between: int, tmp_path: Path
) -> None:
    """Rewards from before it went were learnt as its own, though it had begun anew."""
    rng, mapped = np.random.default_rng(5), features.disjoint(order, 2)
    contexts, rewards = rng.normal(size=(60 + between, 2)) * 0.2, rng.normal(size=60 + between)
    live = infex.Bandit(features=mapped, policy=SOFT, seed=7, log=tmp_path / "log")
    with shop(tmp_path, policy=SOFT, features=mapped) as study:
        for n, (context, reward) in enumerate(zip(contexts, rewards, strict=True)):
            for each in (live, study):
                if n == 30:
                    each.remove_arms(["b"])
                if n == 30 + between:
                    each.add_arms(["b"])
            live.tell(live.ask(context=context), reward)
            study.ask(f"k{n}", context=context)
            study.tell(f"k{n}", reward)
        study.flush()
        study.export(tmp_path / "log.parquet")
        returned_thetas(study.bandit(), evaluation.read(tmp_path / "log.parquet"))
    returned_thetas(live, evaluation.read(tmp_path / "log"))


def returned(live: Any, ask: Callable[[int], Any]) -> tuple[list[Any], list[np.ndarray]]:
    """Arm `a` goes and comes again with other features; decisions, and the rows of arms that were played."""
    rng, looks = np.random.default_rng(8), {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    decisions, rows = [], []
    for number in range(40):
        if number == 20:
            live.remove_arms(["a"])
            live.add_arms([[0.6, 0.8]], ["a"])
            looks["a"] = [0.6, 0.8]
        context = rng.normal(size=2) / 4
        decisions.append(ask(number)(context=context.tolist()))
        rows.append(np.outer(looks[str(decisions[-1].label)], context).ravel())
    return decisions, rows


def assert_known_by_looks(log: Log, rewards: list[float], rows: list[np.ndarray]) -> None:
    """Three arms, and the estimate of a regression on the rows as they were."""
    assert (log.count, log.labels) == (3, ("b", "a", "a (before, 1)"))
    played = np.array(rows)
    theta = np.linalg.solve(np.eye(4) + played.T @ played, played.T @ np.array(rewards))
    np.testing.assert_allclose(evaluation.bandit(log, infex.Greedy()).theta.ravel(), theta, rtol=0, atol=1e-9)
    assert log.context is not None
    stayed = np.hstack([np.zeros((40, 2)), log.context]).mean(axis=0)  # arm b, the first of the last two
    value = evaluation.evaluate(log, {"b": "b"}, estimator="dm")["b"].value
    assert value == pytest.approx(float(stayed @ theta), abs=1e-9)


def test_a_label_of_a_map_that_came_again_with_other_features_is_another_arm(tmp_path: Path) -> None:
    rule = features.interactions(np.eye(2), 2, labels=["a", "b"])
    live = infex.Bandit(features=rule, policy=SOFT, log=tmp_path / "log")
    rewards = np.random.default_rng(9).normal(size=40).tolist()

    def ask(number: int) -> Any:
        def asked(**told: Any) -> infex.Decision:
            decision = live.ask(**told)
            live.tell(decision, rewards[number])
            return decision

        return asked

    _, rows = returned(live, ask)
    log = evaluation.read(tmp_path / "log")
    assert_known_by_looks(log, rewards, rows)
    np.testing.assert_allclose(
        evaluation.bandit(log, infex.Greedy()).theta.ravel(), live.theta.ravel(), rtol=0, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_an_export_knows_such_a_label_as_another_arm_too(tmp_path: Path) -> None:
    rewards = np.random.default_rng(9).normal(size=40).tolist()
    rule = features.interactions(np.eye(2), 2, labels=["a", "b"])
    with shop(tmp_path, policy=SOFT, features=rule) as study:

        def ask(number: int) -> Any:
            def asked(**told: Any) -> Any:
                decision = study.ask(f"k{number}", **told)
                study.tell(f"k{number}", rewards[number])
                return decision

            return asked

        _, rows = returned(study, ask)
        study.flush()
        study.export(tmp_path / "log.parquet")
    assert_known_by_looks(evaluation.read(tmp_path / "log.parquet"), rewards, rows)


def test_arms_without_labels_that_went_are_refused_by_name(tmp_path: Path) -> None:
    live = infex.Bandit(features=features.disjoint(3, 2), policy=SOFT, log=tmp_path / "log")
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    live.remove_arms([0])
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    with pytest.raises(InvalidLog, match="give arms labels"):
        evaluation.read(tmp_path / "log")


def test_arms_without_labels_that_went_are_seen_though_others_came_at_once(tmp_path: Path) -> None:
    live = infex.Bandit(features=features.disjoint(3, 2), policy=SOFT, log=tmp_path / "log")
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    live.remove_arms([0])
    live.add_arms(1)
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    with pytest.raises(InvalidLog, match="give arms labels"):
        evaluation.read(tmp_path / "log")


HYBRID = features.hybrid(shared=features.interactions(np.eye(3), 2, labels=["a", "b", "c"]))
TURNOVER: dict[str, tuple[Any, Any, Any]] = {
    "hybrid": (HYBRID, ["a"], (np.eye(3)[:1], ["d"])),
    "nameless": (features.disjoint(3, 2), [0], (1,)),
}


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
@pytest.mark.parametrize("case", TURNOVER)
def test_an_export_whose_places_have_moved_is_written_and_not_read(case: str, tmp_path: Path) -> None:
    rule, gone, come = TURNOVER[case]
    with shop(tmp_path, policy=SOFT, features=rule) as study:
        study.ask("one", context=[0.1, 0.2])
        study.remove_arms(gone)
        study.add_arms(*come)
        study.ask("two", context=[0.1, 0.2])
        study.flush()
        assert study.export(tmp_path / "log.parquet").rows == 2
    with pytest.raises(InvalidLog, match=r"were removed|have changed"):
        evaluation.read(tmp_path / "log.parquet")


@pytest.mark.parametrize("case", TURNOVER)
def test_a_bandits_log_whose_places_have_moved_is_not_read(case: str, tmp_path: Path) -> None:
    rule, gone, come = TURNOVER[case]
    live = infex.Bandit(policy=SOFT, features=rule, log=tmp_path / "log")
    live.ask(context=[0.1, 0.2])
    live.remove_arms(gone)
    live.add_arms(*come)
    live.ask(context=[0.1, 0.2])
    with pytest.raises(InvalidLog, match=r"were removed|have changed"):
        evaluation.read(tmp_path / "log")


def test_arms_that_went_before_the_first_row_or_after_the_last_are_in_no_row(tmp_path: Path) -> None:
    live = infex.Bandit(features=features.disjoint(4, 2), policy=SOFT, log=tmp_path / "log")
    live.remove_arms([0])
    for _ in range(5):
        live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    live.remove_arms([2])
    log = evaluation.read(tmp_path / "log")
    assert (len(log), log.count) == (5, 3)


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations")
def test_an_export_knows_nothing_of_arms_that_went_before_its_first_row_or_after_its_last(
    tmp_path: Path,
) -> None:
    with shop(tmp_path, policy=SOFT, features=features.disjoint(4, 2)) as study:
        study.remove_arms([0])
        for n in range(5):
            study.ask(f"k{n}", context=[0.1, 0.2])
        study.remove_arms([2])
        study.flush()
        assert study.export(tmp_path / "log.parquet").rows == 5
    log = evaluation.read(tmp_path / "log.parquet")
    assert (len(log), log.count) == (5, 3)


def test_a_full_disk_lets_arms_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = infex.Bandit(features=features.disjoint(["a", "b"], 2), policy=SOFT, log=tmp_path / "log")
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    assert live._log is not None
    with monkeypatch.context() as full:
        full.setattr(live._log._recorder, "write", _full)
        live.remove_arms(["a"])
    assert live.labels == ("b",)
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    assert [len(some) for some in (evaluation.read(tmp_path / "log"),)] == [2]


def _full(_: object) -> None:
    raise StoreFailed("no space left on device")


class Same:
    """A transformer of a user's, which no record keeps."""

    def transform(self, rows: Any) -> Any:
        return np.asarray(rows, dtype=np.float64)

    def get_feature_names_out(self) -> list[str]:
        return ["x", "y"]


def test_blocks_of_a_map_that_cannot_be_kept_are_not_read_after_arms_went(tmp_path: Path) -> None:
    """The block of one arm stood where that of another had stood."""
    rule = features.disjoint(["a", "b", "c"], context=features.transformed(Same(), longest=2.0))
    live = infex.Bandit(policy=SOFT, features=rule, log=tmp_path / "log")
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    assert len(evaluation.read(tmp_path / "log")) == 1
    live.remove_arms(["a"])
    live.tell(live.ask(context=[0.1, 0.2]), 1.0)
    with pytest.raises(InvalidLog, match="have changed"):
        evaluation.read(tmp_path / "log")
