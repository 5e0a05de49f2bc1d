"""Settings, notes and decisions as plain data, and back."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import (
    EpsilonGreedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    always,
    budget,
    every,
    features,
    from_record,
    guarded,
    jittered,
    listed,
    logarithmic,
    models,
    never,
    paused,
    power,
    registry,
    stretched,
    to_record,
    until_certain,
)
from infex.errors import InvalidExpression, InvalidRecord, NoRecord
from infex.lab import environments
from infex.policies import GreedyFirst, RarelySwitchingUCB, Uniform, catching_up, doubtful, ledger
from infex.policies.base import InfexState
from infex.policies.choice import Reason
from infex.policies.ucb import SwitchingState
from infex.registry import policy_state_from_record, policy_state_to_record, reason_of
from infex.schedules import from_count
from tests.strategies import accepted

pytestmark = pytest.mark.filterwarnings(
    "ignore::infex.errors.SparseExploration", "ignore::infex.errors.FewExplorations"
)

periodic = st.one_of(st.builds(every, st.integers(1, 50)), st.just(always()), st.just(never()))
plain_schedules = st.one_of(
    periodic,
    st.builds(jittered, st.integers(1, 30), st.integers(0, 9)),
    st.builds(stretched, st.floats(0, 3)),
    st.builds(power, st.floats(0.1, 1)),
    st.builds(logarithmic, st.floats(0.5, 4)),
    st.lists(st.integers(1, 99), max_size=9).map(listed),
)
schedules = st.recursive(
    plain_schedules,
    lambda inner: st.one_of(
        st.builds(budget, inner, st.integers(0, 99)),
        st.tuples(plain_schedules, plain_schedules).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=4,
)
controls = st.recursive(
    schedules,
    lambda inner: st.one_of(
        st.builds(guarded, inner, st.floats(0, 99), st.none() | st.integers(1, 99)),
        st.builds(until_certain, inner, st.floats(0.001, 1), scale=st.floats(0, 2)),
        st.builds(doubtful, inner, st.floats(0, 2), noise=st.floats(0.01, 2)),
        accepted(ledger, st.floats(0.01, 9), inner, noise=st.floats(0.01, 2)),
        accepted(paused, inner, schedules, st.sampled_from(["drop", "make up"]), st.floats(0.01, 1)),
        accepted(catching_up, inner, st.floats(0.01, 1)),
        st.builds(budget, inner, st.integers(0, 9), st.integers(1, 99)),
    ),
    max_leaves=4,
)
bases = st.one_of(
    st.builds(
        LinUCB, delta=st.floats(1e-6, 1), scale=st.floats(0, 9), radius=st.sampled_from(["sum", "mixture"])
    ),
    st.builds(
        LinTS, sampling=st.sampled_from(["gaussian", "spherical"]), draws=st.none() | st.integers(1, 99)
    ),
    st.builds(EpsilonGreedy, rate=st.none() | st.floats(0, 1)),
    st.builds(GreedyFirst, st.builds(RarelySwitchingUCB, growth=st.floats(0.1, 9))),
    st.builds(Softened, st.just(Uniform()), st.floats(0.01, 1)),
)
policies = st.builds(Infex, bases, controls, data=st.sampled_from(["shared", "own"]))


@given(thing=st.one_of(policies, bases, controls))
@settings(max_examples=200, deadline=None)
def test_settings_go_to_plain_data_and_to_text_and_back(thing: Any) -> None:
    kept = json.loads(json.dumps(to_record(thing), allow_nan=False))
    assert from_record(kept) == thing
    assert to_record(from_record(kept)) == kept
    assert kept["version"] == 1
    text = registry.expression(thing)
    assert registry.parse(text) == thing
    assert registry.expression(registry.parse(text)) == text


def test_every_setting_is_named_so_that_another_default_changes_nothing() -> None:
    kept = to_record(Infex(LinUCB(), every(20)))
    assert kept == {
        "kind": "Infex", "version": 1, "data": "shared", "ties": "lowest", "greedy": None,
        "base": {
            "kind": "LinUCB", "version": 1, "noise": 1.0, "bound": 1.0, "delta": None, "scale": 1.0,
            "ties": "lowest", "radius": "sum",
        },
        "schedule": {"kind": "every", "version": 1, "m": 20, "offset": 0},
    }  # fmt: skip


@pytest.mark.parametrize(
    "thing",
    [
        models.Ridge(penalty=0.5),
        models.Discounted(rate=0.9),
        models.Windowed(size=9),
        models.Lasso(strength=0.1),
        models.Logistic(),
        features.disjoint(["a", "b"], context_dim=3, longest=2),
        features.disjoint(4, context_dim=1),
        features.interactions(np.array([[0.5, 0.1], [0.2, 0.3]]), context_dim=2, labels=[1, "b"]),
    ],
    ids=repr,
)
def test_estimators_and_maps_too(thing: Any) -> None:
    assert from_record(json.loads(json.dumps(to_record(thing)))) == thing


@pytest.mark.parametrize(
    "nature",
    [
        {"late": environments.late(mean=3, lost=0.1)},
        {"late": environments.late(rounds=[1, 2])},
        {"moves": environments.steps(every=9)},
        {"moves": environments.steps(at=[5, 9]), "rewards": "student", "noise": [0.5] * 4},
        {"moves": environments.turning(90)},
        {"moves": environments.walk(0.1), "link": "logistic", "rewards": "bernoulli"},
    ],
    ids=str,
)
def test_open_problems_too(nature: Any) -> None:
    instance = environments.gaussian(dim=3, arms=4, seed=1, **nature)
    again = from_record(json.loads(json.dumps(to_record(instance))))
    assert again.key == instance.key
    assert (again.late, again.moves) == (instance.late, instance.moves)


def test_an_environment_with_code_of_ones_own_has_no_record() -> None:
    with pytest.raises(NoRecord):
        to_record(environments.gaussian(dim=3, arms=4, seed=1, rewards=lambda rng, means: means))


def test_the_record_of_a_problem_is_read_where_the_laboratory_was_not_imported() -> None:
    record = to_record(environments.gaussian(dim=2, arms=3, seed=1, late=environments.late(mean=3)))
    program = f"import infex; print(infex.from_record({record!r}).late)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "Late(rounds=None, mean=3, lost=0.0)"


def test_environments_too() -> None:
    instance = environments.gaussian(dim=3, arms=4, seed=1)
    again = from_record(json.loads(json.dumps(to_record(instance))))
    assert again.key == instance.key
    run, other = (infex.lab.play(each, LinUCB(), 50) for each in (instance, again))
    assert run.regret == other.regret


class Mine:
    """A stranger's object that minds being looked at."""

    base = LinUCB()

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(0)

    def __repr__(self) -> str:
        raise RuntimeError("nobody may call this")


class Imposter:
    """A target whose repr is that of a built-in one."""

    def __call__(self, t: int) -> float:
        return 1.0

    def __repr__(self) -> str:
        return "power(0.9)"


@pytest.mark.parametrize(
    "thing",
    [
        Mine(),
        Infex(Mine(), every(2)),
        EpsilonGreedy(rate=lambda t: 0.1),
        from_count(Imposter()),
        paused(every(2), when=lambda t: False),
        models.Weighted(weight=lambda x: 1.0),
        features.joined(lambda context, arm: [1.0], ["a"], 1),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_holds_a_users_code_has_no_record_and_its_repr_is_not_called(thing: Any) -> None:
    with pytest.raises(NoRecord, match="is no built-in kind, or holds code of yours"):
        to_record(thing)
    with pytest.raises(InvalidExpression, match="not in the catalogue"):
        registry.expression(thing)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ("LinUCB", "a record must be a mapping that names its kind"),
        ({"version": 1}, "must be a mapping that names its kind"),
        ({"kind": "LinABC", "version": 1}, "no built-in thing is called 'LinABC'"),
        ({"kind": "LinUCB", "version": 2}, "version 2 of LinUCB is not known here"),
        ({"kind": "LinUCB"}, "version None of LinUCB is not known here"),
        ({"kind": "LinUCB", "version": 1, "delta": 7}, "delta must be at most 1, got 7"),
        ({"kind": "LinUCB", "version": 1, "speed": 7}, "unexpected keyword argument 'speed'"),
        ({"kind": "Infex", "version": 1, "base": 3}, "the record of Infex cannot be made"),
    ],
)
def test_bad_records_are_refused_by_name(kept: Any, message: str) -> None:
    with pytest.raises(InvalidRecord, match=message):
        from_record(kept)


notes = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(), inner, max_size=3),
        st.builds(lambda states, base: InfexState(tuple(states), base), st.lists(inner, max_size=2), inner),
        st.builds(SwitchingState, st.floats(0, 9), st.lists(st.floats(-1, 1), max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


@given(policy_state=notes)
def test_notes_keep_their_kinds(policy_state: Any) -> None:
    again = policy_state_from_record(
        json.loads(json.dumps(policy_state_to_record(policy_state), allow_nan=False))
    )
    assert again == policy_state
    assert kinds(again) == kinds(policy_state)


def kinds(policy_state: Any) -> Any:
    """What a note is made of."""
    parts = (
        policy_state.values()
        if isinstance(policy_state, dict)
        else policy_state
        if isinstance(policy_state, list | tuple)
        else ()
    )
    return type(policy_state), [kinds(part) for part in parts]


@pytest.mark.parametrize("kept", [{"kind": "Nothing"}, {"kind": "Switched", "height": 2}, {"parts": [1]}])
def test_notes_that_cannot_be_are_refused(kept: Any) -> None:
    with pytest.raises(InvalidRecord):
        policy_state_from_record(kept)


def test_reasons_come_back_as_what_they_are() -> None:
    for reason in Reason:
        assert reason_of(str(reason)) is reason
    assert reason_of("because I said so") == "because I said so"
