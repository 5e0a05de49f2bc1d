"""A problem, bases and schedules of one's own in a plan, and what is said of those that do not fit."""

import json
import math
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex import registry
from infex.cli.main import main
from infex.errors import InfexError
from infex.lab import environments, plan, play, play_many
from infex.lab.planner import race
from infex.lab.planner.beliefs import given_problem
from infex.lab.planner.report import plan_page, rounds_of
from infex.policies import FixedBonusUCB
from tests.lab.planner.pace import Pace

QUICK: dict[str, Any] = {"horizon": 300, "seconds": 0.3, "workers": 1}
BRIEF = QUICK | {"seconds": 0.05}  # by a clock of rounds, of which some are played in Python here


class Peak:
    """Arms on a line, with the best one inside."""

    arms = np.linspace(0.1, 1.0, 6)[:, None]

    def __init__(self, top: float = 0.6) -> None:
        self.top = top

    def means(self, t: int, arms: Any) -> Any:
        return 1.0 - np.abs(arms[:, 0] - self.top)


class Curious:
    """Plays the arm that is known least."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        return infex.Choice(infex.best(posterior.widths))


class Bold(Curious):
    """Another one of the same kind."""

    def __init__(self, bonus: float) -> None:
        self.bonus = bonus

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        return infex.Choice(infex.best(posterior.upper(self.bonus)))


class Squares:
    """Explores in rounds 1, 4, 9, ...: it has `explores` alone."""

    def explores(self, t: int) -> bool:
        return math.isqrt(t) ** 2 == t


def drawn(seed: int) -> environments.LinearInstance:
    return environments.sphere(dim=3, arms=6, gap=0.2, seed=seed)


def pool_seeds(pool: race.Pool, count: int) -> range:
    return range(pool.first, pool.first + count)


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ("sphere(dim=3, arms=6, gap=0.2)", "sphere(dim=3, arms=6, gap=0.2)"),
        ("tests.lab.planner.test_own:drawn", "tests.lab.planner.test_own:drawn"),
        (drawn, "drawn"),
        (environments.gaussian(dim=3, arms=6, seed=1), "LinearInstance("),
        (environments.changing(dim=2, arms=3, seed=0), "ChangingInstance("),
        ("contextual(context_dim=2, arms=3)", "contextual(context_dim=2, arms=3)"),
    ],
    ids=["expression", "reference", "function", "instance", "changing", "contexts"],
)
def test_a_plan_simulates_the_problem_that_is_given(problem: Any, name: str) -> None:
    found = plan(problem=problem, **QUICK)
    assert found.assumed.startswith(f"simulated: {name}" if name != "drawn" else "simulated: ")
    assert name in found.assumed
    assert found.question.problem in found.assumed
    assert found.arms == ()
    assert "simulated: " in str(found)
    assert found.regret["recommended"].problems > 0


def test_every_figure_of_an_own_problem_is_of_fresh_ones(monkeypatch: pytest.MonkeyPatch, pace: Pace) -> None:
    """Each is found again by playing the last fresh problems, which the race has not met."""
    met: dict[int, set[int]] = {}

    def remembered(problems: Any, policy: Any, rounds: int, seeds: Any, **more: Any) -> Any:
        for problem, seed in zip(problems, seeds, strict=True):
            met.setdefault(seed // race.NUMBERS_OF_A_POOL, set()).add(problem.key)
        return pace.play_many(problems, policy, rounds, seeds, **more)

    monkeypatch.setattr(race, "play_many", remembered)
    found = plan(problem=drawn, seed=7, **QUICK | {"seconds": 0.5})
    assert min(len(keys) for keys in met.values()) > 1, "another problem for every seed"
    assert not met[0] & met[max(met)]
    source = race.Pool(_source(drawn), 7, max(met))
    for entry in {each.figures.expression: each.figures for each in found.menu}.values():
        runs = play_many(
            source.upto(entry.problems),
            infex.registry.parse(entry.expression),
            300,
            pool_seeds(source, entry.problems),
            paired=True,
        )
        assert np.mean([run.regret for run in runs]) == pytest.approx(entry.regret.value)


def _source(problem: Any) -> Any:
    from infex.lab.planner.beliefs import given_problem

    return given_problem(problem, None, 1.0, 7)


def test_an_environment_of_ones_own_is_called_by_one_thread_at_once_and_left_as_it_was() -> None:
    inside, overlaps = threading.Lock(), []

    class Watched(Peak):
        def means(self, t: int, arms: Any) -> Any:
            if not inside.acquire(blocking=False):
                overlaps.append(t)
                return super().means(t, arms)
            self.top = min(self.top, 0.6)
            os.sched_yield()  # another thread may go on here
            inside.release()
            return super().means(t, arms)

        def __deepcopy__(self, memo: Any) -> Any:
            return type(self)(self.top)

    mine = Watched(top=0.9)
    found = plan(problem=mine, horizon=30, seconds=0.02, workers=4, bases=["LinUCB"])
    assert mine.top == 0.9
    assert "Watched" in found.question.problem
    assert not overlaps


def test_the_same_object_is_played_with_other_noise() -> None:
    found = plan(problem=environments.gaussian(dim=2, arms=4, seed=3), **QUICK)
    assert found.regret["recommended"].mean.low < found.regret["recommended"].mean.high


def test_bases_of_ones_own_take_the_place_of_the_default_ones() -> None:
    found = plan(
        dim=2, arms_count=5, bases=[FixedBonusUCB(bonus=0.5), "LinUCB(scale=[0.1, 0.3])", Curious()], **BRIEF
    )
    names = {each.expression for each in found.candidates}
    assert {name.split("(")[1].split(",")[0] for name in names if name.startswith("Infex")} <= {
        "FixedBonusUCB",
        "LinUCB",
        "Curious",
    }
    assert any("Curious" in name for name in names)
    assert any("scale=0.3" in name for name in names)
    assert not any("LinTS" in name for name in names)


def test_default_stands_for_infexs_own() -> None:
    with_mine = race.candidates(300, 1.0, 1.0, 300, bases=["default", Curious()], schedules=["default"])
    own = race.candidates(300, 1.0, 1.0, 300)
    names = [each.label for each in with_mine]
    assert {each.label for each in own} < set(names)
    assert any(name.startswith("Infex(Curious") for name in names)
    beside = race.candidates(300, 1.0, 1.0, 300, schedules=["default", "every(7)"])
    assert {each.label for each in beside} - {each.label for each in own} == {
        name for name in (each.label for each in beside) if "every(7)" in name
    }


def test_schedules_of_ones_own_are_tried_and_nothing_else() -> None:
    found = plan(
        dim=2,
        arms_count=5,
        schedules={"squares": Squares(), "often": infex.every(4)},
        bases=["LinUCB"],
        **BRIEF,
    )
    assert {each.expression for each in found.candidates} <= {
        f"Infex(LinUCB, {name}{data})" for name in ("squares", "often") for data in ("", ", data=own")
    }
    assert {each.explorations for each in found.candidates} <= {17, 75}
    assert found.recommended in str(found)
    assert found.when.startswith("in rounds ") == ("often" in found.recommended)


def test_schedules_that_look_at_the_data_are_counted_by_their_runs() -> None:
    """The mean over problems, against single runs of the same ones, to the end and over a part."""
    source = given_problem(drawn, 1.0, 1.0, 3)
    given = ["ledger(0.5)", "doubtful(every(5), scale=0.2)", infex.guarded(infex.every(5), cost_limit=1.0)]
    grid = race.candidates(300, 1.0, 1.0, 300, bases=["LinUCB"], schedules=given)
    assert [each.planned for each in grid] == [None, None, None]
    pool = race.Pool(source, seed=3)
    for candidate in grid:
        assert candidate.explorations == math.inf, "nothing is known before it has played"
        for rounds, problems in ((100, 2), (300, 4), (300, 7)):
            pool.run(candidate, problems, rounds)
            runs = [
                play(instance, candidate.policy, rounds, seed)
                for seed, instance in enumerate(pool.upto(problems))
            ]
            assert candidate.explorations == pytest.approx(np.mean([run.explored for run in runs]))
    assert len({candidate.explorations for candidate in grid}) == 3


@pytest.mark.parametrize("schedule", ["ledger(0.01)", "doubtful(every(2), scale=9)"])
def test_a_limit_holds_for_schedules_that_look_at_the_data_whatever_the_data_are(schedule: str) -> None:
    found = plan(problem=drawn, bases=["LinUCB"], schedules=[schedule], max_count=7, **BRIEF)
    assert found.chosen().most <= 7
    assert "budget(" in found.recommended
    assert eval(found.code, {"infex": infex}) == found.policy
    free = infex.Infex(infex.LinUCB(), registry.parse(schedule))
    for seed in range(5):
        assert play(drawn(seed), free, 300, seed).explored > 7
        assert play(drawn(seed), found.policy, 300, seed).explored <= 7


def test_the_answer_tells_the_mean_and_the_most_of_a_schedule_that_looks_at_the_data() -> None:
    found = plan(problem=drawn, bases=["LinUCB"], schedules=["ledger(0.5)"], **BRIEF)
    figures = found.chosen()
    assert 0 < found.explorations == figures.explorations < figures.most <= 150, "never twice in a row"
    words = (
        f"in the mean, and {figures.most} on the problem with most), where the data leave doubt, by ledger"
    )
    assert words in " ".join(str(found).split())
    assert f"{figures.explorations} (to {figures.most})" in str(found)
    assert f"{figures.explorations} (to {figures.most})" in plan_page(found)


def test_infexs_own_candidates_look_at_the_data_in_units_of_the_noise() -> None:
    grid = race.candidates(2000, 0.25, 1.0, 2000)
    labels = {registry.label_of(each.policy.schedule) for each in grid if each.planned is None}  # type: ignore[attr-defined]
    assert labels == {"ledger(0.25, noise=0.25)", "ledger(0.075, noise=0.25)"}


def test_what_the_data_do_not_decide_is_called_by_its_rounds() -> None:
    pauses = "paused(every(5), every(10))"
    found = plan(problem=drawn, bases=["LinUCB"], schedules=[pauses], max_count=70, **BRIEF)
    assert (found.explorations, found.chosen().most) == (30, 30)
    assert found.when == f"in the rounds of {pauses}"
    assert "no regret bound" not in str(found)


@pytest.mark.parametrize(
    ("schedule", "by_data"),
    [
        (infex.policies.doubtful(infex.every(5)), True),
        (infex.policies.until_certain(infex.every(5)), True),
        (infex.policies.conservative(infex.every(5), baseline=0.5), True),
        (infex.paused(infex.guarded(infex.every(5), 1.0), infex.every(10)), True),
        (infex.budget(infex.every(5), 3, window=100), False),
        (infex.policies.catching_up(infex.every(5)), False),
        (infex.paused(infex.every(5), lambda t: t > 100), False),
    ],
)
def test_rounds_are_those_of_the_data_where_a_control_reads_them(schedule: Any, by_data: bool) -> None:
    words = rounds_of(infex.Infex(infex.LinUCB(), schedule), 300)
    assert words.startswith("where the data leave doubt, by ") == by_data
    assert ("no regret bound" in words) == by_data
    assert words.startswith("in the rounds of ") != by_data


def test_infexs_own_candidates_can_explore() -> None:
    grid = race.candidates(10, 1.0, 1.0, 1)
    labels = {registry.label_of(each.policy.schedule) for each in grid if each.planned is None}  # type: ignore[attr-defined]
    assert any("ledger" in label for label in labels)
    assert not any("every(20)" in label for label in labels), "its first round is the 20th"


def test_a_schedule_of_the_data_that_never_explored_says_so() -> None:
    found = plan(problem=drawn, bases=["LinUCB"], schedules=["ledger(1e6)"], **BRIEF)
    assert found.explored.startswith(
        "0 of 300 rounds explore (0.00%; it never explored on these problems), where the data leave doubt"
    )
    often = plan(problem=drawn, bases=["LinUCB"], schedules=["ledger(0.5)"], **BRIEF)
    assert "never explored" not in str(often)


@pytest.mark.parametrize(
    ("base", "schedules"),
    [
        ("PhasedElimination", ["every(50)", "ledger(1)"]),
        ("SupLinUCB(delta=0.01, horizon=300)", ["every(50)"]),
        ("EXP2(rate=0.05)", ["every(50)"]),
    ],
)
def test_bases_that_need_data_of_their_own_are_tried_with_these_alone(
    base: str, schedules: list[str]
) -> None:
    found = plan(np.eye(3), bases=[base], schedules=schedules, **BRIEF | {"horizon": 100})
    assert {each.expression for each in found.candidates} == {
        f"Infex({base}, {schedule}, data=own)" for schedule in schedules
    }
    assert isinstance(found.policy, infex.Infex)
    assert found.policy.data == "own"


def test_a_base_without_a_delta_has_that_of_the_horizon_in_short_runs_too() -> None:
    (first, *_) = race.candidates(8000, 1.0, 1.0, 8000, bases=["LinUCB"], schedules=["every(20)"])
    assert isinstance(first.policy, infex.Infex)
    assert isinstance(first.policy.base, infex.LinUCB)
    assert first.policy.base.delta == 0.00013


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"problem": drawn, "dim": 3}, "leave out arms, labels, dim"),
        ({"problem": drawn, "logged": ([0], [1.0])}, "leave out arms, .*logged"),
        ({"problem": "gaussian(dim=[2, 3], arms=4)"}, "a plan is for one problem; .* stands for 2"),
        ({"problem": "gausian(dim=2, arms=4)"}, "an environment must be like"),
        ({"problem": 3}, "must be one of infex.lab.environments, got 3"),
        ({"problem": environments.LinearInstance([[1.0]], [0.5])}, "has one arm"),
        ({"bases": "LinUCB"}, "bases must be a list"),
        ({"bases": []}, "bases must name at least one policy"),
        ({"bases": ["LinUBC"]}, "unknown name 'LinUBC'"),
        ({"bases": [Curious]}, "got the class Curious"),
        ({"bases": ["Infex(LinUCB, every(5))"]}, "has one already; give its base in bases"),
        ({"bases": ["ExploreThenCommit"]}, "ExploreThenCommit sets itself by the horizon"),
        ({"bases": ["SupLinUCB"]}, "settings are fixed, the horizon among them"),
        ({"bases": ["OLSBandit(preset=paper)"]}, "sets itself by the horizon"),
        ({"bases": [Curious(), Curious()]}, "two candidates are called .*Curious.* under names"),
        ({"schedules": []}, "schedules must name at least one schedule"),
        ({"schedules": ["LinUCB"]}, "a schedule is one of"),
        ({"schedules": [infex.never()]}, "explores in 0 of 300 rounds"),
        ({"schedules": ["doubtful(every(400))"]}, r"can explore in 0 of 300 rounds, so it is not"),
        ({"schedules": ["ledger(1)"], "max_count": 0}, r"ledger\(1\) can explore .* max_count allows 0"),
        ({"schedules": ["every(2)"], "max_share": 0.1}, r"every\(2\) explores in 150 of 300 .* allows 30"),
        ({"schedules": [Curious()]}, "must be an object with a method explores"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given: Any, message: str) -> None:
    arms = {} if "problem" in given else {"dim": 2, "arms_count": 4}
    with pytest.raises(InfexError, match=message):
        plan(**QUICK | arms | given)


def test_a_better_reference_is_the_first_thing_said() -> None:
    """Random arms in every second round were called the least regret, while LinUCB and greedy lost less."""
    found = plan(
        dim=2, arms_count=5, bases=["Uniform"], schedules=["every(2)"], horizon=300, seconds=0.5, workers=1
    )
    first, second, third = found.why.split(". ")[0], *found.why.split(" in the mean. ")[1:]
    assert first.startswith("Plain LinUCB, which explores in every round, loses less than this on the same ")
    assert second.startswith("Greedy, which never explores, loses less than this on the same ")
    assert "the least of the schedules tried" in third
    assert found.against["LinUCB"].mean.low > 0


def test_code_of_a_plan_with_ones_own_schedule_is_a_comment_with_its_label() -> None:
    found = plan(dim=2, arms_count=4, bases=["LinUCB"], schedules=[Squares()], **BRIEF)
    assert found.code.startswith(f"# {found.recommended}: ")
    assert compile(found.code, "pasted", "exec")


@pytest.mark.parametrize(
    "policy",
    [
        infex.Greedy(),
        infex.Infex(FixedBonusUCB(bonus=0.5), infex.always()),
        infex.Infex(infex.LinUCB(delta=1e-7, scale=0.123456789), infex.every(20, offset=3), data="own"),
        infex.Infex(infex.LinTS(noise=2.0), infex.every(5) | infex.power(0.5)),
        infex.Infex(infex.policies.UCB1(), infex.jittered(7, seed=3)),
        infex.Infex(infex.policies.RarelySwitchingUCB(), infex.stretched(2)),
        infex.Infex(infex.LinUCB(), infex.policies.doubtful(infex.logarithmic(2), noise=0.5)),
        infex.Infex(infex.LinUCB(), infex.budget(infex.policies.ledger(3.0, noise=0.5), 40)),
        infex.Softened(infex.LinUCB(), 0.1),
        *(kind() for kind in (infex.EpsilonGreedy, infex.policies.GaussianTS, infex.policies.Uniform)),
    ],
)
def test_code_of_built_in_policies_is_python_that_makes_them(policy: Any) -> None:
    from infex.lab.planner.report import code_of

    assert eval(code_of(policy, "label"), {"infex": infex}) == policy


@pytest.mark.parametrize(
    ("control", "code"),
    [
        (infex.guarded(infex.every(5), 3.0), "infex.guarded(infex.every(5), 3)"),
        (infex.policies.ledger(2.0), "infex.policies.ledger(2)"),
    ],
)
def test_code_names_what_infex_has_without_a_package(control: Any, code: str) -> None:
    from infex.lab.planner.report import code_of

    policy = infex.Infex(infex.LinUCB(), control)
    assert code_of(policy, "label") == f"infex.Infex(infex.LinUCB(), {code})"
    assert eval(code_of(policy, "label"), {"infex": infex}) == policy


def test_bases_that_look_alike_go_by_names() -> None:
    bases = {"mild": Bold(0.1), "bold": Bold(2.0)}
    found = plan(dim=2, arms_count=4, bases=bases, schedules=[infex.every(10)], **BRIEF)
    assert {each.expression.split("(")[1].split(",")[0] for each in found.candidates} == set(bases)
    assert isinstance(found.policy, infex.Infex)
    assert isinstance(found.policy.base, Bold)


class Broken(Curious):
    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        return infex.Choice(99)


def test_a_base_that_cannot_play_is_named_before_the_race() -> None:
    with pytest.raises(InfexError, match=r"Broken cannot play this problem: .*99"):
        plan(dim=2, arms_count=4, bases=["default", Broken()], **QUICK | {"seconds": 600})
    with pytest.raises(InfexError, match=r"Curious.* only if the policy is compiled"):
        plan([[1.0], [0.0]], logged=([0, 1], [1.0, 0.5]), bases=[Curious()], **QUICK)


def test_the_command_takes_problems_bases_and_schedules(tmp_path: Path) -> None:
    words = ["plan", "--problem", "tests.lab.planner.test_own:drawn", "--horizon", "300", "--seconds", "0.05"]
    words += [
        "--base",
        "tests.lab.planner.test_own:Curious()",
        "--base",
        "LinUCB(scale=0.2)",
        "--workers",
        "1",
    ]
    words += ["--schedule", "every(10)", "--schedule", "power(0.5)", "--out", str(tmp_path)]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    assert "simulated: tests.lab.planner.test_own:drawn" in found.output
    data = json.loads((tmp_path / "plan.json").read_text())
    assert data["question"]["problem"] == "tests.lab.planner.test_own:drawn"
    assert all(
        "every(10)" in each["expression"] or "power(0.5)" in each["expression"] for each in data["candidates"]
    )
    assert data["recommended"] in (tmp_path / "plan.html").read_text().replace("<wbr>", "")
    refused = CliRunner().invoke(main, ["plan", "--problem", "no.such:thing", "--horizon", "300"])
    assert refused.exit_code == 2
    assert "no.such" in refused.output


def test_what_met_fewer_problems_is_compared_by_differences_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means of other problems stood side by side, so that the lesser of two could be the worse."""
    monkeypatch.setattr("infex.lab.planner.evaluation.REFERENCE_SHARE", 1e-4)
    found = plan(dim=2, arms_count=5, horizon=300, seconds=0.5, workers=1, seed=1)
    assert found.regret["LinUCB"].problems < found.regret["recommended"].problems
    rows = found.cost_rows()
    assert [name for name, *_ in rows] == [
        "recommended",
        "the best",
        "it less the best",
        "it less plain LinUCB",
        "it less greedy",
    ]
    problems = {each.problems for name, each, _ in rows if not name.startswith("it less")}
    assert problems == {found.chosen().problems}
    few, all_of_them = found.regret["LinUCB"].problems, found.regret["recommended"].problems
    assert {each.problems for name, each, _ in rows if name.startswith("it less")} == {few, all_of_them}


def test_marks_of_the_picture_are_ratios_of_the_same_problems() -> None:
    from infex.lab.planner.report import front_data

    found = plan(dim=2, arms_count=5, horizon=300, seconds=0.5, workers=1, seed=1)
    least = found.regret["best"].mean.value
    known = {each.expression: each for each in (*found.levels, *(entry.figures for entry in found.menu))}
    chart = front_data(found)
    marks = [
        mark for each in chart["series"] for mark in zip(each["names"], each["x"], each["y"], strict=True)
    ]
    assert {name for name, *_ in marks} >= {found.recommended, found.best}
    for name, explorations, regret in marks:
        assert explorations == known[name].explorations
        assert regret == pytest.approx(least * known[name].ratio.value, rel=1e-4)
    limits = {each["name"]: each["y"] for each in chart["limits"]}
    assert limits["plain LinUCB"] == pytest.approx(least * found.times_best["LinUCB"].value)
