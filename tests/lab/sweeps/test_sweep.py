"""Sweeps: the same results however they are played, nothing lost, failures recorded."""

import contextlib
import copy
import functools
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pytest
from dask.distributed import Client

import infex
from infex import Infex, LinTS, LinUCB, every
from infex.errors import InfexError
from infex.lab import Results, Sweep
from tests.lab.sweeps import players
from tests.waiting import PATIENCE, started, until

HERE = "tests.lab.sweeps.players"
ROOT = Path(__file__).parents[3]
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
pytestmark = pytest.mark.filterwarnings("ignore:.* runs failed; see:RuntimeWarning")
SMALL: dict[str, Any] = {"environments": ["gaussian(dim=3, arms=5)"], "horizon": 300, "seeds": 3}


def columns(results: Results) -> pa.Table:
    """All but time, in one order."""
    table = results.table().arrow.drop_columns(["seconds"])
    return table.sort_by([("key", "ascending"), ("t", "ascending")])


def sweep(**more: Any) -> Sweep:
    given = SMALL | {"policies": ["LinUCB", "Greedy", f"{HERE}:middle"]} | more
    return Sweep(**given)


def interrupted(given: Sweep, out: Path, after: int, **more: Any) -> None:
    """Plays a sweep into a folder, and presses Ctrl-C once so many chunks are kept."""
    told: list[int] = []

    def progress(done: int, total: int, failed: int) -> None:
        told.append(done)
        if len(told) > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        given.run(workers=1, out=out, progress=progress, **more)


def test_results_are_those_of_play() -> None:
    results = sweep(policies=["LinUCB", Infex(LinTS(), every(5), data="own")]).run(workers=1)
    (cell,) = results.cells
    assert (cell.dim, cell.arms) == (3, 5)
    assert results.policies == ["LinUCB", "Infex(LinTS, every(5), data=own)"]
    for seed in range(3):
        instance = infex.lab.environments.gaussian(dim=3, arms=5, seed=seed)
        own = Infex(LinTS(delta=1 / 300), every(5), data="own")
        run = infex.lab.play(instance, own, 300, seed)
        assert results.regret(cell, results.policies[1])[seed] == run.regret
        np.testing.assert_array_equal(results.curves(cell, results.policies[1])[1][seed], run.curve()[1])
    assert results.finals.num_rows == 6


def test_one_worker_two_workers_and_a_second_time_give_the_same() -> None:
    alone = sweep().run(workers=1)
    assert columns(sweep().run(workers=2)).equals(columns(alone))
    assert columns(sweep().run()).equals(columns(alone))


def test_a_dask_scheduler_with_two_workers_gives_the_same(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    deadly = players.Deadly(str(tmp_path / "died"))
    policies = ["LinUCB", f"{HERE}:middle", deadly]
    patience = f"{PATIENCE:g}s"
    given = QUIET | {
        "env": os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "5",
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": patience,
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": patience,
        }
    }
    local = ["--no-dashboard", "--host", "127.0.0.1"]
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", *local, "--port", "0"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", *local, "--nthreads", "1"]
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(started([*scheduler, "--scheduler-file", str(file)], **given))
        address = until(lambda: _address(file), "the scheduler is there", first)
        for _ in range(2):
            stack.enter_context(started([*worker, address], **given))
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": patience}))
        with Client(address) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        found = sweep(policies=policies).run(engine="dask", scheduler=address)
    assert (tmp_path / "died").exists()
    assert not found.failures
    assert columns(found).equals(columns(sweep(policies=policies).run(workers=1)))


def _address(file: Path) -> str | None:
    """Where the scheduler listens, once the file that says so is written to its end."""
    try:
        address: str = json.loads(file.read_text())["address"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return address


def test_what_is_there_is_not_played_again(tmp_path: Path) -> None:
    def played(given: Sweep, **more: Any) -> tuple[int, Results]:
        told: list[int] = []
        found = given.run(
            workers=1, out=tmp_path / "a", progress=lambda done, total, failed: told.append(done), **more
        )
        assert told[0] == found.about["earlier"]
        return told[-1] - told[0], found

    count, first = played(sweep())
    assert count == 9
    count, again = played(sweep())
    assert count == 0
    assert again.table().arrow.equals(first.table().arrow), "with the times of the first"
    count, more = played(sweep(policies=["Greedy", "Uniform", f"{HERE}:middle", "LinUCB"]))
    assert count == 3
    assert more.policies == ["Greedy", "Uniform", f"{HERE}:middle", "LinUCB"]
    count, fewer = played(sweep(policies=["Uniform"]))
    assert (count, fewer.policies) == (0, ["Uniform"])
    assert played(sweep(), force=True)[0] == 9


def test_names_of_tasks_depend_on_their_content_alone() -> None:
    keys = {str(task): task.key for task in sweep().tasks()}
    assert len(set(keys.values())) == len(keys) == 9
    wider = sweep(policies=["Uniform", "Greedy", "LinUCB"], seeds=[2, 1]).tasks()
    for task in wider:
        if str(task) in keys:
            assert task.key == keys[str(task)]
    for other in (sweep(horizon=301), sweep(penalty=2.0), sweep(environments=["gaussian(dim=3, arms=6)"])):
        assert not {task.key for task in other.tasks()} & set(keys.values())
    changed = {str(task): task.key for task in sweep(delta=0.3).tasks()}
    assert changed["LinUCB(delta=0.3) on gaussian(dim=3, arms=5) with seed 0"] not in keys.values()
    assert changed["Greedy on gaussian(dim=3, arms=5) with seed 0"] in keys.values()


def test_a_failing_run_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    for workers in (1, 2):
        out = tmp_path / str(workers)
        results = sweep(policies=["LinUCB", f"{HERE}:failing"]).run(workers=workers, out=out)
        assert results.policies == ["LinUCB"]
        assert results.finals.num_rows == 3
        assert len(results.failures) == 3
        assert all("on purpose" in failure["traceback"] for failure in results.failures)
        assert results.failures[0]["run"].startswith(f"{HERE}:failing on gaussian(dim=3, arms=5) with seed")
        assert {failure["policy"] for failure in results.failures} == {f"{HERE}:failing"}
        assert Results.load(out).failures == results.failures
    broken = Sweep(environments=[players.broken, players.small], policies=["Greedy"], seeds=2, horizon=9).run(
        workers=1
    )
    assert [failure["traceback"].splitlines()[-1] for failure in broken.failures] == [
        f"ValueError: no problem with seed {seed}" for seed in (0, 1)
    ]
    assert broken.finals.num_rows == 2


def test_a_worker_that_dies_costs_a_retry(tmp_path: Path) -> None:
    policies = ["LinUCB", players.Deadly(str(tmp_path / "died"))]
    results = sweep(policies=policies, seeds=6).run(workers=2)
    assert not results.failures
    assert results.finals.num_rows == 12


def test_a_run_that_always_kills_its_worker_is_recorded(tmp_path: Path) -> None:
    policies = ["LinUCB", players.Deadly(str(tmp_path / "died"), always=True)]
    results = sweep(policies=policies, seeds=2).run(workers=2)
    assert len(results.failures) == 2
    assert "died" in results.failures[0]["traceback"]
    assert results.finals.num_rows == 2


def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    """Runs on 4 arms are finished and those on 3 are held when the signal comes, on any machine."""
    quick, slow = "gaussian(dim=2, arms=4)", "gaussian(dim=2, arms=3)"
    policies, out = ["LinUCB", players.Held(str(tmp_path), arms=3)], tmp_path / "a"
    program = (
        "from pathlib import Path\nfrom infex.lab import Sweep\nfrom tests.lab.sweeps.players import Held\n"
        f"here = Path({str(tmp_path)!r})\n"
        f"Sweep(environments={[quick, slow]}, policies=['LinUCB', Held(str(here), arms=3)], seeds=3,\n"
        "      horizon=300).run(workers=2, out=here / 'a',\n"
        "                       progress=lambda done, *of: (here / f'done-{done}').touch())\n"
    )
    with started([sys.executable, "-c", program], cwd=ROOT, **QUIET) as process:
        until((tmp_path / "done-6").exists, "the runs that nothing holds are finished", process)
        until(lambda: len(list(tmp_path.glob("held-*"))) == 2, "both workers are held", process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) != 0
    (tmp_path / "go").touch()
    kept = sweep(environments=[quick], policies=policies).run(workers=1, out=tmp_path / "a")
    assert kept.about["earlier"] == 6, "these were kept"
    whole = sweep(environments=[quick, slow], policies=policies)
    resumed = whole.run(workers=2, out=out)
    assert resumed.about["earlier"] == 6, "and no others"
    assert columns(resumed).equals(columns(whole.run(workers=1)))


def test_a_folder_with_other_contents_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(InfexError, match="has other contents; name another, or force=True"):
        sweep().run(workers=1, out=tmp_path)
    sweep().run(workers=1, out=tmp_path, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "important"
    assert (tmp_path / "results.parquet").exists()
    with pytest.raises(InfexError, match="is not a folder"):
        sweep().run(workers=1, out=tmp_path / "thesis.tex")
    with pytest.raises(InfexError, match="holds no results of a sweep"):
        Results.load(tmp_path / "nowhere")


def test_the_table_goes_to_polars_and_pandas(tmp_path: Path) -> None:
    results = sweep().run(workers=1, out=tmp_path / "a")
    table = results.table()
    assert table.num_rows == len(table) == len(table.to_pandas()) == len(table.to_polars())
    assert pa.table(table).equals(table.arrow)
    assert columns(Results.load(tmp_path / "a")).equals(columns(results))
    lines = (tmp_path / "a" / "summary.csv").read_text().splitlines()
    assert lines[0].replace('"', "") == (
        "environment,dim,arms,horizon,policy,instances,"
        "regret_mean,regret_low,regret_high,regret_std,regret_median,explored_mean,different_mean,"
        "seconds_median"
    )
    assert len(lines) == 4
    assert repr(results) == "Results(9 runs, 0 failed)"


def test_infex_of_all_bases_and_schedules() -> None:
    found = sweep(
        policies=[],
        bases=["LinUCB", f"{HERE}:narrow"],
        schedules=["every(5)", every(7)],
        data=["shared", "own"],
    )
    assert [player.label for player in found.players] == [
        "Infex(LinUCB, every(5))",
        "Infex(LinUCB, every(5), data=own)",
        "Infex(LinUCB, every(7))",
        "Infex(LinUCB, every(7), data=own)",
        f"Infex({HERE}:narrow, every(5))",
        f"Infex({HERE}:narrow, every(5), data=own)",
        f"Infex({HERE}:narrow, every(7))",
        f"Infex({HERE}:narrow, every(7), data=own)",
    ]
    assert found.players[0].base == "LinUCB"
    assert found.players[0].policy.base.delta == 1 / 300


def test_problems_of_a_users_own() -> None:
    found = Sweep(
        environments=[f"{HERE}:square", players.small, "changing(dim=2, arms=4, best=fixed)", players.square],
        policies=["Greedy"],
        seeds=2,
        horizon=50,
    ).run(workers=1)
    assert sorted((cell.dim, cell.arms) for cell in found.cells) == [(2, 2), (2, 2), (2, 3), (2, 4)]
    assert found.finals.num_rows == 8


def test_problems_of_one_shape_are_told_apart() -> None:
    twins = ["gaussian(dim=2, arms=4)", "gaussian(dim=2, arms=4, rewards=gaussian)"]
    found = sweep(environments=twins, policies=["Greedy"]).run(workers=1)
    assert found.summary()["environment"].to_pylist() == twins
    assert [found.title(cell) for cell in found.cells] == [f"d = 2, K = 4: {twin}" for twin in twins]
    alone = sweep(environments=twins[:1], policies=["Greedy"]).run(workers=1)
    assert alone.summary()["environment"].to_pylist() == twins[:1]
    assert alone.title(alone.cells[0]) == "d = 2, K = 4"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policies": ["LinUBC"]}, "unknown name 'LinUBC'"),
        ({"policies": "LinUCB"}, "policies must be a list, got 'LinUCB'"),
        ({"policies": []}, "an empty sweep: 1 environments, 0 policies, 3 seeds"),
        ({"seeds": 0}, "an empty sweep: 1 environments, 3 policies, 0 seeds"),
        ({"seeds": 2.5}, "seeds must be a whole number, got 2.5"),
        ({"seeds": [1, "x"]}, "a seed must be a whole number, got 'x'"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"delta": 2.0}, "delta must be at most 1, got 2.0"),
        ({"environments": ["gauss(dim=3)"]}, "an environment must be like 'gaussian"),
        (
            {"environments": ["gaussian(dims=3, arms=5)"]},
            "gaussian has no setting 'dims' .did you mean dim.*; it has dim, arms, rewards",
        ),
        ({"environments": ["gaussian(dim=3)"]}, "gaussian needs arms, as in"),
        ({"environments": ["gaussian(dim=3, arms=0)"]}, "arms must be at least 1, got 0"),
        (
            {"environments": ["gaussian(dim=3, arms=5, rewards=bernoulli)"]},
            "means must be from 0 to 1 for bernoulli rewards",
        ),
        ({"environments": [3]}, "instance must be one of infex.lab.environments, got 3"),
        ({"environments": ["no.such:thing"]}, "cannot load 'no.such:thing': No module named"),
        ({"policies": [f"{HERE}:nothing"]}, "cannot load '.*:nothing'"),
        ({"policies": [f"{HERE}:not_a_policy"]}, "policy must be a policy"),
        ({"policies": ["Greedy", "Greedy"]}, "Greedy stands 2 times among the policies; a dict"),
        (
            {"policies": [players.Counting(), players.Counting()]},
            "Counting stands 2 times among the policies; a dict gives them names: policies={'one': ...}",
        ),
        (
            {"environments": ["gaussian(dim=3, arms=5)"] * 2},
            r"gaussian\(dim=3, arms=5\) stands 2 times among the environments",
        ),
        (
            {"policies": ["Infex(mine.rules.own, every(5))"]},
            "yours is written with a colon: 'mine.rules:own'",
        ),
        ({"policies": ["mine.own"]}, "yours is written with a colon: 'mine:own'"),
        ({"policies": [f"Infex({HERE}:nothing, every(5))"]}, "cannot load '.*:nothing'"),
        (
            {"policies": [f"Infex({HERE}:middle, evry(5))"]},
            r"unknown name 'evry' .* \(did you mean every\?\)",
        ),
        ({"policies": [f"Infex({HERE}:middle, every(0))"]}, "period must be at least 1, got 0"),
        ({"policies": [f"Infex({HERE}:middle, every(5), dat=own)"]}, "in 'Infex.*unexpected keyword.*'dat'"),
        ({"policies": [f"Infex({HERE}:middle, every(5)"]}, "not an expression like 'Infex"),
        ({"policies": [f"Infex(Greedy, [{HERE}:middle])"]}, "schedule must be an object with a method expl"),
        ({"policies": [f"every({HERE}:middle)"]}, "unknown name 'every'"),
        ({"bases": ["LinUCB"]}, "bases and schedules go together"),
        ({"bases": ["LinUCB"], "schedules": ["every(5)"], "data": []}, "bases need data"),
        ({"horizon": 10**16}, "horizon must be at most 1000000000000000, got"),
        ({"seeds": [1, 2, 1]}, "1 stands 2 times among the seeds"),
        ({"seeds": [2**63]}, r"a seed must be from -2\^63 to 2\^63 - 1, got 9223372036854775808"),
        ({"environments": [f"{HERE}:not_a_policy"]}, "instance must be one of infex.lab.environments, got 3"),
        ({"policies": [".rel:y"]}, "cannot load '.rel:y': the 'package' argument is required"),
        ({"policies": [f"{HERE}:Sized"]}, "players:Sized' cannot be made without arguments: .*size"),
        (
            {"policies": ["Greedy", "LinUBC"]},
            r"a policy is one of Agnostic.*EpsilonGreedy, .* - at `policies\[1\]`",
        ),
        ({"policies": ["Infex(LinUCB, evry(5))"]}, "unknown name 'evry' .*; a schedule is one of always, "),
        ({"policies": ["Infex(LinUBC, every(5))"]}, "unknown name 'LinUBC' .*; a policy is one of "),
        ({"policies": ["every(5)"]}, "unknown name 'every' .*; a policy is one of "),
        (
            {"bases": ["LinUCB"], "schedules": ["every(5) | evry(7)"]},
            r"unknown name 'evry' .*; a schedule is one of .* - at `schedules\[0\]`",
        ),
        ({"bases": ["LinUCB"], "schedules": ["every(0)"]}, "period must be at least 1, got 0"),
    ],
)
def test_bad_sweeps_are_refused_before_anything_runs(given: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        sweep(**given)


@pytest.mark.parametrize("text", ["this is no Python", "raise SystemExit(3)", "1 / 0"])
def test_a_module_that_cannot_be_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "broken_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InfexError, match=r"cannot load 'broken_module:y': .* - at `policies\[0\]`"):
        sweep(policies=["broken_module:y"])


def test_bad_engines_are_refused() -> None:
    with pytest.raises(InfexError, match="engine must be 'local' or 'dask' or 'ray' or 'spark', got 'cloud'"):
        sweep().run(engine="cloud")
    with pytest.raises(InfexError, match="needs an engine that has one"):
        sweep().run(scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InfexError, match="workers must be at least 1, got 0"):
        sweep().run(workers=0)


def test_a_learner_starts_each_run_as_it_was_given() -> None:
    given = players.Counting()
    for policies in ([given], ["Greedy", Infex(given, every(2))]):
        alone = sweep(policies=policies, environments=[players.small, "gaussian(dim=3, arms=5)"])
        one, two = alone.run(workers=1), alone.run(workers=2)
        assert given.learnt == 0
        assert columns(one).equals(columns(two))
        for seed in range(3):
            run = infex.lab.play(players.small(seed), copy.deepcopy(policies[-1]), 300, seed)
            assert one.regret(one.cells[0], one.policies[-1])[seed] == run.regret


def test_a_policy_that_ends_the_program_is_a_failure() -> None:
    results = sweep(policies=["Greedy", players.Leaving()]).run(workers=1)
    assert results.finals.num_rows == 3
    assert [failure["traceback"].splitlines()[-1] for failure in results.failures] == ["SystemExit: 0"] * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_warnings_of_runs_reach_the_user_once(workers: int) -> None:
    large = sweep(environments=[f"{HERE}:far"], policies=["LinUCB", "Greedy"], horizon=20)
    with pytest.warns(infex.errors.LargeReward, match="a reward of 30 is far beyond") as caught:
        results = large.run(workers=workers)
    assert len(caught) == 1
    assert results.finals.num_rows == 6


def test_failures_are_warned_of() -> None:
    with pytest.warns(RuntimeWarning, match=r"3 of 6 runs failed; see results\.failures\. .*: on purpose"):
        sweep(policies=["Greedy", players.failing]).run(workers=1)


def test_objects_inside_expressions_are_those_of_bases_and_schedules() -> None:
    own, narrow = f"{HERE}:middle", f"{HERE}:narrow"
    texts = [
        f"Infex({own}, every(5))",
        f"Infex( {own}, every(5), data='own', ties=lowest )",
        f"Infex(base={narrow}, schedule=every(3) | every(5))",
    ]
    found = sweep(policies=texts)
    grid = sweep(policies=[], bases=[own], schedules=["every(5)"], data=["shared", "own"])
    assert [task.key for task in found.tasks()[:6]] == [task.key for task in grid.tasks()]
    assert [player.base for player in found.players] == [own, own, narrow]
    assert found.players[2].label == f"Infex({narrow}, every(3) | every(5))"
    assert found.players[2].policy.base.delta == 1 / 300


def test_other_warnings_of_runs_go_their_way() -> None:
    class Loud(players.Middle):
        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            warnings.warn("mind the gap", RuntimeWarning, stacklevel=1)
            return super().choose(t, posterior, rng)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sweep(policies=[Loud()], horizon=2, seeds=1).run(workers=1)
    assert [str(each.message) for each in caught] == ["mind the gap"] * 2


def test_a_delta_that_is_named_is_kept_and_shown() -> None:
    texts = [
        "LinUCB",
        "LinUCB(delta=0.01)",
        "LinTS(delta=0.2)",
        "Infex(LinUCB(delta=0.01, scale=2), every(5))",
    ]
    found = sweep(policies=texts, bases=["LinTS(delta=0.01)"], schedules=["every(5)"])
    assert [player.label for player in found.players] == [
        "LinUCB",
        "LinUCB(delta=0.01)",
        "LinTS(delta=0.2)",
        "Infex(LinUCB(delta=0.01, scale=2), every(5))",
        "Infex(LinTS(delta=0.01), every(5))",
    ]
    deltas = [getattr(player.policy, "base", player.policy).delta for player in found.players]
    assert deltas == [1 / 300, 0.01, 0.2, 0.01, 0.01]
    assert [player.base for player in found.players[3:]] == [
        "LinUCB(delta=0.01, scale=2)",
        "LinTS(delta=0.01)",
    ]
    (object_,) = sweep(policies=[LinUCB(delta=0.01)]).players
    assert (object_.policy.delta, object_.label) == (0.01, "LinUCB(delta=0.01)")


def test_lists_may_be_given_as_generators() -> None:
    found = sweep(
        environments=(each for each in ["gaussian(dim=2, arms=3)"]),
        policies=(each for each in ["Greedy"]),
        bases=(each for each in ["LinUCB"]),
        schedules=(every(period) for period in (2, 3)),
        data=(each for each in ["own"]),
        seeds=(seed for seed in (1, 2)),
    )
    assert len(found.tasks()) == len(found.tasks()) == 6
    assert found.bases == ("LinUCB",)
    assert found.environments == ("gaussian(dim=2, arms=3)",)


def test_problems_that_are_called_have_names() -> None:
    partial = functools.partial(infex.lab.environments.gaussian, 2, arms=3)
    given = [partial, functools.partial(partial, rewards=object()), Caller()]
    assert [each.label for each in sweep(environments=given).problems] == [
        "infex.lab.environments.named:gaussian(2, arms=3)",
        "infex.lab.environments.named:gaussian(2, arms=3, rewards=object)",
        f"{__name__}:Caller",
    ]
    found = sweep(environments=[functools.partial(players.small), Caller()], policies=["Greedy"]).run(
        workers=1
    )
    assert found.finals.num_rows == 6


class Caller:
    def __call__(self, seed: int) -> Any:
        return players.small(seed)


def test_workers_that_die_thrice_before_anything_is_played_cost_retries(tmp_path: Path) -> None:
    policies = [players.DyingOften(str(tmp_path / "died"), 4)]
    results = sweep(policies=policies, seeds=1).run(workers=2)
    assert (tmp_path / "died").stat().st_size == 4  # three times with all others, once alone
    assert not results.failures


def test_the_default_delta_of_every_policy_and_base_is_one_over_the_horizon() -> None:
    texts = [
        "GreedyFirst",
        "HybridTS",
        "ContextReduction(base=LinTS)",
        "Infex(LinUCB, until_certain(every(5)))",
    ]
    found = [player.policy for player in sweep(policies=texts).players]
    assert [getattr(each, "base", each).delta for each in found] == [1 / 300] * 4
    assert sweep(policies=["GreedyFirst(base=LinUCB(delta=0.01))"]).players[0].policy.base.delta == 0.01


def test_a_label_names_the_delta_that_is_played() -> None:
    """A delta of 0.5 elsewhere in the text was taken for the one that was to be written out."""
    text = "Infex(LinUCB(delta=0.01), until_certain(every(5), delta=0.5))"
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=[text], horizon=50, seeds=1)
    assert [player.label for player in sweep.players] == [text]
