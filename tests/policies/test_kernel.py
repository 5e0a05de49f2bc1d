"""Policies written as kernels: in the compiled loop, in the plain one and in a bandit."""

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import nrt

from infex import Bandit, Infex, InfexError, LinTS, LinUCB, environments, every, kernel, play, play_many, view
from infex.environments import changing, gaussian
from infex.errors import InvalidChoice, InvalidSetting
from infex.kernels.compiling import compiled, plain_python
from infex.kernels.fingerprint import fingerprint
from infex.records.stream_names import stream_name
from infex.simulation import playing
from infex.testing import PolicyContract
from tests.simulation.test_playing import assert_same, play_plain


@kernel(scale=1.0, delta=None)
def optimist(t: int, seen: Any, rng: Any) -> int:
    scale, delta = seen.settings[0], seen.settings[1]
    return view.best(view.upper(seen, scale * view.radius(seen, 1.0, 1.0, delta)))


@kernel(scale=1.0, delta=None)
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


THIS_TREE = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}  # whatever infex is installed
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
    monkeypatch.setattr(playing, "stream_name", lambda policy: "one name for both")
    one, other = (
        play(INSTANCE, policy, 500, 1, record=True) for policy in (sampler(), LinTS(scale=0.3, delta=0.01))
    )
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
    with pytest.raises(InvalidSetting, match=r"settings of boltzmann must be named, got \(0.5,\)"):
        boltzmann(0.5)
    with pytest.raises(InvalidSetting, match="a must be a number, got 'x'"):
        kernel(**{"a": "x"})
    for wrong in (5, lambda t: 0, print):
        with pytest.raises(InvalidSetting, match="a kernel must be a function of t, view and rng"):
            kernel(wrong)
    for where in (lambda: play(INSTANCE, lazy, 10), lambda: Infex(lazy, every(3))):
        with pytest.raises(InvalidSetting, match=r"must be a policy, .* got <kernel .*lazy>, say lazy\(\)"):
            where()


def test_different_settings_draw_from_different_streams() -> None:
    names = {stream_name(policy) for policy in (boltzmann(), boltzmann(temperature=1), sampler(), lazy())}
    names |= {stream_name(Infex(policy, every(5))) for policy in (boltzmann(), sampler())}
    assert len(names) == 6


@kernel
def picky(t: int, seen: Any, rng: Any) -> int:
    if t > 0:
        raise InvalidChoice("no arm suits")
    return 0


@kernel
def huge(t: int, seen: Any, rng: Any) -> int:
    upper = view.upper(seen, 1e200)
    first, same = upper[0], view.best(upper)
    return same if view.best_upper(seen, 1e200) == same and upper[0] == first else -1


class TestBoltzmann(PolicyContract):
    def make(self) -> Any:
        return boltzmann()


class TestOptimist(PolicyContract):
    def make(self) -> Any:
        return optimist()


@pytest.mark.compiled
@pytest.mark.parametrize("wrapped", [lambda policy: policy, lambda policy: Infex(policy, every(1))])
def test_faults_of_a_kernel_are_named(wrapped: Any) -> None:
    with pytest.raises(InvalidChoice, match="the kernel chose arm 30 in round 30; there are arms 0 to 29"):
        play(INSTANCE, wrapped(wild()), 100)
    with pytest.raises(InvalidChoice, match="no arm suits"):
        play(INSTANCE, wrapped(picky()), 100)
    assert play(INSTANCE, wrapped(huge()), 100).counts.sum() == 100
    with pytest.raises(ZeroDivisionError, match="as it was told to"):
        play(INSTANCE, wrapped(failing()), 100)
    with pytest.raises(InvalidSetting, match=r"vague> must return an arm, .* it returns float64"):
        play(INSTANCE, wrapped(vague()), 100)
    with pytest.raises(InvalidSetting, match="impossible> cannot be compiled"):
        play(INSTANCE, wrapped(impossible()), 100)
    with pytest.raises(InfexError, match="vague> must return an arm"):
        Bandit(INSTANCE.arms, wrapped(vague())).ask()


@kernel
def failing_with_what_it_knows(t: int, seen: Any, rng: Any) -> int:
    arm = view.best(view.upper(seen, 1.0))
    if t == 5:
        raise ValueError("in round", t, arm >= 0)
    return arm


@compiled
def refuse(t: int) -> int:
    if t == 4:
        raise KeyError("a helper refuses")
    return t


@kernel
def failing_in_a_helper(t: int, seen: Any, rng: Any) -> int:
    """It holds all it was given while the helper raises, and Numba gives nothing of that back."""
    return view.best(view.estimates(seen)) if refuse(t) < 100 else 0


@pytest.fixture
def held() -> Iterator[Callable[[], Any]]:
    """How many pieces of memory compiled code has taken, and given back."""
    runtime: Any = nrt
    runtime._nrt.memsys_enable_stats()
    try:
        yield runtime.rtsys.get_allocation_stats
    finally:
        runtime._nrt.memsys_disable_stats()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("policy", "raised"),
    [
        (failing(), ZeroDivisionError("as it was told to")),
        (failing_with_what_it_knows(), ValueError("in round", 5, True)),
        (failing_in_a_helper(), KeyError("a helper refuses")),
        (wild(), InvalidChoice("the kernel chose arm 30 in round 30; there are arms 0 to 29")),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "problem", [INSTANCE, environments.changing(dim=4, arms=30, seed=2)], ids=["fixed", "changing"]
)
@pytest.mark.parametrize("data", ["shared", "own", None])
def test_a_kernel_that_raises_leaves_no_memory_behind(
    policy: Any, raised: Exception, problem: Any, data: Any, held: Any
) -> None:
    """Numba by itself never gives back what compiled functions hold when an exception passes through them."""
    chooser = policy if data is None else Infex(policy, every(1), data=data)

    def attempt() -> None:
        with pytest.raises(type(raised)) as found:
            play_many(problem, chooser, 100, seeds=range(3), workers=1)
        assert found.value.args == raised.args

    attempt()
    before = held()
    for _ in range(5):
        attempt()
    after = held()
    assert after.alloc > before.alloc, "memory is counted"
    assert after.alloc - after.free == before.alloc - before.free


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
    assert unnamed().bonus == 2.0
    with pytest.raises(AttributeError):
        _ = unnamed().other
    rebuild, given = unnamed.__reduce__()
    assert rebuild(*given).defaults == {"bonus": 2.0}


def test_functions_on_one_line_are_told_apart() -> None:
    same = [kernel(function)() for function in (lambda t, s, r: 0, lambda t, s, r: 1, lambda t, s, r: 2)]
    assert [int(play(INSTANCE, policy, 9).counts.argmax()) for policy in same] == [0, 1, 2]


@pytest.mark.compiled
@pytest.mark.parametrize("way", ["fork", "spawn", "joblib"])
def test_a_kernel_of_a_script_plays_the_same_in_other_processes(tmp_path: Path, way: str) -> None:
    (tmp_path / "script.py").write_text(
        "import sys, functools, multiprocessing, pickle, joblib, infex\nfrom infex import view\n"
        "@infex.kernel(scale=0.5)\ndef mine(t, seen, rng):\n"
        "    return view.best(view.perturbed(seen, seen.settings[0], rng))\n"
        "instance = infex.environments.gaussian(dim=2, arms=9, seed=1)\n"
        "def one(seed, policy):\n    return infex.play(instance, policy, 200, seed).regret\n"
        "if __name__ == '__main__':\n"
        "    assert pickle.loads(pickle.dumps(mine(scale=2))) == mine(scale=2)\n"
        "    here = [one(seed, mine()) for seed in range(3)]\n"
        "    if sys.argv[1] == 'joblib':\n"
        "        there = joblib.Parallel(2)(joblib.delayed(one)(seed, mine()) for seed in range(3))\n"
        "    else:\n"
        "        with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:\n"
        "            there = pool.map(functools.partial(one, policy=mine()), range(3))\n"
        "    assert here == there, (here, there)\n"
    )
    subprocess.run([sys.executable, str(tmp_path / "script.py"), way], env=THIS_TREE, check=True)


@pytest.mark.compiled
def test_a_global_or_a_helper_that_changes_is_noticed_by_later_processes(tmp_path: Path) -> None:
    """Numba compiles both into the kernel, and its own cache sees neither."""
    (tmp_path / "mine.py").write_text(
        "import sys, numba, infex\nfrom helper import shift\nARM = int(sys.argv[1])\n"
        "@infex.kernel\ndef chosen(t, seen, rng):\n    return shift(ARM)\n"
        "instance = infex.environments.gaussian(dim=2, arms=9, seed=1)\n"
        "print(infex.play(instance, chosen(), 5).counts.argmax())\n"
    )
    # Python takes two edits of one length in the same second for one, if it keeps its own compiled files.
    environment = THIS_TREE | {"PYTHONDONTWRITEBYTECODE": "1"}
    found = []
    for arm, step in ((1, 0), (2, 0), (2, 3), (1, 0)):
        text = f"import numba\n@numba.njit\ndef shift(arm):\n    return arm + {step}\n"
        (tmp_path / "helper.py").write_text(text)
        command = [sys.executable, str(tmp_path / "mine.py"), str(arm)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(int(done.stdout))
    assert found == [1, 2, 5, 1]


@pytest.mark.parametrize("other", [object(), {"a": 1}, pickle], ids=["object", "dict", "module"])
def test_what_cannot_be_told_is_not_cached(other: Any) -> None:
    space: dict[str, Any] = {"other": other}
    exec("def use(t, seen, rng):\n    other\n    return 0", space)
    assert fingerprint(space["use"]) is None


def test_a_fingerprint_tells_what_a_function_does() -> None:
    def made(number: float) -> Any:
        def inner(t: int, seen: Any, rng: Any) -> int:
            return int(np.floor(number * t)) + sum(k for k in range(t))

        return inner

    assert fingerprint(made(1.0)) == fingerprint(made(1.0)) != fingerprint(made(2.0))
    assert fingerprint(made(np.arange(3.0))) != fingerprint(made(np.arange(4.0)))
    assert fingerprint(made((1, 2.0))) != fingerprint(made((1, 3.0)))


@pytest.mark.compiled
def test_a_kernel_from_text_has_no_file_to_be_cached_in_and_runs() -> None:
    space: dict[str, Any] = {"kernel": kernel}
    exec("@kernel\ndef last(t, seen, rng):\n    return seen.arms.shape[1] - 1", space)
    assert play(INSTANCE, space["last"](), 50).counts[29] == 50


@kernel
def vandal(t: int, seen: Any, rng: Any) -> int:
    seen.arms[0, 0] = 0.123
    return 0


@kernel
def quiet_vandal(t: int, seen: Any, rng: Any) -> int:
    seen.solved[:] = 0.0
    return 0


@pytest.mark.parametrize("made", [vandal, quiet_vandal])
def test_a_kernel_cannot_write_to_the_state(made: Any) -> None:
    """It changed the bandit's own arms, without a word."""
    refused: Any = ValueError if plain_python else InvalidSetting
    match = "read-only" if plain_python else "what a kernel is given can be read alone"
    arms = np.eye(3)
    with pytest.raises(refused, match=match):
        Bandit(arms, made()).ask()
    with pytest.raises(refused, match=match):
        play(gaussian(dim=2, arms=3, seed=1), made(), 10)
    with pytest.raises(refused, match=match):
        play(changing(dim=2, arms=3, seed=1), Infex(made(), every(2)), 10)
    assert arms.tolist() == np.eye(3).tolist()
