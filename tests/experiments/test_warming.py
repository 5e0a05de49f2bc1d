"""What is compiled at its first call is called before any run's time is taken."""

import warnings
from typing import Any

import pytest
from click.testing import CliRunner

from infex import Choice, Infex, Sweep, environments, every
from infex.cli import warm_command
from infex.cli.main import main
from infex.experiments import compiling_ahead, warming
from infex.simulation import playing
from tests.clock import Clock
from tests.experiments import players

SMALL: dict[str, Any] = {"environments": ["gaussian(dim=2, arms=3)"], "horizon": 30, "seeds": 3}


class SlowAtFirst:
    """Takes an hour at the first call of a process, as if it were compiled then."""

    called = False
    clock = Clock()

    def choose(self, t: int, evidence: Any, rng: Any) -> Choice:
        if not SlowAtFirst.called:
            SlowAtFirst.called = True
            SlowAtFirst.clock.now += 3600
        return Choice(0)


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_time_of_runs_holds_no_first_call(wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlowAtFirst, "called", False)
    monkeypatch.setattr(warming, "_warmed", set())
    monkeypatch.setattr(playing, "time", SlowAtFirst.clock)
    policy = Infex(SlowAtFirst(), every(7)) if wrapped else SlowAtFirst()
    results = Sweep(policies=[policy], **SMALL).run(workers=1)
    assert SlowAtFirst.called
    assert results.finals["seconds"].to_pylist() == [0.0, 0.0, 0.0]


def test_warming_is_done_once_for_a_policy_and_kind_of_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []
    monkeypatch.setattr(warming, "_warmed", set())
    monkeypatch.setattr(
        warming, "play", lambda instance, policy, rounds: played.append(type(policy).__name__)
    )
    fixed, changing = environments.gaussian(2, 3, 0), environments.changing(2, 3, 0)
    for instance in (fixed, fixed, changing, environments.gaussian(3, 3, 0)):
        warming.warm(instance, players.middle, "middle")
    assert played == ["Middle", "Middle"]


def test_warming_changes_no_learner_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_warmed", set())
    learner = players.Counting()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, policy in enumerate((learner, Infex(learner, every(2)), players.Leaving(), object())):
            warming.warm(environments.gaussian(2, 3, 0), policy, str(number))
            warming.warm(players.far, policy, f"far {number}")
    assert learner.learnt == 0


def test_ctrl_c_ends_warming_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(warming, "_warmed", set())
    monkeypatch.setattr(warming, "play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        warming.warm(environments.gaussian(2, 3, 0), players.middle, "middle")


@pytest.mark.compiled
@pytest.mark.parametrize("what", [[], ["simulations"], ["decisions"], ["decisions", "simulations"]])
def test_all_that_is_named_is_compiled_ahead(what: list[str]) -> None:
    found = CliRunner().invoke(main, ["warm", *what])
    assert found.exit_code == 0, found.output
    kinds = [kind for kind in warm_command.KINDS if kind in what or not what]
    names = [name for kind in kinds for name in compiling_ahead.COMPILED_AHEAD[kind]]
    *steps, last = found.output.splitlines()
    assert [step.split(": ")[1].rsplit(",", 1)[0] for step in steps] == names
    assert steps[0].startswith(f"1 of {len(names)}: ")
    assert last.startswith("all is compiled")
    assert all(f"s for {kind}" in last for kind in kinds)


def test_every_kind_that_can_be_compiled_ahead_can_be_named() -> None:
    assert set(warm_command.KINDS) == compiling_ahead.COMPILED_AHEAD.keys()
    refused = CliRunner().invoke(main, ["warm", "tests"])
    assert refused.exit_code == 2
    assert "'tests'" in refused.output
