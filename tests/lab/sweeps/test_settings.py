"""Settings are data: lists, names, own things with settings in text, columns, runs found by any of them."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import infex
from infex import Choice, Infex, LinTS, LinUCB, every
from infex.errors import InfexError, InvalidSetting
from infex.lab import Results, Sweep, paper, play
from infex.lab.environments import LinearInstance, gaussian, late, lower_bound, steps
from infex.lab.expressions import canonical
from infex.lab.reports.series import styles
from infex.lab.sweep import read_sweep
from infex.models import Discounted
from tests.lab.sweeps import players
from tests.lab.sweeps.test_sweep import HERE

ONE: dict[str, Any] = {"environments": ["gaussian(dim=2, arms=4)"], "horizon": 60, "seeds": 2}


def labels(*policies: Any, **more: Any) -> list[str]:
    return [player.label for player in Sweep(**ONE | {"policies": list(policies)} | more).players]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("LinUCB(scale=[0.1, 0.2, 0.5])", ["LinUCB(scale=0.1)", "LinUCB(scale=0.2)", "LinUCB(scale=0.5)"]),
        (
            "Infex(LinUCB(scale=[0.1, 1]), every([5, 20]))",
            [
                "Infex(LinUCB(scale=0.1), every(5))",
                "Infex(LinUCB(scale=0.1), every(20))",
                "Infex(LinUCB, every(5))",
                "Infex(LinUCB, every(20))",
            ],
        ),
        ("Infex([LinUCB, Greedy], every(5))", ["Infex(LinUCB, every(5))", "Infex(Greedy, every(5))"]),
        ("Infex(Greedy, every(5), data=[own, shared])",
         ["Infex(Greedy, every(5), data=own)", "Infex(Greedy, every(5))"]),
        ("Infex(LinUCB, every([5, 7]) | listed([1, 2]))",
         ["Infex(LinUCB, every(5) | listed([1, 2]))", "Infex(LinUCB, every(7) | listed([1, 2]))"]),
        (f"{HERE}:Level(arm=[1, 2])", [f"{HERE}:Level(arm=1)", f"{HERE}:Level(arm=2)"]),
        (f"Infex( {HERE}:Level(size = 2.0),{HERE}:Doubling( c=[2,3] ) )",
         [f"Infex({HERE}:Level(size=2), {HERE}:Doubling(c={c}))" for c in (2, 3)]),
        (f"Infex(LinUCB, guarded({HERE}:Every, 5.0))", None),
        ("LinUCB(delta=[0.1, None])", ["LinUCB(delta=0.1)", "LinUCB"]),
    ],
)  # fmt: skip
def test_a_list_stands_for_its_values(text: str, found: list[str] | None) -> None:
    if found is None:
        with pytest.raises(InfexError, match="cannot load"):
            labels(text)
        return
    assert labels(text) == found


def test_what_text_makes_is_what_python_makes() -> None:
    made = Sweep(**ONE | {"policies": [f"Infex({HERE}:Level(arm=3, size=2), {HERE}:Doubling(c=2))"]}).players
    assert made[0].policy == Infex(players.Level(3, 2), players.Doubling(2))
    assert (made[0].base, made[0].schedule) == (f"{HERE}:Level(arm=3, size=2)", f"{HERE}:Doubling(c=2)")
    assert Sweep(**ONE | {"policies": [f"{HERE}:Level"]}).players[0].policy == players.Level()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"policies": ["LinUCB(scale=[])"]},
            r"an empty list in .*; say one value or more - at `policies\[0\]`",
        ),
        (
            {"policies": [f"{HERE}:Level(arms=1)"]},
            "players:Level' cannot be made with arms=1: .*unexpected keyword",
        ),
        ({"policies": [f"{HERE}:middle(a=1)"]}, "players:middle' takes no settings"),
        ({"policies": [f"LinUCB(scale=({HERE}:middle, 1))"]}, "an object of yours stands where none can"),
        ({"policies": ["Infex(reference_3_.x, every(3))"]}, "an object of yours is written with a colon"),
        ({"policies": ["3"]}, r"'3' names no policy - at `policies\[0\]`"),
        (
            {"schedules": [f"{HERE}:Doubling + every(3)"], "bases": ["LinUCB"]},
            r"cannot read '.*players:Doubling \+ every\(3\)'",
        ),
        ({"policies": {"": "LinUCB"}}, "the keys of policies must be names, got ''"),
        ({"policies": {"mine": "LinUBC"}}, r"unknown name 'LinUBC' .* - at `policies\['mine'\]`"),
        (
            {"schedules": [f"{HERE}:middle"], "bases": ["LinUCB"]},
            "a schedule must be an object with a method explores",
        ),
        (
            {"estimator": "Discount(rate=0.9)"},
            r"unknown name 'Discount' .*an estimator is one of .*at `estimator\[0\]`",
        ),
        (
            {"environments": [f"{HERE}:gapped(gapp=0.2)"]},
            r"gapped has no setting 'gapp' \(did you mean gap\?\)",
        ),
        ({"environments": [f"{HERE}:square(gap=0.2)"]}, "takes no settings: it is an instance"),
        ({"environments": ["lower_bound(which=1)"]}, r"lower_bound needs gap, as in lower_bound\(gap=0.1\)"),
        ({"environments": [{"kind": "gauss"}]}, "must be one of changing, .*, object; got 'gauss'"),
        ({"environments": [{"kind": "object"}]}, "the key `object` is missing"),
        ({"horizon": []}, "an empty list of horizon"),
        ({"horizon": [10, 10.0]}, "10 stands 2 times among the values of horizon"),
        ({"horizon": 10.5}, "horizon must be a whole number, got 10.5"),
        ({"penalty": [1.0, 0.0]}, "penalty must be above 0, got 0.0"),
        ({"delta": [0.1, 2]}, "delta must be at most 1, got 2"),
        ({"environments": [lambda n=1: players.small(n)]}, "which parameter of .* is the seed"),
    ],
)
def test_bad_settings_are_refused_before_anything_runs(given: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        Sweep(**ONE | {"policies": ["Greedy"]} | given).problems[0].make(0)


def test_a_dict_gives_names() -> None:
    given = Sweep(
        environments={"hard": lower_bound(0.1), "easy": "gaussian(dim=[2, 3], arms=5)"},
        policies={"ours": Infex(LinUCB(), every(5)), "narrow": "Infex(LinUCB(scale=[0.1, 0.2]), every([5]))"},
        bases={"base": players.Level(1)},
        schedules={"doubling": players.Doubling(2)},
        estimator={"short": Discounted(rate=0.5), "plain": None},
        horizon=20,
        seeds=1,
    )
    assert [problem.label for problem in given.problems] == ["hard", "easy(dim=2)", "easy(dim=3)"]
    assert [player.label for player in given.players][::2] == [
        f"{name} [estimator=short]"
        for name in (
            "ours",
            "narrow(scale=0.1, every(5))",
            "narrow(scale=0.2, every(5))",
            "Infex(base, doubling)",
        )
    ]
    results = given.run(workers=1)
    facts = results.finals.to_pylist()
    assert {row["schedule"] for row in facts if row["policy"].startswith("Infex(base")} == {"doubling"}
    assert {row["base"] for row in facts if row["policy"].startswith("Infex(base")} == {
        f"base [estimator={name}]" for name in ("short", "plain")
    }
    with pytest.raises(
        InvalidSetting, match=r"'ours' names several policies here:\n  ours \[estimator=short\]"
    ):
        results.regret(results.cells[0], "ours")


def test_a_problem_by_text_is_that_of_its_function() -> None:
    texts = [
        "lower_bound(gap=[0.1, 0.2])",
        f"{HERE}:gapped(gap=[0.3, 0.4], dim=3)",
        f"{HERE}:constant(gap=0.5)",
        {"kind": "object", "object": f"{HERE}:gapped", "gap": [0.2, 0.6], "label": "mine"},
        {"kind": "lower_bound", "gap": 0.3, "which": [1, 2]},
    ]
    problems = Sweep(**ONE | {"environments": texts, "policies": ["Greedy"]}).problems
    assert [problem.label for problem in problems] == [
        "lower_bound(gap=0.1)",
        "lower_bound(gap=0.2)",
        f"{HERE}:gapped(gap=0.3, dim=3)",
        f"{HERE}:gapped(gap=0.4, dim=3)",
        f"{HERE}:constant(gap=0.5)",
        "mine(gap=0.2)",
        "mine(gap=0.6)",
        "lower_bound(gap=0.3, which=1)",
        "lower_bound(gap=0.3)",
    ]
    slow: list[LinearInstance] = [lower_bound(0.1), lower_bound(0.2)]
    slow += [players.gapped(1, gap, 3) for gap in (0.3, 0.4)] + [players.constant(0.5)]
    slow += [players.gapped(1, gap) for gap in (0.2, 0.6)] + [lower_bound(0.3, 1), lower_bound(0.3)]
    assert [problem.make(1).key for problem in problems] == [instance.key for instance in slow]


def test_every_setting_of_a_sweep_is_played_as_it_says() -> None:
    """Each run of a grid against one call of `play` with the settings that its row names."""
    results = Sweep(
        environments=["gaussian(dim=[2, 3], arms=5)", "lower_bound(gap=0.3)"],
        policies=["LinTS(scale=[0.2, 1])", "Greedy", players.Optimist()],
        bases=["LinUCB"],
        schedules=["every([3, 7])"],
        data=["shared", "own"],
        horizon=[40, 90.0],
        penalty=[0.5, 2.0],
        delta=[0.2, "1/T"],
        estimator=[None, f"{HERE}:forgetting(rate=0.8)"],
        seeds=2,
    ).run(workers=1)
    rows = results.finals.to_pylist()
    assert len(rows) == 3 * 2 * 2 * 2 * 2 * (2 * 2 + 1 + 2 + 2 * 2 * 2)
    assert len({(row["policy"], row["environment"], row["horizon"], row["seed"]) for row in rows}) == len(
        rows
    )
    for row in rows[:: 37 if len(rows) > 500 else 1]:
        where = (
            lower_bound(0.3)
            if row["environment_kind"] == "lower_bound"
            else gaussian(row["dim"], 5, row["seed"])
        )
        fits = None if row["estimator"] == "Ridge" else Discounted(rate=row["estimator_rate"])
        run = play(where, own(row), row["horizon"], row["seed"], penalty=row["penalty"], estimator=fits)
        assert run.regret == row["regret"], row


def own(row: dict[str, Any]) -> Any:
    """The policy that a row of the table names, made by hand."""
    if row["kind"] == "LinTS":
        return LinTS(scale=row["scale"], delta=row["delta"])
    if row["kind"] == "Optimist":
        return players.Optimist(row["delta"])
    if row["kind"] == "Infex":
        return Infex(LinUCB(delta=row["delta"]), every(row["period"]), data=row["data"])
    return infex.Greedy()


def test_a_delta_that_is_said_is_the_delta_that_is_played() -> None:
    """P2, P3 and P6 of the researcher's report."""
    schedule = players.Doubling(3)
    given = [
        LinUCB(delta=0.01),
        LinUCB(delta=0.0005),
        LinUCB(),
        Infex(LinUCB(delta=0.01), schedule),
        players.Optimist(),
    ]
    found = Sweep(environments=["gaussian(dim=5, arms=20)"], policies=given, horizon=2000, seeds=[0])
    results = found.run(workers=1)
    assert results.policies == [
        "LinUCB(delta=0.01)",
        "LinUCB(delta=0.0005)",
        "LinUCB",
        "Infex(LinUCB(delta=0.01), Doubling(c=3))",
        "Optimist",
    ]
    assert results.finals["delta"].to_pylist() == [0.01, 0.0005, 0.0005, 0.01, 0.0005]
    instance = gaussian(5, 20, 0)
    slow = [LinUCB(delta=d) for d in (0.01, 0.0005, 0.0005)] + [Infex(LinUCB(delta=0.01), schedule)]
    runs = [play(instance, policy, 2000).regret for policy in slow]
    assert results.finals["regret"].to_pylist() == [*runs, runs[1]]
    assert labels("LinUCB", "Greedy", delta=0.3) == ["LinUCB(delta=0.3)", "Greedy"]
    assert labels("LinUCB", delta=[0.3, "1/T"]) == ["LinUCB(delta=0.3)", "LinUCB [delta=1/T]"]
    assert labels("LinUCB(delta=0.01)", delta=[0.3, 0.4]) == ["LinUCB(delta=0.01)"]


def test_a_name_that_was_given_finds_its_runs() -> None:
    given = [
        "Infex(LinUCB, every(1))",
        "Infex(LinUCB,every(20))",
        f"{HERE}:Level( arm = 1)",
        Infex(players.Level(2), players.Doubling(2)),
    ]
    results = Sweep(**ONE | {"policies": given}).run(workers=1)
    (cell,) = results.cells
    for text in ("Infex(LinUCB, every(1))", "Infex(LinUCB,always())", "Infex(LinUCB(scale=1.0), every(m=1))"):
        assert results.known(text) == "Infex(LinUCB, always())"
    assert results.known("Infex( LinUCB, every( 20 ) )") == "Infex(LinUCB, every(20))"
    named = f"Infex(schedule={HERE}:Doubling(c=2), ties=lowest, base={HERE}:Level)"
    assert canonical(named) == f"Infex({HERE}:Level, {HERE}:Doubling(c=2))"
    assert results.known(f"{HERE}:Level(arm=1)") == results.known(given[2]) == f"{HERE}:Level(arm=1)"
    for policy in (given[3], Infex(LinUCB(), every(20)), Infex(LinUCB(delta=1 / 60), every(20))):
        assert results.regret(cell, policy).size == 2
    assert results.compare(given[0], given[1]).keys() == {cell}
    with pytest.raises(InvalidSetting, match=r"no runs of 'Infex\(LinUCB\(delta=0.5\), every\(20\)\)'"):
        results.regret(cell, Infex(LinUCB(delta=0.5), every(20)))
    with pytest.raises(InvalidSetting, match="no runs of 'LinUCB'; there are"):
        results.regret(cell, "LinUCB")


def test_a_delta_that_was_said_is_not_found_under_the_name_that_says_none() -> None:
    results = Sweep(**ONE | {"policies": ["LinUCB(delta=0.5)"]}).run(workers=1)
    assert not results.has(results.cells[0], "LinUCB")
    named = Sweep(**ONE | {"policies": {"ours": LinUCB(), "other": LinUCB(delta=0.5)}}).run(workers=1)
    assert [named.known(text) for text in ("LinUCB", "LinUCB(delta=0.5)")] == ["ours", "other"]


def test_regret_against_a_setting_is_that_of_the_table(tmp_path: Path) -> None:
    results = Sweep(
        environments=["gaussian(dim=2, arms=[4, 6])"],
        bases=["LinUCB(scale=[0.1, 0.4])"],
        schedules=["every([2, 5])"],
        horizon=50,
        seeds=3,
    ).run(workers=1, out=tmp_path)
    rows = results.finals.to_pylist()
    found = results.against("period", arms=4)
    assert [line.name for line in found.lines] == [
        "Infex(LinUCB(scale=0.1), every(m))",
        "Infex(LinUCB(scale=0.4), every(m))",
    ]
    for line, scale in zip(found.lines, (0.1, 0.4), strict=True):
        assert line.values == [2, 5]
        for value, regret in zip(line.values, line.spreads, strict=True):
            own = [r["regret"] for r in rows if (r["scale"], r["period"], r["arms"]) == (scale, value, 4)]
            assert (regret.runs, regret.mean) == (3, pytest.approx(np.mean(own)))
    wide = results.against("arms", period=2, scale=[0.1])
    assert [(line.name, line.values) for line in wide.lines] == [
        ("Infex(LinUCB(scale=0.1), every(2))", [4, 6])
    ]
    assert found.table().column_names[:3] == ["line", "period", "runs"]
    assert len(results.against("policy").lines) == 2
    axes = results.plot(against="period").axes[0]
    assert axes.get_xlabel() == "period"
    assert len(results.against("schedule").lines) == 4
    for name, message in (("perod", "did you mean period"), ("regret", "no setting is called 'regret'")):
        with pytest.raises(InvalidSetting, match=message):
            results.against(name)
    with pytest.raises(InvalidSetting, match="no run has arms = 5; there are 4, 6"):
        results.against("period", arms=5)
    kept = pyarrow.parquet.read_table(tmp_path / "results.parquet")
    assert kept.equals(results.table().arrow)
    assert Results.load(tmp_path).table().arrow.equals(kept)


def test_every_table_has_the_columns_of_settings() -> None:
    names = Sweep(**ONE | {"policies": ["Greedy"]}).run(workers=1).table().column_names
    for name in ("kind", "base", "schedule", "period", "data", "delta", "scale", "penalty", "estimator"):
        assert name in names
    clash = Sweep(**ONE | {"policies": [Clashing()]}).run(workers=1).finals.to_pylist()[0]
    assert (clash["policy_seed"], clash["policy_regret"], clash["seed"]) == (7, "none", 0)


class Clashing:
    """Settings that are called as columns are."""

    def __init__(self, seed: int = 7, regret: str = "none") -> None:
        self.seed, self.regret = seed, regret

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(0)


def test_claims_are_judged_by_settings_and_not_by_names() -> None:
    texts = dict(enumerate(["LinUCB", "Infex(LinUCB, every(5))", "Greedy", "EpsilonGreedy", "LinTS"]))
    plain = Sweep(**ONE | {"policies": list(texts.values())}).run(workers=1)
    named = Sweep(
        environments={"the paper's": "gaussian(dim=2, arms=4)"},
        policies={f"p{place}": text for place, text in texts.items()},
        horizon=60,
        seeds=2,
    ).run(workers=1)
    assert [v[:3] for v in paper.verdicts(named)] == [v[:3] for v in paper.verdicts(plain)] != []
    assert len({look.dash for look in _looks(named)}) == len({look.dash for look in _looks(plain)})
    other = Sweep(
        **ONE
        | {"environments": ["gaussian(dim=2, arms=4, rewards=gaussian)"], "policies": list(texts.values())}
    )
    assert paper.verdicts(other.run(workers=1)) == []


def _looks(results: Any) -> Any:
    return styles(results.policies, results.bases, results.rules).values()


def test_lists_of_a_file_are_those_of_python(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        f"""
horizon = [30, 1e2]
penalty = [0.5, 1]
delta = [0.1, "1/T"]
estimator = ["Ridge", "{HERE}:forgetting(rate=0.7)"]
seeds = 1
environments = [{{kind = "lower_bound", gap = [0.1, 0.2]}}, "{HERE}:gapped(gap=[0.3, 0.4])"]
[policies]
ours = "Infex({HERE}:Level(arm=1), {HERE}:Doubling(c=2))"
grid = "LinUCB(scale=[0.1, 0.2])"
"""
    )
    file = read_sweep(path)
    own = Sweep(
        environments=["lower_bound(gap=[0.1, 0.2])", f"{HERE}:gapped(gap=[0.3, 0.4])"],
        policies={
            "ours": f"Infex({HERE}:Level(arm=1), {HERE}:Doubling(c=2))",
            "grid": "LinUCB(scale=[0.1, 0.2])",
        },
        horizon=[30, 100],
        penalty=[0.5, 1],
        delta=[0.1, "1/T"],
        estimator=["Ridge", f"{HERE}:forgetting(rate=0.7)"],
        seeds=1,
    )
    assert [task.key for task in file.tasks()] == [task.key for task in own.tasks()]
    assert len(file.tasks()) == 4 * (1 + 2 * 2) * 2 * 2 * 2


def test_no_repr_of_a_strangers_object_is_called() -> None:
    silent = players.Silent(1)
    found = Sweep(**ONE | {"policies": [silent, Infex(players.Silent(2), every(2)), "Greedy"]})
    assert [player.label for player in found.players][:2] == [
        "Silent(arm=1)",
        "Infex(Silent(arm=2), every(2))",
    ]
    results = found.run(workers=1)
    assert not results.failures
    repr(infex.lab.play(players.square, Infex(silent, every(2)), 10))
    repr(infex.Bandit(np.eye(3), Infex(infex.Softened(silent), infex.guarded(every(2), 1.0))))
    with pytest.raises(InvalidSetting, match="got Silent"):
        infex.lab.play(silent, infex.Greedy(), 10)
    with pytest.raises(InvalidSetting, match=r"policy must be a policy, .* got a Broken"):
        Sweep(**ONE | {"policies": [players.Broken()]})
    with pytest.raises(
        InvalidSetting, match=r"Silent\(arm=1\) stands 2 times among the policies; a dict gives"
    ):
        Sweep(**ONE | {"policies": [silent, players.Silent(1)]})
    with pytest.raises(InvalidSetting, match="policies must be a list, got a Silent"):
        Sweep(**ONE | {"policies": silent})


def test_a_warning_of_sparse_exploration_points_at_the_users_line() -> None:
    for make in (
        lambda: Infex(LinUCB(), infex.never()),
        lambda: Sweep(**ONE | {"policies": ["Infex(LinUCB, never())"]}),
        lambda: Sweep(**ONE | {"bases": ["LinUCB"], "schedules": ["budget(every(2), 3)"]}),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make()
        assert [Path(each.filename).name for each in caught] == ["test_settings.py"]


def test_names_of_a_file_are_keys_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        "seeds = 1\nhorizon = 20\npolicies = ['Greedy']\nestimator = {short = 'Windowed(size=5)'}\n"
        "[environments]\nhard = 'lower_bound(gap=0.1)'\n"
        "[environments.wide]\nkind = 'gaussian'\ndim = 2\narms = [5, 6]\n"
    )
    sweep = read_sweep(path)
    assert [problem.label for problem in sweep.problems] == ["hard", "wide(arms=5)", "wide(arms=6)"]
    assert {row["estimator"] for row in sweep.run(workers=1).finals.to_pylist()} == {"short"}
    path.write_text("seeds = 1\npolicies = ['Greedy']\n[environments.wide]\nkind = 'gaussian'\ndim = 2\n")
    with pytest.raises(InfexError, match=r"gaussian needs arms, .* - at `environments\['wide'\]`"):
        read_sweep(path)


def test_parts_of_problems_have_settings_in_text() -> None:
    text = "sphere(dim=3, arms=5, gap=[0.2, 0.3], rewards=student, moves=steps(every=10), late=late(mean=2))"
    sweep = Sweep(**ONE | {"environments": [text], "policies": ["Greedy"]})
    rest = "rewards=student, moves=steps(every=10), late=late(mean=2))"
    assert [each.label for each in sweep.problems] == [
        f"sphere(dim=3, arms=5, gap={gap}, {rest}" for gap in ("0.2", "0.3")
    ]
    made: Any = sweep.problems[0].make(0)
    assert (made.rewards, made.moves, made.late) == ("student", steps(every=10), late(mean=2))
    row = sweep.run(workers=1).finals.to_pylist()[0]
    assert (row["environment_gap"], row["environment_rewards"], row["environment_noise"]) == (
        0.2,
        "student",
        1.0,
    )


def test_what_is_no_policy_is_not_looked_for() -> None:
    results = Sweep(**ONE | {"policies": ["Greedy"]}).run(workers=1)
    with pytest.raises(InvalidSetting, match=r"policy must be a policy, .* got 3"):
        results.regret(results.cells[0], 3)
