"""A sweep gives the very runs of `play`, however it is cut; rows of its table say what each run gave."""

import itertools
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from infex import Infex, LinUCB, every
from infex.errors import InfexError, LargeReward
from infex.lab import Results, Sweep, play
from infex.models import Discounted, Ridge
from tests.lab.sweeps import players
from tests.lab.sweeps.test_sweep import columns, sweep

HERE = "tests.lab.sweeps.players"
pytestmark = pytest.mark.filterwarnings("ignore:.* runs failed; see:RuntimeWarning")
PROBLEMS: list[Any] = [
    "gaussian(dim=3, arms=5)",
    "lower_bound(gap=0.2)",
    "changing(dim=2, arms=4)",
    "gaussian(dim=2, arms=3, late=2)",
    players.small,
    players.growing,
    players.Seesaw,
    f"{HERE}:square",
]
POLICIES: list[Any] = [
    "LinUCB",
    "Infex(LinTS, every(5), data=own)",
    "EpsilonGreedy",
    "UCB1",
    "ExploreThenCommit",
    "Infex(LinUCB, guarded(every(2), 1.0))",
    players.middle,
    players.Counting(),
    Infex(players.Counting(), every(3)),
]


def check(given: Sweep, **more: Any) -> None:
    """All runs of a sweep against `play`, bit by bit; what fails in one is refused by the other."""
    results = given.run(workers=1)
    rows = {(row["policy"], row["seed"], row["penalty"]): row for row in results.wide().to_pylist()}
    failed = {failure["run"]: failure["traceback"].splitlines()[-1] for failure in results.failures}
    refused: dict[str, str] = {}
    (problem,) = given.problems
    for player, seed in itertools.product(given.players, given.seeds):
        name = f"{player.label} on {problem.label} with seed {seed}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                run = play(
                    problem.make(seed), player.policy, player.horizon, seed, penalty=player.penalty, **more
                )
            except InfexError as error:
                refused[name] = str(error).splitlines()[-1]
                continue
        row = rows.pop((player.label, seed, player.penalty))
        rounds, regret = run.curve()
        assert row["t"] == rounds.tolist(), name
        assert np.array(row["regret"]).tobytes() == regret.tobytes(), name
        for figure in (
            "explored",
            "different",
            "optimal",
            "regret_exploring",
            "regret_greedy",
            "log_det_ratio",
        ):
            assert row[figure] == getattr(run, figure), name
        assert row["seconds"] >= 0
    assert not rows
    assert failed.keys() == refused.keys()
    assert all(failed[name].endswith(words) for name, words in refused.items())


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_a_sweep_gives_the_runs_of_play(problem: Any) -> None:
    check(sweep(environments=[problem], policies=POLICIES, horizon=40))


def test_policies_that_ask_for_the_truth_are_told_that_of_each_problem() -> None:
    check(sweep(policies=["OLSBandit(preset=paper)", "OLSBandit"], horizon=60))


@pytest.mark.parametrize("estimator", [Ridge(penalty=0.3), Discounted(rate=0.9)], ids=["Ridge", "Discounted"])
def test_a_sweep_gives_the_runs_of_play_with_estimators_and_penalties(estimator: Any) -> None:
    policies = ["LinUCB", "Infex(LinTS, every(5))"]
    check(sweep(policies=policies, estimator=estimator, penalty=[0.5, 2.0], horizon=40), estimator=estimator)


def test_a_run_that_fails_stops_none_of_the_others() -> None:
    check(sweep(environments=[players.marked], policies=[players.Picky()], seeds=4, horizon=20))
    results = sweep(environments=[players.marked], policies=[players.Picky()], seeds=4, horizon=20).run(
        workers=1
    )
    assert results.finals["seed"].to_pylist() == [0, 2, 3]
    assert "9" in results.failures[0]["traceback"]


def test_a_problem_that_cannot_be_made_stops_none_of_the_others() -> None:
    def torn(seed: int) -> Any:
        return players.broken(seed) if seed == 1 else players.small(seed)

    results = sweep(environments=[torn], policies=["LinUCB", "Greedy"], seeds=3).run(workers=1)
    assert results.finals["seed"].to_pylist() == [0, 2, 0, 2]
    assert ["no problem with seed 1" in each["traceback"] for each in results.failures] == [True, True]


def test_ctrl_c_in_a_run_ends_the_sweep() -> None:
    class Interrupting:
        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(policies=["LinUCB", Interrupting()]).run(workers=1)


def test_warnings_are_of_the_problem_that_gave_them() -> None:
    with pytest.warns(LargeReward) as caught:
        sweep(environments=["gaussian(dim=3, arms=5)", f"{HERE}:far"], policies=["LinUCB"], horizon=9).run(
            workers=1
        )
    assert len(caught) == 1


def test_a_problem_is_made_once_for_all_policies(tmp_path: Path) -> None:
    """Once for its name, which is a digest of what was made, and once by the worker that plays it."""
    log = tmp_path / "made"

    def noting(seed: int) -> Any:
        with log.open("a") as file:
            file.write(f"{seed} ")
        return players.small(seed)

    sweep(environments=[noting], policies=POLICIES, seeds=5, horizon=20).run(workers=1)
    assert set(Counter(log.read_text().split()).values()) == {2}


def test_a_built_in_problem_is_made_once_where_a_sweep_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from infex.lab import environments

    made: list[int] = []
    gaussian = environments.gaussian

    def counted(dim: int, arms: int, seed: int, **nature: Any) -> Any:
        made.append(seed)
        return gaussian(dim, arms, seed, **nature)

    monkeypatch.setitem(environments.PROBLEMS, "gaussian", counted)
    given = sweep(environments=["gaussian(dim=3, arms=5)"], seeds=4)
    assert made == [0]
    given.about(), given.tasks()
    assert made == [0], "settings are read from the instance that has checked them"
    results = given.run(workers=1)
    assert made == [0, 0, 1, 2, 3]
    assert results.finals.num_rows == 12


def test_a_small_sweep_is_kept_in_many_steps_and_a_large_one_in_few() -> None:
    def steps(**given: Any) -> list[int]:
        told: list[int] = []
        sweep(policies=["LinUCB", "Greedy"], **given).run(
            workers=1, progress=lambda done, total, failed: told.append(done)
        )
        return [int(each) for each in np.diff(told)]

    assert steps(seeds=4, horizon=50) == [2, 2, 2, 2], "all policies on one problem go together"
    assert sum(many := steps(seeds=400, horizon=1)) == 800
    assert 1 < len(many) < 50
    assert max(steps(seeds=1, horizon=200_000)) == 1, "long runs come one by one"


def test_the_largest_problems_come_first() -> None:
    first: list[int] = []

    class Sizing:
        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            if t == 1:
                first.append(len(posterior))
            return players.middle.choose(t, posterior, rng)

        def __deepcopy__(self, memo: Any) -> Any:
            return self

    problems = [f"gaussian(dim=2, arms={arms})" for arms in (3, 9, 5)]
    sweep(environments=problems, policies={"sizing": Sizing()}, seeds=2, horizon=5).run(workers=1)
    assert first == [9, 9, 5, 5, 3, 3]


def test_rows_may_stand_in_any_order_and_twice() -> None:
    results = sweep(seeds=4).run(workers=1)
    rows = results.table().arrow
    rng = np.random.default_rng(1)
    for mixed in (
        rows.take(rng.permutation(rows.num_rows)),
        pa.concat_tables([rows, rows.take(rng.permutation(rows.num_rows))]),
    ):
        assert Results(mixed, about=results.about).diff(results).agrees
        assert columns(Results(mixed, about=results.about)).equals(columns(results))


def test_a_table_without_the_columns_of_runs_is_refused() -> None:
    with pytest.raises(InfexError, match="a table of runs needs the columns key, environment"):
        Results(pa.table({"t": [1], "regret": [2.0]}))


def test_a_table_that_another_program_wrote_is_read(tmp_path: Path) -> None:
    results = sweep(policies=["LinUCB", players.middle]).run(workers=1, out=tmp_path)
    path = tmp_path / "results.parquet"
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path), path, row_group_size=77)
    assert Results.load(tmp_path).table().arrow.equals(results.table().arrow)


def test_runs_stand_in_the_order_of_the_sweep(tmp_path: Path) -> None:
    problems = ["gaussian(dim=2, arms=9)", "gaussian(dim=2, arms=3)"]
    given = sweep(environments=problems, policies=["LinUCB", "Greedy"], seeds=7, horizon=30)
    for workers in (1, 2):
        finals = given.run(workers=workers, out=tmp_path / str(workers)).finals
        assert finals["key"].to_pylist() == [task.key for task in given.tasks()]
        rows = zip(*(finals[name].to_pylist() for name in ("environment", "policy", "seed")), strict=True)
        assert list(rows) == list(itertools.product(problems, ["LinUCB", "Greedy"], range(7)))


def test_what_is_kept_of_a_run_is_small(tmp_path: Path) -> None:
    """Two numbers for each recorded round, and some hundred bytes beside them."""
    given = sweep(environments=["gaussian(dim=2, arms=3)"], policies=["LinUCB"], horizon=5_000, seeds=50)
    results = given.run(workers=1, out=tmp_path)
    (cell,) = results.cells
    points = results.curves(cell, "LinUCB")[0].size
    assert points > 60
    held = sum(each.nbytes for each in vars(results).values() if isinstance(each, pa.Table))
    assert held <= 50 * (2 * 16 * points + 2_000)


def test_workers_load_no_library_of_tables(tmp_path: Path) -> None:
    class Telling:
        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            import sys

            heavy = ("pyarrow", "scipy", "matplotlib", "rich", "pandas")
            (tmp_path / "loaded").write_text(json.dumps([name for name in heavy if name in sys.modules]))
            return players.middle.choose(t, posterior, rng)

    results = sweep(policies={"telling": Telling(), "LinUCB": LinUCB()}, seeds=2).run(workers=2)
    assert not results.failures
    assert json.loads((tmp_path / "loaded").read_text()) == []
