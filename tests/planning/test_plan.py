"""The planner: limits kept, the right choice on problems with a known answer, files and command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex.cli.main import main
from infex.environments import gaussian
from infex.errors import InfexError
from infex.planning import plan
from infex.planning.beliefs import belief
from infex.planning.candidates import Candidate, candidates, limits, schedules
from infex.planning.race import Lane, difference, is_settled, leader, near, survivors
from infex.planning.reading import read_arms, read_log
from infex.policies import Greedy, catalog

QUICK: dict[str, Any] = {"dim": 2, "arms_count": 5, "horizon": 300, "seconds": 1.0, "workers": 2}


@given(
    horizon=st.integers(2, 10**6),
    share=st.one_of(st.none(), st.floats(0.001, 1)),
    count=st.one_of(st.none(), st.integers(1, 10**6)),
)
@settings(max_examples=60, deadline=None)
def test_no_candidate_explores_more_than_is_allowed(horizon: int, share: Any, count: Any) -> None:
    allowed = limits(horizon, share, count, None)
    assert share is None or allowed.explorations <= share * horizon + 1e-6
    assert count is None or allowed.explorations <= count
    if not any(1 <= each.count(horizon) <= allowed.explorations for each in schedules()):
        with pytest.raises(InfexError, match="no schedule of the grid"):
            candidates(horizon, 1.0, 1.0, allowed)
        return
    grid = candidates(horizon, 1.0, 1.0, allowed)
    for each in grid:
        schedule = getattr(each.policy, "schedule", infex.always())
        assert each.explorations == schedule.count(horizon) <= allowed.explorations
        assert schedule.grows is True


def lane(regret: Any, explorations: int = 10) -> Lane:
    values = np.array(regret, dtype=float)
    return Lane(Candidate(Greedy(), explorations), values, np.zeros(values.size))


def test_a_lane_that_is_clearly_worse_drops_out_and_no_other() -> None:
    rng = np.random.default_rng(1)
    common = rng.exponential(100, size=200)
    good, equal, bad = common + 10, common + 10 + rng.normal(size=200) * 5, common + 40 + rng.normal(size=200)
    lanes = [lane(good), lane(equal), lane(bad)]
    assert leader(lanes).mean == min(each.mean for each in lanes)
    kept = survivors(lanes)
    assert lanes[2] not in kept
    assert lanes[0] in kept
    assert lanes[1] in kept
    mean, error = difference(lanes[2], lanes[0])
    assert mean == pytest.approx(np.mean(bad - good))
    assert error == pytest.approx(np.std(bad - good, ddof=1) / np.sqrt(200))
    assert lanes[2] not in near(lanes, 0.1)
    assert set(map(id, near(lanes[:2], 0.1))) == set(map(id, lanes[:2]))
    assert is_settled(lanes[0], lanes[:2], 0.1)
    assert not is_settled(lanes[2], lanes, 0.1)
    few = [lane(good[:8]), lane(good[:8] + rng.normal(size=8) * 300)]
    assert not is_settled(few[0], few, 0.1)


def test_a_plan_keeps_its_limits_and_tells_what_it_tried() -> None:
    found = plan(**QUICK, max_share=0.1)
    assert found.explorations == found.policy.schedule.count(300) <= 30
    assert found.recommended == catalog.expression(found.policy)
    namespace: dict[str, Any] = {"infex": infex}
    assert eval(found.code, namespace) == found.policy
    assert found.chosen().mean <= 1.1 * min(each.mean for each in found.candidates if each.alive) + 1e-9
    assert all(each.low <= each.mean <= each.high for each in found.candidates)
    counts = [each.explorations for each in found.front]
    means = [each.mean for each in found.front]
    assert counts == sorted(counts)
    assert means == sorted(means, reverse=True)
    for each in found.candidates:
        assert any(
            other.explorations <= each.explorations and other.mean <= each.mean for other in found.front
        )
    assert found.when.startswith("in rounds ")
    assert [each.expression for each in found.references] == ["LinUCB(delta=0.0033333333333333335)", "Greedy"]
    never = plan(**QUICK, max_cost=0.0)
    assert never.candidates


def test_the_lower_bound_instance_gets_a_schedule_that_grows() -> None:
    found = plan([[1.0], [0.0]], horizon=2000, bound=0.1, seconds=1.5, max_share=0.05)
    assert found.policy.schedule.grows is True


def test_logged_rewards_give_their_posterior() -> None:
    rng = np.random.default_rng(4)
    arms = rng.normal(size=(6, 3)) * 2
    which, rewards = rng.integers(6, size=40), rng.normal(size=40)
    known = belief(arms, None, None, 0.5, 2.0, (which, rewards))
    assert known.arms is not None
    assert known.mean is not None
    assert known.root is not None
    longest = np.linalg.norm(arms, axis=1).max()
    rows = arms[which] / longest
    penalty = 0.5**2 * 3 / (2.0 * longest) ** 2
    gram = penalty * np.eye(3) + rows.T @ rows
    np.testing.assert_allclose(known.mean, np.linalg.solve(gram, rows.T @ rewards))
    np.testing.assert_allclose(known.root @ known.root.T, 0.25 * np.linalg.inv(gram))
    np.testing.assert_allclose(known.arms * known.longest, arms)
    problem = known.instance(3, seed=1)
    assert problem.noise == 0.5
    assert not np.array_equal(problem.theta, known.instance(4, seed=1).theta)
    drawn = belief(None, 4, 9, 1.0, 0.3, None).instance(0, 0)
    assert np.linalg.norm(drawn.theta) == pytest.approx(0.3)
    assert np.linalg.norm(drawn.arms, axis=1).max() <= 1 + 1e-12


def test_arms_and_logs_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,x,y\nplain,0.5,1\nrich,2,0\n")
    rows, labels = read_arms(tmp_path / "a.csv")
    assert rows.tolist() == [[0.5, 1], [2, 0]]
    assert labels == ["plain", "rich"]
    (tmp_path / "bare.csv").write_text("0.5,1\n2,0\n")
    assert read_arms(tmp_path / "bare.csv")[0].tolist() == rows.tolist()
    np.save(tmp_path / "a.npy", rows)
    assert read_arms(tmp_path / "a.npy")[0].tolist() == rows.tolist()
    pyarrow.parquet.write_table(pa.table({"id": ["a", "b"], "x": [1, 2]}), tmp_path / "a.parquet")
    assert read_arms(tmp_path / "a.parquet")[1] == ["a", "b"]
    (tmp_path / "log.csv").write_text("arm,reward\nrich,1\nplain,0\nrich,0.5\n")
    which, rewards = read_log(tmp_path / "log.csv", labels)
    assert which.tolist() == [1, 0, 1]
    assert rewards.tolist() == [1, 0, 0.5]
    with pytest.raises(InfexError, match="no arm is called 'rich'"):
        read_log(tmp_path / "log.csv", ["plain", "poor"])
    with pytest.raises(InfexError, match="a column 'arm' is needed, got name, x, y"):
        read_log(tmp_path / "a.csv", None)
    with pytest.raises(InfexError, match="must end in"):
        read_arms(tmp_path / "a.txt")
    with pytest.raises(InfexError, match=r"missing\.csv"):
        read_arms(tmp_path / "missing.csv")
    (tmp_path / "two.csv").write_text("a,b,c\nx,y,1\n")
    with pytest.raises(InfexError, match="at most one column may hold labels, got a, b"):
        read_arms(tmp_path / "two.csv")


def test_the_command_prints_a_plan_and_writes_its_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"arm{k},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(rng.normal(size=(6, 2)))]
    (tmp_path / "arms.csv").write_text("name,x,y\n" + "\n".join(lines))
    (tmp_path / "log.csv").write_text("arm,reward\narm0,0.3\narm1,-0.2\n")
    words = ["plan", "--arms", str(tmp_path / "arms.csv"), "--horizon", "3e2", "--seconds", "1"]
    words += ["--logged", str(tmp_path / "log.csv"), "--max-share", "0.2"]
    found = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    for words_shown in ("infex.Infex(", "LinUCB in every round", "arms were divided by", "lower in"):
        assert words_shown in found.output
    page = (tmp_path / "out" / "plan.html").read_text()
    assert "How rarely to explore" in page
    assert "<svg" in page
    assert "https://" not in page
    assert (tmp_path / "out" / "plan.png").exists()
    told = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
    data = json.loads(told.stdout)
    assert {"recommended", "settled", "explorations", "candidates"} <= set(data)
    assert catalog.parse(data["recommended"]).schedule.count(300) == data["explorations"] <= 60
    assert {"mean", "low", "high"} <= set(data["candidates"][0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"horizon": 1}, "horizon must be at least 2, got 1"),
        ({"horizon": 10**10}, "horizon must be at most 1000000000 to be simulated"),
        ({"horizon": 9}, "give the arms, or their dim and arms_count"),
        ({"horizon": 9, "arms": [[1.0], [2.0]], "dim": 2}, "give either the arms, or"),
        ({"horizon": 9, "arms": [[1.0]]}, "two or more rows of finite numbers, got shape"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "max_share": 2}, "max_share must be at most 1, got 2"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "max_count": 0}, "no schedule of the grid"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "keep_within": 0.5}, "keep_within must be at least 1"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "noise": 0}, "noise must be above 0"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "logged": ([0], [1.0])}, "need the arms"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": ([5], [1.0])}, "of arms 0 to 1"),
    ],
)
def test_bad_questions_are_refused_by_name(given: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        plan(given.pop("arms", None), **given)


@pytest.mark.slow
def test_the_choice_on_the_papers_problems_holds_on_fresh_ones() -> None:
    """Within 10 % of the best of the grid, and below half of plain LinUCB, at d = 10, K = 100, T = 10^4."""
    found = plan(dim=10, arms_count=100, horizon=10_000, seconds=240)
    assert found.settled
    fresh = [gaussian(dim=10, arms=100, seed=seed) for seed in range(5000, 5400)]

    def regret(policy: Any) -> float:
        return float(np.mean([run.regret for run in infex.play_many(fresh, policy, 10_000)]))

    chosen = regret(found.policy)
    rivals = sorted(found.candidates, key=lambda each: each.mean)[:12]
    best = min(regret(catalog.parse(each.expression)) for each in rivals)
    assert chosen <= 1.1 * best
    assert chosen < regret(infex.LinUCB(delta=1e-4)) / 2
