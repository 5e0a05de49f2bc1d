"""The planner: limits kept, the right choice on problems with a known answer, files and command."""

import dataclasses
import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import infex
from infex import registry
from infex._stats import Interval
from infex.arrays import as_json
from infex.cli.inputs import read_arms, read_logged
from infex.cli.main import main
from infex.errors import InfexError, LargeReward, UnevenFeatures
from infex.lab.planner import Plan, evaluation, plan
from infex.lab.planner import race as racing
from infex.lab.planner.beliefs import belief
from infex.lab.planner.race import Candidate, Pool, Race, candidates, is_beyond, is_within, is_worse
from infex.lab.planner.report import code_of, most_explorations, plan_page, rounds_of
from infex.policies.controls import Limited
from tests.lab.planner.pace import Pace, played
from tests.lab.reports import browser

QUICK: dict[str, Any] = {"dim": 2, "arms_count": 5, "horizon": 300, "seconds": 0.4, "workers": 1}


@given(
    horizon=st.integers(2, 10**6),
    share=st.one_of(st.none(), st.floats(0.001, 1)),
    count=st.one_of(st.none(), st.integers(1, 10**6)),
)
@settings(max_examples=60, deadline=None)
def test_no_candidate_explores_more_than_is_allowed(horizon: int, share: Any, count: Any) -> None:
    allowed = most_explorations(horizon, share, count)
    assert share is None or allowed <= share * horizon + 1e-6
    assert count is None or allowed <= count
    if allowed == 0:
        with pytest.raises(InfexError, match="allows 0 exploring rounds"):
            candidates(horizon, 1.0, 1.0, allowed)
        return
    grid = candidates(horizon, 1.0, 1.0, allowed)
    for each in grid:
        schedule: Any = getattr(each.policy, "schedule", infex.always())
        if each.planned is None:
            most = schedule.limit if isinstance(schedule, Limited) else schedule.planned.count(horizon)
            assert most <= allowed
        else:
            assert 1 <= each.explorations == schedule.count(horizon) <= allowed
            assert schedule.grows is True
    densest = max(each.explorations for each in grid)
    assert densest >= allowed / 2, "a limit is used"


def test_a_lane_that_is_clearly_worse_drops_out_and_no_other() -> None:
    rng = np.random.default_rng(1)
    common = rng.exponential(100, size=200)
    good, equal, bad = common + 10, common + 10 + rng.normal(size=200) * 5, common + 40 + rng.normal(size=200)
    first, second, third = lanes = [played(good), played(equal), played(bad, rounds=25)]
    assert [is_worse(each, first, 1.1) for each in lanes] == [False, False, True]
    assert is_within(second, first, 1.1)
    assert is_beyond(third, first, 1.1)
    few = [played(good[:8]), played(good[:8] + rng.normal(size=8) * 300)]
    assert not is_within(few[0], few[1], 1.1)
    assert not is_beyond(few[1], few[0], 1.1)


@given(seed=st.integers(0, 10**6), n=st.integers(3, 60), factor=st.floats(1, 3))
@settings(max_examples=40, deadline=None)
def test_what_is_shown_is_what_a_paired_t_test_shows(seed: int, n: int, factor: float) -> None:
    """Against Student's law by the incomplete beta function."""
    rng = np.random.default_rng(seed)
    one, other = rng.exponential(size=n), rng.exponential(size=n)
    gaps = one - factor * other
    t = float(gaps.mean() / (gaps.std(ddof=1) / np.sqrt(n)))
    beyond = mpmath.betainc((n - 1) / 2, 0.5, 0, (n - 1) / (n - 1 + t * t), regularized=True) / 2
    if abs(float(beyond) - 0.025) > 1e-9:  # rounding decides nearer by
        assert is_beyond(played(one), played(other), factor) == (t > 0 and beyond < 0.025)
        assert is_within(played(one), played(other), factor) == (t < 0 and beyond < 0.025)


def test_a_lane_that_explores_less_may_lose_as_much_as_is_said() -> None:
    rng = np.random.default_rng(2)
    common = rng.exponential(100, size=400)
    first, noise = played(common, explorations=100), rng.normal(size=400)
    rare, often = (played(1.06 * common + noise, explorations=count) for count in (10, 1000))
    assert not is_worse(rare, first, 1.1)
    assert is_worse(rare, first, 1.02)
    assert is_worse(often, first, 1.1)


def test_a_lane_drops_out_where_one_that_explores_no_more_often_is_better() -> None:
    """It would stay by the leader alone, which may explore ten times as often."""
    rng = np.random.default_rng(3)
    common = rng.exponential(100, size=100)
    leader, rare, middle = (
        played(factor * common + rng.normal(size=100), explorations=count)
        for factor, count in ((1.0, 1000), (1.1, 10), (1.3, 100))
    )
    race = Race(belief(None, None, 2, 4, 1.0, 1.0, None), 100, workers=1, factor=1.5, seconds=60.0)
    champions = race.champions([middle, leader, rare])
    assert champions == [rare, leader]
    assert not is_worse(middle, leader, 1.5)
    assert [race.is_out(each, champions) for each in (rare, middle, leader)] == [False, True, False]


def test_a_heat_has_as_many_problems_as_there_is_time_for(pace: Pace) -> None:
    lanes = [played(np.ones(64)), played(np.ones(64))]
    for each in lanes:
        each.seconds = 0.5  # so that a problem takes half a second on two threads
    known = belief(None, None, 2, 4, 1.0, 1.0, None)
    race = Race(known, 100, lanes, workers=2, factor=1.5, seconds=60.0)
    assert race.next_heat(64) == 128
    pace.clock.now += 44
    assert race.next_heat(64) == 64 + 32
    pace.clock.now += 10
    assert race.next_heat(64) == 0, "12 more are not worth it"
    assert race.next_heat(racing.LAST_HEAT) == 0


def test_a_lucky_lane_among_bad_neighbours_leads_nobody_astray() -> None:
    lucky, reliable = played(np.full(8, 3.0)), played(100 + np.arange(8.0))
    assert is_worse(reliable, lucky, 1.0)
    lucky.near = [played(np.full(8, 5000.0)), played(np.full(8, 7000.0), rounds=25)]
    assert played([9.0]).shrunk_mean() == 9.0
    reliable.near = [played(np.full(8, 1.0), rounds=25)]
    assert reliable.shrunk_mean() == reliable.mean, "one that went less far looks good by that alone"
    reliable.near = [played(np.full(8, 120.0))]
    assert lucky.shrunk_mean() == pytest.approx((8 * 3 + 16 * 6000) / 24)
    assert lucky.shrunk_mean() > reliable.shrunk_mean()
    assert not is_worse(reliable, lucky, 1.0)


def test_neighbours_differ_by_one_step() -> None:
    lanes = candidates(1000, 1.0, 1.0, 1000)
    by_name = {each.label: each for each in lanes}
    around = by_name["Infex(LinUCB(delta=0.001, scale=0.25), every(50))"].near
    assert {each.label.replace("delta=0.001, ", "") for each in around} == {
        "Infex(LinUCB(scale=0.5), every(50))",
        "Infex(LinUCB(scale=0.12), every(50))",
        "Infex(LinUCB(scale=0.25), every(50), data=own)",
        "Infex(LinUCB(scale=0.25), stretched(2))",
        "Infex(LinUCB(scale=0.25), every(100))",
    }
    ends = by_name["LinTS(delta=0.001)"].near
    assert {each.label.replace("delta=0.001", "") for each in ends} == {
        "LinTS(, scale=0.5)",
        "Infex(LinTS(), every(2))",
        "Infex(LinTS(), every(2), data=own)",
    }
    assert all(one in other.near for one in lanes for other in one.near)


def test_short_runs_are_the_beginning_of_long_ones() -> None:
    """So what a candidate has lost by then is at most what it loses in the end."""
    pool = Pool(belief(None, None, 3, 8, 1.0, 1.0, None), 0)
    own = infex.Infex(infex.LinUCB(delta=1e-3), infex.power(0.5), data="own")
    for policy in (infex.LinTS(delta=1e-3), own):
        short, long = Candidate(policy, 1), Candidate(policy, 1)
        pool.run(short, 5, 1000)
        pool.run(long, 5, 4000)
        for seed, (problem, early, late) in enumerate(
            zip(pool.upto(5), short.regret, long.regret, strict=True)
        ):
            run = infex.lab.play(problem, policy, 4000, seed, record=True)
            assert run.losses is not None
            assert early == pytest.approx(run.losses[:1000].sum(), rel=1e-9, abs=1e-9)
            assert late == pytest.approx(run.losses.sum(), rel=1e-9, abs=1e-9)


def test_problems_that_are_alike_have_noise_of_their_own() -> None:
    """With one feature theta is one of two numbers."""
    known = belief([[1.0], [0.0]], None, None, None, 1.0, 0.3, None)
    found, again, fresh = (Candidate(infex.LinTS(), 500) for _ in range(3))
    Pool(known, 0).run(found, 16, 500)
    assert len(set(found.regret)) > 8
    pool = Pool(known, 0)
    pool.run(again, 5, 500)
    pool.run(again, 16, 500)
    np.testing.assert_array_equal(found.regret, again.regret)
    Pool(known, 0, place=1).run(fresh, 16, 500)
    assert np.mean(np.array(found.regret) == fresh.regret) < 0.5, "fresh problems have fresh noise"


def test_there_is_an_answer_however_short_the_time(pace: Pace) -> None:
    pace.clock.tick = 1.0
    found = plan(dim=2, arms_count=4, horizon=300, seconds=1e-6)
    assert not found.settled
    assert len(found.candidates) == 1


def test_linucb_is_left_out_where_it_takes_too_long(pace: Pace) -> None:
    """One run of it may take two seconds; how many there are is a matter of the time that is left."""

    def planned(seconds: float) -> Plan:
        pace.linucb = seconds
        return plan(**QUICK | {"seconds": 0.2}, max_share=0.1)

    quick, slow, too_slow = planned(0.0), planned(1.9), planned(2.1)
    assert quick.regret["recommended"].problems >= quick.regret["LinUCB"].problems > 1
    assert slow.regret["LinUCB"].problems == 1
    assert slow.regret["recommended"].problems >= slow.regret["greedy"].problems > 1
    assert set(slow.against) == {"best", "LinUCB", "greedy"}
    assert set(too_slow.regret) == {"recommended", "best", "greedy"}
    assert set(too_slow.against) == {"best", "greedy"}


def test_the_race_finds_the_best_lane_and_spares_the_worse_ones() -> None:
    known = belief(None, None, 4, 20, 1.0, 1.0, None)
    horizon = 8000
    race = Race(known, horizon, seed=3, workers=2, factor=1.1, seconds=600.0)
    policies = [infex.LinUCB(scale=scale) for scale in (2.0, 1.0, 0.5, 0.2)]
    lanes = [Candidate(policy, horizon) for policy in (*policies, *[infex.policies.Uniform()] * 9)]
    told: list[int] = []
    alive, complete = race.heat(lanes, 16, told.append)
    assert complete
    assert told[0] == 13
    assert told[-1] == len(alive)
    assert lanes[-1] not in alive
    assert lanes[-1].rounds < horizon, "given up before the end"
    slow = [
        np.mean(
            [infex.lab.play(each, policy, horizon, k).regret for k, each in enumerate(race.pool.upto(16))]
        )
        for policy in policies
    ]
    (leader,) = race.champions(alive)
    assert leader is lanes[int(np.argmin(slow))]
    assert leader.mean == pytest.approx(min(slow))
    assert all(each.rounds == horizon for each in alive)
    late = Race(known, horizon, seed=3, workers=2, factor=1.1, seconds=1e-9)
    assert late.heat([Candidate(infex.LinTS(), horizon)], 4, told.append)[1] is False


def test_a_plan_keeps_its_limits_and_tells_what_it_tried() -> None:
    found = plan(**QUICK, max_share=0.1)
    assert isinstance(found.policy, infex.Infex)
    assert found.explorations <= found.chosen().most <= 30
    assert found.recommended == registry.expression(found.policy)
    namespace: dict[str, Any] = {"infex": infex}
    assert eval(found.code, namespace) == found.policy
    assert len({each.problems for each in found.candidates if each.alive}) == 1, "time was up in between"
    by_data = found.policy.schedule.grows is None
    assert found.when.startswith("where the data leave doubt, by " if by_data else "in rounds ")
    assert found.arms == ()
    regret, against = found.regret, found.against
    assert regret["recommended"].mean.value == pytest.approx(found.chosen().regret.value)
    assert regret["recommended"].problems >= regret["LinUCB"].problems >= 1
    assert all(
        not each.low > each.value and not each.high < each.value
        for cost in (*regret.values(), *against.values())
        for each in (cost.mean, cost.median, cost.worst_decile)
    )
    assert repr(found).startswith(f"<Plan: {found.recommended}, {found.explorations} of 300 rounds explore")


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = belief(None, None, 2, 4, 1.0, 1.0, None)
    allowed = most_explorations(600, 0.2, None)
    results = []
    for workers in (1, 2):
        race = Race(known, 600, seed=4, workers=workers, factor=1.1, seconds=600.0)
        lanes = candidates(600, 1.0, 1.0, allowed)
        alive, complete = race.heat(lanes, 8, lambda count: None)
        assert complete
        assert 0 < len(alive) < len(lanes)
        results.append([(each.label, each.rounds, *each.regret) for each in lanes])
    assert results[0] == results[1]
    monkeypatch.setattr(racing, "LAST_HEAT", 8)  # problems, for it is not time that ends it
    monkeypatch.setattr(evaluation, "MOST_FRESH", 64)
    one, two = (plan(**QUICK | {"seconds": 1e9, "workers": workers}) for workers in (1, 2))
    assert as_json(one.as_data()) == as_json(two.as_data())


def test_exploring_may_cost_no_more_than_is_said() -> None:
    free = plan(**QUICK, seed=2)
    limit = float(np.median([each.cost for each in free.candidates]))
    found = plan(**QUICK, seed=2, max_cost=limit)
    assert found.chosen().cost <= limit or "more than max_cost" in found.why
    known = belief(None, None, 2, 4, 1.0, 1.0, None)
    race = Race(known, 100, workers=1, max_cost=2.0, factor=1.1, seconds=60.0)
    cheap, dear = played([9.0] * 9, cost=2.0), played([5.0] * 9, cost=3.0)
    assert race.fitting([cheap, dear]) == [cheap]
    with pytest.raises(InfexError, match="exploring costs more than max_cost = 2 with every schedule"):
        race.fitting([dear])


def test_the_lower_bound_instance_gets_a_schedule_that_grows_or_one_that_looks_at_the_data() -> None:
    for bound in (0.1, 0.354, 1.0):
        found = plan([[1.0], [0.0]], horizon=2000, bound=bound, seconds=1.0, max_share=0.05, workers=1)
        assert isinstance(found.policy, infex.Infex)
        if found.policy.schedule.grows is None:
            assert "which no regret bound covers" in found.explored
        else:
            assert infex.lab.theory.grows(found.policy.schedule).verdict == "consistent"


def test_a_horizon_too_long_for_the_time_is_said_to_be() -> None:
    found = plan(dim=2, arms_count=5, horizon=10**9, seconds=0.5, workers=1)
    assert not found.settled
    assert found.rounds < found.horizon
    assert (
        f"no candidate was played to the end, figures are of the first {found.rounds:,} rounds" in found.why
    )


def test_logged_rewards_give_their_posterior() -> None:
    rng = np.random.default_rng(4)
    arms = rng.normal(size=(6, 3)) * 2
    which, rewards = rng.integers(6, size=40), 0.5 * rng.normal(size=40)
    known = belief(arms, None, None, None, 0.5, 2.0, (which, rewards))
    assert known.arms is not None
    assert known.mean is not None
    assert known.root is not None
    longest = known.longest
    greatest = np.linalg.norm(arms, axis=1).max()
    assert greatest <= longest <= 1.01 * greatest
    rows = arms[which] / longest
    assert known.bound == pytest.approx(2.0 * longest, rel=1e-5)
    penalty = 0.5**2 * 3 / known.bound**2
    gram = penalty * np.eye(3) + rows.T @ rows
    np.testing.assert_allclose(known.mean, np.linalg.solve(gram, rows.T @ rewards))
    np.testing.assert_allclose(known.root @ known.root.T, 0.25 * np.linalg.inv(gram))
    np.testing.assert_allclose(known.arms * known.longest, arms)
    problem = known.instance(3, seed=1)
    assert problem.noise == 0.5
    assert not np.array_equal(problem.theta, known.instance(4, seed=1).theta)
    named = belief(arms, list("abcdef"), None, None, 0.5, 2.0, (["abcdef"[k] for k in which], rewards))
    np.testing.assert_array_equal(named.mean, known.mean)
    drawn = belief(None, None, 4, 9, 1.0, 0.3, None).instance(0, 0)
    assert np.linalg.norm(drawn.theta) == pytest.approx(0.3)
    assert np.linalg.norm(drawn.arms, axis=1).max() <= 1 + 1e-12


def test_arms_and_logs_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,x,y\nplain,0.5,1\nrich,2,0\n")
    rows, labels, words = read_arms(tmp_path / "a.csv")
    assert words == "2 arms of 2 features: x, y; labels from name"
    assert rows.tolist() == [[0.5, 1], [2, 0]]
    assert labels == ["plain", "rich"]
    (tmp_path / "bare.csv").write_text("0.5,1\n2,0\n")
    assert read_arms(tmp_path / "bare.csv")[0].tolist() == rows.tolist()
    np.save(tmp_path / "a.npy", rows)
    assert read_arms(tmp_path / "a.npy")[0].tolist() == rows.tolist()
    pyarrow.parquet.write_table(pa.table({"id": ["a", "b"], "x": [1, 2]}), tmp_path / "a.parquet")
    assert read_arms(tmp_path / "a.parquet")[1] == ["a", "b"]
    (tmp_path / "log.csv").write_text("arm,reward\nrich,1\nplain,0\nrich,0.5\n")
    logged, _ = read_logged(tmp_path / "log.csv")
    assert isinstance(logged, tuple)
    which, rewards = logged
    assert which == ["rich", "plain", "rich"]
    assert rewards.tolist() == [1, 0, 0.5]
    (tmp_path / "numbered.csv").write_text("id,x\n1001,0.5\n1002,1\n")
    assert read_arms(tmp_path / "numbered.csv")[1] == ["1001", "1002"]
    with pytest.raises(InfexError, match="a column 'arm' is needed, got name, x, y"):
        read_logged(tmp_path / "a.csv")
    (tmp_path / "holes.csv").write_text("arm,reward\nrich,1\nplain,\n")
    with pytest.raises(InfexError, match="'reward' must hold a number in every row"):
        read_logged(tmp_path / "holes.csv")
    with pytest.raises(InfexError, match="must end in"):
        read_arms(tmp_path / "a.txt")
    with pytest.raises(InfexError, match=r"missing\.csv"):
        read_arms(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,c\nx,y,1\n", r"at most one column may hold labels .*, got a \(x\), b \(y\)"),
        ("name,x\np,3\nq,12 EUR\n", r"at most one column may hold labels .*, got name \(p\), x \(12 EUR\)"),
        ("name,x,y\n", "there are no rows of arms, only name, x, y"),
        ("name;x;y\np;1;2\n", "no column holds numbers, .* separated by commas"),
        ("name,x,y\np,1,2\nq,,3\n", "finite numbers, got nan or nothing in row 2 of column x"),
        ("name,x\np,1\nq,inf\n", "finite numbers, got inf or nothing in row 2 of column x"),
        ("name,x\np,1\nq,1,2\n", "Expected 2 columns"),
        ("", "Empty CSV file"),
        ("x,x\n1,2\n", "two columns are called 'x'"),
    ],
)
def test_files_that_hold_no_arms_are_refused_by_what_is_wrong(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "arms.csv").write_text(content)
    with pytest.raises(InfexError, match=rf"arms\.csv: .*{message}"):
        read_arms(tmp_path / "arms.csv")


def test_arms_without_names_of_columns_and_arrays_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("plain,0.5,true\nrich,2,false\n")
    rows, labels, _ = read_arms(tmp_path / "bare.csv")
    assert rows.tolist() == [[0.5, 1], [2, 0]]
    assert labels == ["plain", "rich"]
    (tmp_path / "index.csv").write_text(",x\n0,0.5\n1,2\n")
    assert read_arms(tmp_path / "index.csv")[0].tolist() == [[0.5], [2]]
    (tmp_path / "pandas.csv").write_text("0,1\n0.5,3\n2,4\n")
    assert read_arms(tmp_path / "pandas.csv")[0].tolist() == [[0.5, 3], [2, 4]]
    (tmp_path / "quoted.csv").write_text('\n"0.5","3"\n"2","4"\n')
    assert len(read_arms(tmp_path / "quoted.csv")[0]) == 2
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "objects.npy", np.array([{}, {}]))
    np.save(tmp_path / "flat.npy", np.zeros(3))
    for name, message in (
        ("text", "no NumPy array"),
        ("objects", "no NumPy array"),
        ("flat", r"shape \(3,\)"),
    ):
        with pytest.raises(InfexError, match=message):
            read_arms(tmp_path / f"{name}.npy")


def test_one_is_warned_of_features_and_logs_that_do_not_fit() -> None:
    with pytest.warns(UnevenFeatures, match="up to 60 in column 0, up to 0.5 in column 1"):
        belief([[60.0, 0.5], [5.0, 0.1]], None, None, None, 1.0, 1.0, None)
    arms = np.eye(2)
    with pytest.warns(
        LargeReward, match="9 logged rewards do not fit noise 1 and bound 0.1: they lie 19.6 times"
    ):
        belief(arms, None, None, None, 1.0, 0.1, ([0] * 9, [20.0] * 9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        belief(arms, None, None, None, 1.0, 20.0, ([0] * 9, [20.0] * 9))
        belief([[1.0, 0.5], [0.2, 0.1]], None, None, None, 1.0, 1.0, None)


def test_a_plan_that_explores_always_is_a_line_of_python_too() -> None:
    policy = infex.LinTS(scale=0.5, delta=0.001)
    assert code_of(policy, "") == "infex.LinTS(delta=0.001, scale=0.5)"
    assert rounds_of(policy, 100) == "in every round"


def test_one_mean_has_one_interval() -> None:
    found = plan(**QUICK, seed=3)
    chosen, regret = found.chosen(), found.regret["recommended"]
    assert chosen.problems == regret.problems >= 6
    assert chosen.regret[1:] == pytest.approx((max(regret.mean.low, 0.0), regret.mean.high))


def test_the_same_plan_gives_the_same_files(tmp_path: Path) -> None:
    found = plan(**QUICK, seed=1)
    one, two = tmp_path / "one", tmp_path / "new" / "folder"  # they are made
    for folder in (one, two):
        found.write(folder)
    for name in ("plan.png", "plan.svg", "plan.html"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert b"drawn by infex" in (one / "plan.svg").read_bytes()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_picture_on_the_page_names_each_candidate_by_keyboard(tmp_path: Path, width: int) -> None:
    found = plan(**QUICK, seed=1)
    found.write(tmp_path)
    known = {each.expression for each in (*found.levels, found.chosen()) if np.isfinite(each.regret.low)}
    with browser.opened(tmp_path / "plan.html", width) as driver:
        dots = driver.find_elements(By.CSS_SELECTOR, "#front g.dot")
        names = [dot.get_attribute("data-name") for dot in dots]
        assert known <= set(names)
        assert len(driver.find_elements(By.CSS_SELECTOR, "#front g.dot.strong")) <= 1
        driver.find_element(By.CSS_SELECTOR, "#front .plot").send_keys(Keys.HOME)
        tip = driver.find_element(By.CSS_SELECTOR, "#front .tip").text
        assert tip.startswith(names[0])
        assert re.search(r": explorations \d[\d,]*, regret \d", tip)
        labels = driver.find_elements(By.CSS_SELECTOR, "#front .label")
        assert [label.text.endswith("(log scale)") for label in labels[-2:]] == [True, True]
        sizes = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        inner, outer = driver.execute_script(sizes)
        assert inner <= outer
        browser.refuse_what_axe_finds(driver)
        assert driver.get_log("browser") == []


def test_the_page_says_what_was_asked_for_and_leaves_out_intervals_of_few_problems() -> None:
    found = plan(**QUICK, max_share=0.1)
    first = found.menu[0]
    unknown = Interval(1.0, np.nan, np.nan)
    few = first.figures._replace(problems=4, regret=unknown, ratio=unknown, expression="<few>")
    changed = dataclasses.replace(found, menu=(*found.menu, first._replace(figures=few)))
    page = plan_page(changed)
    assert "max share 0.1, keep within 1.1, seconds 0.4, seed 0." in page
    assert "nan" not in page
    assert page.count("<!doctype html>") == 1
    assert "&lt;few&gt;" in page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "longest"), [(1280, 2400), (390, 3000)])
def test_the_page_is_short_and_nothing_sticks_out(tmp_path: Path, width: int, longest: int) -> None:
    """It was 16,700 pixels long, 32,000 on a phone, with a table of all candidates."""
    plan(**QUICK | {"seconds": 0.2}).write(tmp_path)
    with browser.opened(tmp_path / "plan.html", width) as driver:
        height, across, table = driver.execute_script(
            """
            const page = document.documentElement, table = document.querySelector(".wide");
            return [page.scrollHeight, page.scrollWidth - page.clientWidth,
              table.scrollWidth - table.clientWidth];
            """
        )
        assert height <= longest
        assert across <= 0
        assert table <= 0 or width < 600
        assert driver.get_log("browser") == []


def test_a_question_is_frozen_and_checked() -> None:
    asked = plan(**QUICK).question
    assert dataclasses.asdict(asked)["arms_count"] == 5
    with pytest.raises(InfexError, match="seconds must be above 0, got -1"):
        dataclasses.replace(asked, seconds=-1)
    with pytest.raises(InfexError, match="max_share must be at most 1"):
        dataclasses.replace(asked, max_share=2.0)


def test_the_command_refuses_a_folder_before_it_works(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    words = ["plan", "--dim", "2", "--arms-count", "3", "--horizon", "100", "--seconds", "600"]
    found = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "file" / "sub")])
    assert found.exit_code == 2
    assert "cannot write to" in found.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--dim 3", "--dim and --arms-count, or --problem; got --dim alone"),
        ("", "--arms or --logged, or both of --dim and --arms-count, or --problem; got none"),
        ("--dim 3 --arms-count 4 --problem gaussian(dim=2,arms=4)", "--dim and --problem each say what is"),
    ],
)
def test_the_command_speaks_of_its_options(options: str, message: str, tmp_path: Path) -> None:
    words = ["plan", *options.split(), "--horizon", "100", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 2
    assert message in found.output
    assert "arms_count" not in found.output
    assert not (tmp_path / "out").exists()


def test_the_command_prints_a_plan_and_writes_its_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"arm{k},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(rng.normal(size=(6, 2)))]
    (tmp_path / "arms.csv").write_text("name,x,y\n" + "\n".join(lines))
    (tmp_path / "log.csv").write_text("arm,reward\narm0,0.3\narm1,-0.2\n")
    words = ["plan", "--arms", str(tmp_path / "arms.csv"), "--horizon", "3e2", "--seconds", "0.2"]
    words += ["--logged", str(tmp_path / "log.csv"), "--max-share", "0.2", "--workers", "1"]
    found = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    for words_shown in (
        "infex.Infex(",
        "less plain LinUCB",
        "arms were divided by",
        "most often the best arm: arm",
    ):
        assert words_shown in found.output
    page = (tmp_path / "out" / "plan.html").read_text()
    assert "How rarely to explore" in page
    assert '<figure class="chart" id="front">' in page
    assert "https://" not in page
    assert (tmp_path / "out" / "plan.png").exists()
    told = CliRunner().invoke(
        main, [*words, "--json", "--out", str(tmp_path / "again")], catch_exceptions=False
    )
    data = json.loads(told.stdout)
    assert json.loads((tmp_path / "again" / "plan.json").read_text()) == data
    assert {"recommended", "settled", "explorations", "menu", "levels", "candidates"} <= set(data)
    assert registry.parse(data["recommended"]).base is not None
    assert data["explorations"] <= 60
    assert {"name", "factor", "holds", "figures"} <= set(data["menu"][0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"horizon": 1}, "horizon must be at least 2, got 1"),
        ({"horizon": 10**10}, "horizon must be at most 1000000000 to be simulated"),
        ({"horizon": 9}, "give the arms, or their dim and arms_count"),
        ({"horizon": 9, "arms": [[1.0], [2.0]], "dim": 2}, "give either the arms, or"),
        ({"horizon": 9, "arms": [[1.0]]}, "two or more rows of numbers, got shape"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "max_share": 2}, "max_share must be at most 1, got 2"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "max_count": 0}, "allows 0 exploring rounds in 9 rounds"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "keep_within": 0.5}, "keep_within must be at least 1"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "noise": 0}, "noise must be above 0"),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "logged": ([0], [1.0])}, "need the arms"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": ([5], [1.0])}, "of arms 0 to 1, got 5"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": (["a"], [1.0])}, "must be indices of arms, .*'a'"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": ([0], [1.0, 2.0])}, "as many as their arms"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": ([0], [np.inf])}, "must be finite, .* got inf"),
        (
            {"horizon": 9, "arms": [[1.0], [0.5]], "logged": ([0], [2e155])},
            r"larger than 1e\+100, got 2e\+155",
        ),
        (
            {"horizon": 9, "arms": [[1.0], [0.5]], "labels": ["a", "b"], "logged": (["c"], [1.0])},
            "no arm is called 'c'",
        ),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "labels": ["a", "a"]}, "labels must differ, got 'a' 2 times"),
        (
            {"horizon": 9, "arms": [[1.0], [0.5]], "labels": ["a"]},
            "labels must be as many as the arms, 2, got 1",
        ),
        ({"horizon": 9, "dim": 2, "arms_count": 3, "labels": ["a"]}, "labels need the arms"),
        ({"horizon": 9, "arms": "arms.csv"}, "rows of as many numbers each, got 'arms.csv'"),
        ({"horizon": 9, "arms": [[1.0], [0.5, 2.0]]}, "rows of as many numbers each"),
        (
            {"horizon": 9, "arms": [[1.0, 2.0], [0.5, 1e200]]},
            r"up to 1e\+100, got 1e\+200 in row 1, column 1",
        ),
        (
            {"horizon": 9, "arms": [[math.nan, 1.0]]},
            r"finite numbers up to 1e\+100, got nan in row 0, column 0",
        ),
        ({"horizon": 9, "arms": [[0.5, 1.0]]}, r"two or more rows of numbers, got shape \(1, 2\)"),
        ({"horizon": 9, "arms": [[1.0, 2.0], [1.0, 2.0]]}, "all 2 arms are alike"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": "log.csv"}, "a pair: arms and their rewards"),
        ({"horizon": 9, "arms": [[1.0], [0.5]], "logged": ([0], ["x"])}, "logged rewards must be numbers"),
    ],
)
def test_bad_questions_are_refused_by_name(given: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        plan(given.pop("arms", None), **given)


def test_explorations_of_runs_that_were_cut_are_counted_as_those_of_a_whole_horizon() -> None:
    policy = infex.Infex(infex.LinUCB(scale=0.1), infex.policies.ledger(1.0))
    source = belief(None, None, 5, 20, 1.0, 1.0, None)
    cut, whole = (Candidate(policy, None) for _ in range(2))
    Pool(source, 0, horizon=8000).run(cut, 6, 500)
    Pool(source, 0, horizon=500).run(whole, 6, 500)
    assert whole.explorations > 0
    assert cut.explorations == pytest.approx(16 * whole.explorations)


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration")
@pytest.mark.parametrize(
    ("schedule", "most"),
    [
        ("budget(ledger(0.1), 20)", 20),
        ("ledger(0.1, schedule=budget(every(2), 30))", 30),
        ("budget(ledger(0.1), 5, window=1000)", 40),
        ("doubtful(logarithmic(2), scale=9)", infex.logarithmic(2).count(8000)),
    ],
)
def test_explorations_of_runs_that_were_cut_keep_the_limits_of_their_schedule(
    schedule: str, most: int
) -> None:
    policy = infex.Infex(infex.LinUCB(scale=0.1), registry.parse(schedule))
    cut = Candidate(policy, None)
    Pool(belief(None, None, 5, 20, 1.0, 1.0, None), 0, horizon=8000).run(cut, 6, 500)
    assert cut.explorations > 0
    assert cut.counts.max() <= most


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration")
def test_a_plan_that_is_cut_never_tells_explorations_that_its_schedule_makes_impossible() -> None:
    answer = infex.lab.plan(
        dim=10, arms_count=200, horizon=10_000_000, seconds=0.5, workers=1,
        schedules=["budget(ledger(0.1), 20)"], bases=["LinUCB"],
    )  # fmt: skip
    assert answer.rounds < answer.horizon
    assert answer.explorations == answer.chosen().most == 20
    assert answer.explored.startswith("20 of 10,000,000 rounds explore (")
    hedge = f"if it goes on as in the first {answer.rounds:,}"
    assert hedge in answer.explored, "all problems agree, and it is no plan all the same"
    for shown in (" ".join(str(answer).split()), plan_page(answer).replace("&quot;", '"')):
        assert "about 20" in shown
        assert f'"About": {hedge} rounds' in shown


def test_a_plan_that_is_cut_says_that_explorations_go_on_at_their_rate() -> None:
    answer = infex.lab.plan(
        dim=20, arms_count=200, horizon=2_000_000, seconds=0.5, workers=1,
        schedules=["ledger(1)"], bases=["LinUCB(scale=0.1)"],
    )  # fmt: skip
    assert answer.rounds < answer.horizon
    assert f"if it goes on as in the first {answer.rounds:,}" in answer.explored
    assert answer.explorations > answer.rounds / 1000
