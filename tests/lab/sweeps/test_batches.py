"""Batches give the very runs of `play`, one by one; what is kept of them is small; old folders go on."""

import dataclasses
import hashlib
import itertools
import json
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from infex import Infex, LinTS, LinUCB, every
from infex.errors import InfexError, LargeReward
from infex.lab import play, play_many
from infex.lab import runner as chunk_playing
from infex.lab.results import Results
from infex.lab.runner import RememberedProblems, play_chunk
from infex.lab.store import Folder, read
from infex.lab.table import RUN_LISTS, by_round, by_run, once, runs_of
from infex.lab.tasks import TASK_FORMAT, Chunk, Task, TaskOutcome, chunked, failed, outcome_of
from infex.models import Discounted, Ridge
from infex.registry import stream_name
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


def bits(outcome: TaskOutcome) -> tuple[Any, ...]:
    """All that a run gave, but for its time."""
    facts = {name: value for name, value in outcome.facts.items() if name != "seconds"}
    error = None if outcome.error is None else outcome.error.splitlines()[-1]
    return outcome.key, facts, outcome.rounds.tolist(), outcome.regret.tobytes(), error


def by_hand(task: Task) -> TaskOutcome:
    """What `play` gives, or refuses."""
    player = task.player
    estimator = None if player.estimator is None else player.estimator.thing
    instance = task.recipe.make(task.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given: dict[str, Any] = {"penalty": player.penalty, "estimator": estimator}
        try:
            run = play(instance, player.policy, player.horizon, task.seed, **given)
        except InfexError:
            return failed(task.key, traceback.format_exc())
    return outcome_of(run, task.key, task.recipe.label, player.label)


def outcomes(tasks: list[Task], rounds: int = 10_000) -> dict[str, TaskOutcome]:
    return {each.key: each for chunk in chunked(tasks, rounds) for each in play_chunk(chunk)}


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_chunks_give_the_runs_of_play(problem: Any) -> None:
    tasks = sweep(environments=[problem], policies=POLICIES, horizon=40).tasks()
    found = outcomes(tasks)
    assert len(found) == len(tasks) == 27
    for task in tasks:
        assert bits(found[task.key]) == bits(by_hand(task)), str(task)
        assert found[task.key].error is not None or found[task.key].facts["seconds"] >= 0


def test_policies_that_ask_for_the_truth_are_told_that_of_each_problem() -> None:
    tasks = sweep(policies=["OLSBandit(preset=paper)", "OLSBandit"], horizon=60).tasks()
    found = outcomes(tasks)
    for task in tasks:
        assert bits(found[task.key]) == bits(by_hand(task))


@pytest.mark.parametrize("estimator", [Ridge(penalty=0.3), Discounted(rate=0.9)], ids=["Ridge", "Discounted"])
def test_chunks_give_the_runs_of_play_with_estimators_and_penalties(estimator: Any) -> None:
    tasks = sweep(
        policies=["LinUCB", "Infex(LinTS, every(5))"], estimator=estimator, penalty=[0.5, 2.0], horizon=40
    ).tasks()
    found = outcomes(tasks)
    for task in tasks:
        assert bits(found[task.key]) == bits(by_hand(task))


def test_compiled_runs_of_one_policy_go_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def watched(instances: Any, *given: Any, **more: Any) -> Any:
        calls.append(len(instances))
        return play_many(instances, *given, **more)

    monkeypatch.setattr(chunk_playing, "play_many", watched)
    problems = ["gaussian(dim=2, arms=3)", players.small, "changing(dim=2, arms=3)"]
    tasks = sweep(environments=problems, policies=["LinUCB", players.middle, "Greedy"], seeds=4).tasks()
    outcomes(tasks)
    assert calls == [4, 4, 4, 4]  # two policies on two plain problems; all others alone


def test_a_run_that_fails_in_a_batch_stops_none_of_the_others() -> None:
    tasks = sweep(environments=[players.marked], policies=[players.Picky()], seeds=4, horizon=20).tasks()
    found = [each for chunk in chunked(tasks) for each in play_chunk(chunk)]
    assert [each.error is None for each in found] == [True, False, True, True]
    assert "9" in str(found[1].error)
    assert [bits(each) for each in found] == [bits(by_hand(task)) for task in tasks]


def test_a_problem_that_cannot_be_made_stops_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_playing, "REMEMBERED_PROBLEMS", RememberedProblems())
    tasks = sweep(environments=[players.small], policies=["LinUCB"], seeds=3).tasks()
    broken = dataclasses.replace(tasks[1].recipe, source=players.broken)
    torn = Task(broken, tasks[1].player, 1, tasks[1].content)
    found = play_chunk(Chunk((tasks[0], torn, tasks[2])))
    assert "no problem with seed 1" in str(found[1].error)
    assert [bits(each) for each in (found[0], found[2])] == [bits(by_hand(task)) for task in tasks[::2]]


def test_ctrl_c_in_a_batch_ends_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(chunk_playing, "play_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        outcomes(sweep(policies=["LinUCB"]).tasks())


def test_each_problem_of_a_batch_has_its_warnings() -> None:
    problems = ["gaussian(dim=3, arms=5)", f"{HERE}:far"]
    (chunk,) = chunked(sweep(environments=problems, policies=["LinUCB"], horizon=9).tasks())
    warned: dict[str, set[type]] = {problem: set() for problem in problems}
    for task, each in zip(chunk.tasks, play_chunk(chunk), strict=True):
        warned[task.recipe.label] |= {type(warning) for warning in each.warned}
    assert warned == {problems[0]: set(), problems[1]: {LargeReward}}


def test_a_key_names_the_whole_content_of_a_run_and_how_it_is_played() -> None:
    """By its JSON; the format was raised when late problems came to look at what is pending."""
    given = sweep(policies=["LinUCB", players.middle], estimator=[None, Discounted(rate=0.5)], penalty=0.5)
    for task in given.tasks():
        player, estimator = task.player, task.player.estimator
        content: dict[str, Any] = {
            "format": TASK_FORMAT,
            "environment": [task.recipe.label, task.content.digest],
            "policy": [player.label, player.stream, player.content],
            "seed": task.seed,
            "horizon": 300,
            "penalty": 0.5,
        }
        if estimator is not None:
            content["estimator"] = [estimator.label, player.estimator_content]
        assert task.key == hashlib.blake2b(json.dumps(content).encode(), digest_size=12).hexdigest()


def test_chunks_of_a_policy_hold_few_rounds_runs_and_numbers() -> None:
    short = sweep(environments=["gaussian(dim=2, arms=3)"], policies=["LinUCB"], horizon=1, seeds=1200)
    assert [len(chunk.tasks) for chunk in chunked(short.tasks())] == [500, 500, 200]
    wide = sweep(environments=["gaussian(dim=2, arms=200_000)"], policies=["LinUCB"], horizon=1, seeds=5)
    assert [len(chunk.tasks) for chunk in chunked(wide.tasks())] == [2, 2, 1]


def test_all_policies_play_a_block_of_problems_before_the_next_and_the_largest_first() -> None:
    problems = ["gaussian(dim=2, arms=3)", "gaussian(dim=2, arms=9)"]
    given = sweep(environments=problems, policies=["LinUCB", "Greedy", players.middle], seeds=4, horizon=50)
    chunks = chunked(given.tasks(), rounds=100)
    assert sorted(key for chunk in chunks for key in chunk.keys) == sorted(task.key for task in given.tasks())
    told = [(c.tasks[0].recipe.label[-2], c.tasks[0].player.label, [t.seed for t in c.tasks]) for c in chunks]
    assert [label for _, label, _ in told[:8]] == [given.players[2].label] * 8, "the slow ones come first"
    assert told[8:] == [
        (arms, label, seeds)
        for arms, seeds, label in itertools.product("93", ([0, 1], [2, 3]), ("LinUCB", "Greedy"))
    ]


def test_few_problems_are_remembered_and_they_are_those_of_their_recipes() -> None:
    tasks = sweep(environments=["gaussian(dim=3, arms=50)"], policies=["LinUCB"], seeds=40).tasks()
    memory = RememberedProblems(most=2_000)
    for task in [*tasks, *tasks[::-1], *tasks]:
        made = memory.of(task)
        assert made.key == task.recipe.make(task.seed).key
        assert memory.held <= memory.most
        assert len(memory) <= 4
    assert memory.of(tasks[-1]) is memory.of(tasks[-1])
    own = sweep(environments=[players.Seesaw], policies=["LinUCB"]).tasks()
    assert memory.of(own[0]) is not memory.of(own[0]), "what may have a state is made anew"


def random_rows(rng: np.random.Generator, runs: int) -> pa.Table:
    """Rows of runs with curves of any length, by run and round."""
    found = []
    for number in range(runs):
        rounds = np.sort(rng.choice(1000, rng.integers(1, 9), replace=False)) + 1
        facts = {"environment": "e", "dim": 2, "arms": 3, "policy": f"p{number % 3}", "seed": number}
        facts |= {"horizon": int(rounds[-1]), "seconds": rng.random(), "explored": 1, "optimal": 2}
        facts |= {"regret_exploring": 0.5, "regret_greedy": rng.random(), "log_det_ratio": 1.0}
        found.append(TaskOutcome(f"key {number}", facts, rounds, rng.random(rounds.size)))
    table = runs_of(found)
    assert table.num_rows == runs
    rows = [
        {**each.facts, "key": each.key, "t": int(t), "regret": value}
        for each in found
        for t, value in zip(each.rounds, each.regret.tolist(), strict=True)
    ]
    assert by_round(table).to_pylist() == [{name: row[name] for name in RUN_LISTS.names} for row in rows], (
        "a row for each round"
    )
    return by_round(table)


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_runs_and_rows_of_rounds_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(1, 12)))
    runs = by_run(rows)
    assert by_round(runs).equals(rows)
    assert by_run(runs).equals(runs)
    mixed = by_run(rows.take(rng.permutation(rows.num_rows)))
    assert mixed.sort_by("key").equals(runs.sort_by("key"))
    twice = by_run(pa.concat_tables([rows, rows.take(rng.permutation(rows.num_rows))]))
    assert twice.equals(runs)
    cut = int(rng.integers(0, rows.num_rows + 1))
    halves = pa.concat_tables([by_run(rows.slice(0, cut)), by_run(rows.slice(cut)), runs.slice(0, 1)])
    assert once(halves).equals(runs), "a run that stands in two parts, and one that stands twice"


def test_no_run_is_an_empty_table_in_both_forms() -> None:
    empty = runs_of([])
    assert empty.schema == RUN_LISTS
    assert by_run(by_round(empty)).equals(empty)
    assert once(empty).num_rows == 0


def test_a_table_without_the_columns_of_runs_is_refused() -> None:
    with pytest.raises(InfexError, match="a table of runs needs the columns key, environment"):
        by_run(pa.table({"t": [1], "regret": [2.0]}))


def test_a_folder_of_earlier_days_goes_on(tmp_path: Path) -> None:
    """With a row for each recorded round in the files of its chunks, and a table in several row groups."""
    given = sweep(policies=["LinUCB", players.middle])
    results = given.run(workers=1, out=tmp_path)
    (part,) = (tmp_path / "runs").glob("*.arrow")
    rows = by_round(by_run(pyarrow.feather.read_table(part)))
    for number, seed in enumerate(range(3)):
        old = rows.filter(pa.compute.equal(rows["seed"], seed))
        pyarrow.feather.write_feather(old, str(part.with_name(f"{number:032x}.arrow")))
    part.unlink()
    with Folder(tmp_path) as folder:
        assert folder.keys() == {task.key for task in given.tasks()}
    again = sweep(policies=["LinUCB", players.middle]).run(workers=1, out=tmp_path)
    assert again.about["earlier"] == 6
    assert again.table().arrow.equals(results.table().arrow)
    table = tmp_path / "results.parquet"
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(table), table, row_group_size=77)
    assert read(tmp_path).table().arrow.equals(results.table().arrow)
    assert columns(read(tmp_path)).equals(columns(results))


@pytest.mark.parametrize("seed", range(3))
def test_runs_stand_in_the_order_of_the_sweep_however_they_came(seed: int) -> None:
    given = sweep(policies=["LinUCB", "Greedy"], seeds=40, horizon=30)
    tasks = given.tasks()
    found = [play_chunk(chunk) for chunk in chunked(tasks, rounds=300)]
    curves = {each.key: each for some in found for each in some}
    rng = np.random.default_rng(seed)
    some = [tasks[place].key for place in rng.permutation(80)[: 20 * seed]]
    with Folder(None) as folder:
        for place in rng.permutation(len(found)):
            folder.append(found[place])
        table, few = folder.table([task.key for task in tasks]), folder.table([*some, "of another sweep"])
    assert few["key"].to_pylist() == some
    assert few["regret"].to_pylist() == [curves[key].regret.tolist() for key in some]
    assert table["key"].to_pylist() == [task.key for task in tasks]
    assert table["regret"].to_pylist() == [curves[task.key].regret.tolist() for task in tasks]
    results = Results(table)
    (cell,) = results.cells
    assert results.finals["regret"].to_pylist() == [curves[task.key].regret[-1] for task in tasks]
    for place, policy in enumerate(("LinUCB", "Greedy")):
        expected = np.array([curves[task.key].regret for task in tasks[40 * place : 40 * place + 40]])
        rounds, regret = results.curves(cell, policy)
        assert rounds.tolist() == curves[tasks[0].key].rounds.tolist()
        assert regret.tobytes() == expected.tobytes()
        share = [curves[task.key].facts["explored"] / 30 for task in tasks[40 * place : 40 * place + 40]]
        assert results.explored(cell, policy).tolist() == share


def test_what_is_kept_of_a_run_is_small(tmp_path: Path) -> None:
    """Two numbers for each recorded round, and some hundred bytes beside them."""
    given = sweep(environments=["gaussian(dim=2, arms=3)"], policies=["LinUCB"], horizon=5_000, seeds=50)
    found = [play_chunk(chunk) for chunk in chunked(given.tasks())]
    points = found[0][0].rounds.size
    assert points > 60
    with Folder(None) as folder:
        for some in found:
            folder.append(some)
        table = folder.table([task.key for task in given.tasks()])
    assert table.num_rows == 50
    assert table.nbytes <= 50 * (16 * points + 400)
    results = given.run(workers=1, out=tmp_path)
    assert results.finals.num_rows == 50
    held = sum(each.nbytes for each in vars(results).values() if isinstance(each, pa.Table))
    assert held <= 50 * (16 * points + 2_000)


def test_the_policies_of_a_sweep_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []

    def watched(policy: object) -> str:
        named.append(stream_name(policy))
        return named[-1]

    monkeypatch.setattr("infex.lab.specs.stream_name", watched)
    tasks = sweep(policies=[LinUCB(), Infex(LinTS(), every(5))], seeds=20).tasks()
    assert len({task.key for task in tasks}) == 40
    assert len(named) == 2
