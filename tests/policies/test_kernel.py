"""Policies written as kernels: in the compiled loop, in the plain one and in a bandit."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, InfexError, LinTS, LinUCB, environments, every, kernel, play, view
from infex.errors import InvalidChoice, InvalidSetting
from infex.simulation import batch
from tests.simulation.test_playing import assert_same, play_plain


@kernel(scale=1.0, delta=0.01)
def optimist(t: int, seen: Any, rng: Any) -> int:
    scale, delta = seen.settings[0], seen.settings[1]
    return view.best(view.upper(seen, scale * view.radius(seen, 1.0, 1.0, delta)))


@kernel(scale=1.0, delta=0.01)
def quick_optimist(t: int, seen: Any, rng: Any) -> int:
    scale, delta = seen.settings[0], seen.settings[1]
    return view.best_upper(seen, scale * view.radius(seen, 1.0, 1.0, delta))


@kernel(scale=0.3)
def sampler(t: int, seen: Any, rng: Any) -> int:
    return view.best(view.perturbed(seen, seen.settings[0] * view.radius(seen, 1.0, 1.0, 0.01), rng))


@kernel(temperature=0.1)
def boltzmann(t: int, seen: Any, rng: Any) -> int:
    """Draws an arm with a chance that grows with its estimate, and with its width at first."""
    estimates, widths, temperature = view.estimates(seen), view.widths(seen), seen.settings[0]
    best, value = -np.inf, 0
    for k in range(estimates.size):
        score = estimates[k] / temperature + widths[k] / t - np.log(-np.log(rng.random()))
        if score > best:
            best, value = score, k
    return value


@kernel
def lazy(t: int, seen: Any, rng: Any) -> int:
    return view.greedy(seen) if view.volume(seen) > 1.0 else (t - 1) % seen.arms.shape[1]


@kernel
def wild(t: int, seen: Any, rng: Any) -> int:
    return t


@kernel
def failing(t: int, seen: Any, rng: Any) -> int:
    if t == 3:
        raise ZeroDivisionError("as it was told to")
    return 0


@kernel
def vague(t: int, seen: Any, rng: Any) -> float:
    return 0.5


@kernel
def impossible(t: int, seen: Any, rng: Any) -> int:
    return open("a file")


INSTANCE = environments.gaussian(dim=4, arms=30, seed=2)


@pytest.mark.parametrize("data", ["shared", "own", None])
@pytest.mark.parametrize(
    "policy", [optimist(), sampler(), boltzmann(), boltzmann(temperature=2), lazy()], ids=repr
)
def test_compiled_and_interpreted_runs_are_the_same(
    policy: Any, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = policy if data is None else Infex(policy, every(7), data=data)
    slow = play_plain(monkeypatch, chooser, INSTANCE, 400, 5, record=True)
    assert_same(play(INSTANCE, chooser, 400, 5, record=True), slow)


@pytest.mark.parametrize("write", [optimist, quick_optimist])
def test_a_kernel_that_does_what_linucb_does_plays_the_same(write: Any) -> None:
    for mine, theirs in (
        (write(), LinUCB()),
        (write(scale=0.1, delta=1e-4), LinUCB(scale=0.1, delta=1e-4)),
        (Infex(write(), every(10)), Infex(LinUCB(), every(10))),
        (Infex(write(), every(10), data="own"), Infex(LinUCB(), every(10), data="own")),
    ):
        one, other = (play(INSTANCE, policy, 1000, 1, record=True) for policy in (mine, theirs))
        assert_same(one, other)


def test_a_kernel_that_does_what_lints_does_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "name", lambda policy: "one name for both")
    one, other = (play(INSTANCE, policy, 500, 1, record=True) for policy in (sampler(), LinTS(scale=0.3)))
    assert_same(one, other)


def test_a_bandit_takes_a_kernel() -> None:
    for arms in (None, INSTANCE.arms):
        where: dict[str, Any] = {"arms": INSTANCE.arms} if arms is None else {"dim": 4}
        bandits = [Bandit(policy=Infex(base, every(3)), seed=4, **where) for base in (optimist(), LinUCB())]
        rng = np.random.default_rng(3)
        for _ in range(100):
            asked = [bandit.ask() if arms is None else bandit.ask(arms) for bandit in bandits]
            assert asked[0].arm == asked[1].arm
            reward = float(rng.normal())
            for bandit, decision in zip(bandits, asked, strict=True):
                bandit.tell(decision, reward)


def test_settings_are_numbers_with_names() -> None:
    assert repr(boltzmann(temperature=2)) == "boltzmann(temperature=2.0)"
    assert boltzmann() == boltzmann(temperature=0.1)
    assert boltzmann(temperature=0.2) != boltzmann()
    with pytest.raises(InvalidSetting, match="boltzmann has no setting 'heat'; it has temperature"):
        boltzmann(heat=1.0)
    with pytest.raises(InvalidSetting, match="temperature must be a number, got 'hot'"):
        boltzmann(temperature="hot")
    with pytest.raises(InvalidSetting, match="lazy has no setting 'x'; it has none"):
        lazy(x=1.0)


def test_different_settings_draw_from_different_streams() -> None:
    names = {batch.name(policy) for policy in (boltzmann(), boltzmann(temperature=1), sampler(), lazy())}
    names |= {batch.name(Infex(policy, every(5))) for policy in (boltzmann(), sampler())}
    assert len(names) == 6


@pytest.mark.compiled
@pytest.mark.parametrize("wrapped", [lambda policy: policy, lambda policy: Infex(policy, every(1))])
def test_faults_of_a_kernel_are_named(wrapped: Any) -> None:
    with pytest.raises(InvalidChoice, match="the policy chose arm 30 in round 30; there are arms 0 to 29"):
        play(INSTANCE, wrapped(wild()), 100)
    with pytest.raises(ZeroDivisionError, match="as it was told to"):
        play(INSTANCE, wrapped(failing()), 100)
    with pytest.raises(InvalidSetting, match=r"vague> must return an arm, .* it returns float64"):
        play(INSTANCE, wrapped(vague()), 100)
    with pytest.raises(InvalidSetting, match="impossible> cannot be compiled"):
        play(INSTANCE, wrapped(impossible()), 100)
    with pytest.raises(InfexError, match="vague> must return an arm"):
        Bandit(INSTANCE.arms, wrapped(vague())).ask()


def test_a_run_after_a_fault_is_as_ever() -> None:
    expected = play(INSTANCE, sampler(), 200, 3, record=True)
    with pytest.raises((InvalidChoice, IndexError)):
        play(INSTANCE, wild(), 100)
    assert_same(play(INSTANCE, sampler(), 200, 3, record=True), expected)


def test_kernels_travel_by_name_and_others_by_their_code() -> None:
    assert pickle.loads(pickle.dumps(boltzmann)) is boltzmann
    assert pickle.loads(pickle.dumps(boltzmann(temperature=3))) == boltzmann(temperature=3)
    assert copy.deepcopy(boltzmann(temperature=3)) == boltzmann(temperature=3)
    unnamed = kernel(bonus=2.0)(lambda t, seen, rng: 0)
    rebuild, given = unnamed.__reduce__()
    assert rebuild(*given).defaults == {"bonus": 2.0}


@pytest.mark.compiled
def test_a_kernel_from_text_has_no_file_to_be_cached_in_and_runs() -> None:
    space: dict[str, Any] = {"kernel": kernel}
    exec("@kernel\ndef last(t, seen, rng):\n    return seen.arms.shape[1] - 1", space)
    assert play(INSTANCE, space["last"](), 50).counts[29] == 50
