"""What a hunter found in bandits: limits passed, journals that lie, half-done changes, data in errors."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Choice,
    Infex,
    LinUCB,
    every,
    features,
    from_record,
    guarded,
    listed,
    models,
    paused,
    to_record,
)
from infex.errors import (
    CannotLoad,
    DuplicateId,
    InvalidArms,
    InvalidChoice,
    InvalidContext,
    InvalidRecord,
    InvalidRound,
    InvalidSetting,
)
from infex.models import Posterior
from infex.policies import ContextReduction, Control, GreedyFirst, Uniform
from infex.policies.controls import State

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
MEANS = np.array([0.1, 0.2, 0.9])


def told(bandit: Bandit, rounds: int) -> Bandit:
    for _ in range(rounds):
        decision = bandit.ask()
        bandit.tell(decision, float(MEANS[decision.arm]))
    return bandit


class Wrap:
    """A user's wrapper with nothing but `choose`."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return self.base.choose(t, posterior, rng)  # type: ignore[no-any-return]


class Boxed(Wrap):
    """One that keeps the note of what it holds inside its own."""

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        rounds, inner = posterior.policy_state or [0, None]
        choice = self.base.choose(t, posterior.with_policy_state(inner), rng)
        return choice._replace(policy_state=[rounds + 1, choice.policy_state or inner])  # type: ignore[no-any-return]


@given(
    mask=st.lists(st.booleans(), min_size=3, max_size=3).filter(any),
    limit=st.floats(0.0, 2.0),
    wrap=st.sampled_from([lambda policy: policy, Wrap, Boxed, GreedyFirst]),
    base=st.sampled_from([LinUCB(), Uniform()]),
)
@settings(max_examples=40, deadline=None)
def test_no_limit_is_passed_under_a_mask_whatever_holds_the_guard(
    mask: list[bool], limit: float, wrap: Callable[[Any], Any], base: Any
) -> None:
    """The guard counted losses from the best arm that is allowed, and the bandit from the best of all."""
    bandit = told(Bandit(np.eye(3), Infex(LinUCB(), every(2))), 20)
    most = bandit.exploration().cost + limit
    bandit.allowed = mask
    bandit.policy = wrap(Infex(base, guarded(every(1), most)))
    told(bandit, 20)
    assert bandit.exploration().cost <= most + 1e-12


def test_a_guard_inside_another_schedule_is_refused() -> None:
    """All that the outer one plays is charged to it, the greedy arm among those allowed too."""
    inner = Infex(LinUCB(), guarded(every(1), 0.3))
    for base in (inner, Wrap(inner), GreedyFirst(inner)):
        with pytest.raises(InvalidSetting, match="only the outermost schedule can refuse arms"):
            Infex(base, every(2))


@pytest.mark.parametrize(
    "schedule", [guarded(every(2), 0.5), paused(every(2), when=listed([2]), missed="make up"), every(3)]
)
def test_schedules_go_around_a_reduction_not_into_it(schedule: Any) -> None:
    """It dropped their turns, and guards inside it looked at losses of actions."""
    samples = np.array([np.eye(3)])
    with pytest.raises(InvalidSetting, match="put ContextReduction inside"):
        ContextReduction(Infex(LinUCB(), schedule), samples=samples)
    around = Infex(ContextReduction(LinUCB(), samples=samples, directions=9), schedule)
    bandit = Bandit(dim=3, policy=around)
    for _ in range(20):
        bandit.tell(bandit.ask(np.eye(3)), 0.5)
    assert bandit.exploration().planned == 10 if schedule != every(3) else 6


def test_a_schedule_that_asks_its_own_bandit_is_refused() -> None:
    """One id came twice, and a decision was lost."""

    class Asking:
        grows = True

        def explores(self, t: int) -> bool:
            if t == 5 and not asked:
                asked.append(t)
                bandit.ask()
            return False

        def count(self, t: int) -> int:
            return 0

        def when(self, n: int) -> float:
            return math.inf

    asked: list[int] = []
    bandit = Bandit(ARMS, Infex(LinUCB(), every(3) | Asking()))
    for _ in range(4):
        bandit.ask()
    with pytest.raises(InvalidChoice, match="changed its own bandit"):
        bandit.ask()
    ids = [decision.id for decision in bandit.pending]
    assert len(ids) == len(set(ids)) == bandit.t


class Left(NamedTuple):
    explorations: int


@dataclass(frozen=True)
class AtMost(Control):
    """A limit of a user's own, with a state that has a name."""

    schedule: Any

    def initial_state(self) -> State:
        return Left(3)

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return None if state.explorations > 0 else "enough"  # type: ignore[attr-defined]

    def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
        return Left(state.explorations - 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: inner,
        Wrap,
        Boxed,
        lambda inner: Wrap(Boxed(inner)),
        lambda inner: GreedyFirst(Wrap(inner), wait=1, level=9.0),
        lambda inner: Infex(Boxed(inner), every(1)),
    ],
    ids=["plain", "wrap", "boxed", "both", "first", "infex"],
)
def test_the_limit_of_a_users_control_has_its_names_again_in_any_wrapper(
    tmp_path: Path, wrap: Callable[[Any], Any]
) -> None:
    """After loading and in a replay it crashed: 'tuple' object has no attribute 'explorations'."""
    policy = wrap(Infex(LinUCB(), AtMost(every(1))))
    bandit = told(Bandit(ARMS, policy), 5)
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex", policy)
    assert loaded.digest() == bandit.digest()
    again = Bandit.load(tmp_path / "x.infex", policy)
    for _ in range(5):
        decision = again.enter(from_record(json.loads(json.dumps(to_record(again.decide())))))
        again.tell(decision, float(MEANS[decision.arm]))
    for each in (bandit, loaded):
        told(each, 5)
    assert bandit.explored == loaded.explored == again.explored
    assert bandit.digest() == loaded.digest() == again.digest()


def lied(bandit: Bandit, path: str, lie: object) -> Any:
    kept = json.loads(json.dumps(to_record(bandit.decide())))
    place, *way = kept, *path.split(".")
    for name in way[:-1]:
        place = place[name]
    place[way[-1]] = lie
    return kept


@pytest.mark.parametrize(
    ("path", "lie"),
    [
        ("turn", "made up"),
        ("turn", "rest"),
        ("turn", "owed"),
        ("turn", "never"),
        ("turn", None),
        ("decision.propensity", 1.5),
        ("decision.explore_probability", -0.25),
        ("decision.base_propensity", "0.5"),
        ("decision.t", 2.0),
        ("decision.t", True),
        ("decision.t", 3),
        ("decision.arm", 2),
        ("decision.arm", -1),
        ("decision.explored", 1),
        ("decision.reason", 7),
        ("note", {"kind": "InfexNote", "states": 3, "base": None}),
        ("note", {"kind": "InfexNote", "states": {"kind": "tuple", "parts": [3]}}),
        ("on", 2),
        ("on", True),
        ("on", [0.1, 0.2, 0.3]),
        ("on", [5.0, 5.0]),
        ("on", "x"),
        ("loss", -1.0),
        ("loss", "3"),
        ("noticed", ["age clipped"]),
        ("noticed", [3]),
        ("decision", 3),
        ("own_id", 1),
        ("own_id", True),
        ("decision.id", "other-3"),
        ("decision.id", "2"),
        ("decision.id", "-2"),
        ("played", 3),
        ("played", [0.5, 0.5]),
    ],
)
def test_a_journal_that_lies_is_not_entered(path: str, lie: object) -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(1)))
    bandit.ask()
    before = bandit.digest()
    with pytest.raises((InvalidRecord, InvalidChoice, InvalidSetting, InvalidRound, DuplicateId)):
        bandit.enter(from_record(lied(bandit, path, lie)))
    assert bandit.digest() == before
    assert bandit.enter(from_record(lied(bandit, "changes", 0))).t == 2


def test_a_journal_gives_no_round_the_id_of_another() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(1)))
    life, _, _ = bandit.ask().id.rpartition("-")
    with pytest.raises(InvalidChoice, match="is not one that a bandit gives to its round 2"):
        bandit.enter(from_record(lied(bandit, "decision.id", f"{life}-3")))
    plain = Bandit(ARMS, LinUCB())
    with pytest.raises(
        InvalidChoice, match=r"the schedule_status <ScheduleStatus.DUE: 'due'> cannot be one of LinUCB's"
    ):
        plain.enter(from_record(lied(plain, "turn", "due")))


def test_a_greedy_round_of_a_journal_costs_nothing() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), every(9)))
    with pytest.raises(InvalidChoice, match="loss must be at most 0"):
        bandit.enter(from_record(lied(bandit, "loss", 3.0)))


@pytest.mark.parametrize("kept", [[], 3, "x", None])
def test_what_is_no_mapping_was_not_decided(kept: Any) -> None:
    with pytest.raises(InvalidRecord, match="a record must be a mapping that names its kind"):
        from_record(kept)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (["Jane Doe", "4111 1111 1111 1111", 3], "feature 0 is a str"),
        ([0.1, None, 3], "feature 1 is a NoneType"),
        ([0.1, 0.2, math.nan], "feature 2 is nan"),
        (np.array([0.1, math.inf, 0.0]), "feature 1 is inf"),
        ([True, False, True], "feature 0 is a bool"),
        ([0.1, 0.2], "must be 3 finite numbers, got 2"),
        ("Jane Doe", "got a str"),
        ({"name": "Jane Doe"}, "got a dict"),
        (np.array([[0.1, 0.2, 4111.0]] * 3), "feature 0 is a ndarray"),
    ],
)
def test_an_error_never_tells_what_a_context_holds(context: Any, said: str) -> None:
    bandit = Bandit(features=features.disjoint(2, 3), policy=LinUCB())
    with pytest.raises(InvalidContext) as caught:
        bandit.ask(context=context)
    assert said in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("Jane", "4111"))


@pytest.mark.parametrize("mask", [list(range(100_000)), [[True], [True, False]], "x" * 10**5])
def test_an_error_about_a_mask_is_short(mask: Any) -> None:
    with pytest.raises(InvalidArms, match="true or false for each of 3 arms") as caught:
        Bandit(ARMS, LinUCB()).ask(allowed=mask)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("rows", [1, 3])
def test_a_map_that_gives_other_rows_than_it_has_arms_is_named(rows: int) -> None:
    class Map:
        dim, count, labels = 2, 2, ("a", "b")

        def __call__(self, context: object) -> Any:
            return np.full((rows, 2), 0.1)

    with pytest.raises(InvalidContext, match=f"the feature map has 2 arms, and gave {rows} rows"):
        Bandit(features=Map(), policy=LinUCB()).ask(context=1)


@pytest.mark.parametrize("share", [1e-310, 1e-13])
def test_a_share_that_no_round_would_make_up_for_is_refused(share: float) -> None:
    with pytest.raises(InvalidSetting, match="at_most must be at least 1e-12"):
        paused(every(2), when=listed([2]), missed="make up", at_most=share)


def test_a_window_that_no_computer_holds_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="size must be at most"):
        models.Windowed(size=10**20)


@pytest.mark.parametrize("longest", [1.0, 10.0])
def test_a_map_of_a_users_with_another_longest_is_refused(tmp_path: Path, longest: float) -> None:
    def rows(context: float, arm: float) -> list[float]:
        return [context / 2, arm]

    def mapped(longest: float) -> Any:
        return features.joined(rows, [0.1, 0.5], 2, labels=["x", "y"], longest=longest)

    Bandit(features=mapped(1.0), policy=LinUCB()).save(tmp_path / "x.infex")
    if longest == 1.0:
        assert Bandit.load(tmp_path / "x.infex", features=mapped(longest)).t == 0
        return
    with pytest.raises(CannotLoad, match=r"another feature map: longest is 1\.0, not 10\.0"):
        Bandit.load(tmp_path / "x.infex", features=mapped(longest))
    assert Bandit.load(tmp_path / "x.infex", features=mapped(longest), adopt=True).t == 0
