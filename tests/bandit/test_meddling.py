"""What careless or hostile callers and policies may try: named errors, and nothing half-changed."""

import json
import math
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from infex import (
    Bandit,
    Choice,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    always,
    every,
    features,
    from_record,
    guarded,
    jittered,
    paused,
    to_record,
)
from infex.bandit import archive
from infex.errors import CannotLoad, DamagedFile, InvalidChoice, InvalidRecord, InvalidRound, InvalidSetting
from infex.models import Posterior
from infex.policies import Control, ExploreThenCommit, LassoBandit, OLSBandit, Uniform
from infex.policies.choice import ScheduleStatus
from infex.policies.controls import State
from tests.alike import probability
from tests.bandit.test_replay import state
from tests.waiting import PATIENCE

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def told(bandit: Bandit, rounds: int) -> Bandit:
    for _ in range(rounds):
        decision = bandit.ask()
        bandit.tell(decision, math.sin(3.0 * decision.t + decision.arm))
    return bandit


class Careful:
    """An epsilon-greedy of a user's that says itself when it explores, and how likely."""

    uses_explored = True

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        tries = bool(rng.random() < 0.25)
        arm = int(rng.integers(len(posterior))) if tries else posterior.greedy
        return Choice(
            arm,
            tries,
            propensity=self.propensity(t, posterior, arm),
            explore_probability=0.25,
            base_propensity=1 / len(posterior),
        )

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        return 0.25 / len(posterior) + 0.75 * (arm == posterior.greedy)


@pytest.mark.parametrize("schedule", [every(1), every(2), jittered(3, seed=1), jittered(2)], ids=repr)
@pytest.mark.parametrize(
    "base",
    [
        ExploreThenCommit(then="commit", rounds=9),
        ExploreThenCommit(then="commit", rounds=9, order="robin"),
        LassoBandit(q=2),
        OLSBandit(scale=2),
        Infex(Uniform(), jittered(4), data="own"),
        Infex(LinUCB(), every(3), data="own"),
        Careful(),
    ],
    ids=repr,
)
def test_bases_that_say_when_they_explore_have_the_probabilities_that_they_tell(
    base: Any, schedule: Any
) -> None:
    policy = Infex(base, schedule)
    bandit = Bandit(ARMS, policy, seed=3)
    for t in range(1, 60):
        posterior = bandit.posterior()
        known = probability(policy, t, posterior, 0), probability(policy, t, posterior, 1)
        decision = bandit.ask()
        expected = probability(policy, t, posterior, decision.arm)
        if expected is not None and decision.propensity is not None:
            assert decision.propensity == pytest.approx(expected)
            assert all(share is not None for share in known)
        if (
            decision.explored
            and decision.explore_probability is not None
            and decision.base_propensity is not None
        ):
            assert decision.propensity is not None
            assert decision.explore_probability * decision.base_propensity <= decision.propensity + 1e-12
        if isinstance(base, Careful) and schedule == every(1):
            greedy = decision.arm == decision.greedy
            figures = (decision.explore_probability, decision.base_propensity, decision.propensity)
            assert figures == pytest.approx((0.25, 1 / 3, 0.25 / 3 + 0.75 * greedy))
        bandit.tell(decision, math.sin(3.0 * t + decision.arm))


def test_under_a_guard_of_drawn_rounds_no_row_of_a_log_states_what_others_leave_out() -> None:
    """Exploring rounds stated their chance and the others did not: weights of the former alone are biased."""
    bandit = Bandit(ARMS, Infex(LinUCB(), guarded(jittered(3, seed=1), 100.0)))
    for _ in range(30):
        decision = bandit.ask()
        if decision.explore_probability != 0.0:  # the block has not explored yet
            assert (decision.propensity, decision.explore_probability, decision.base_propensity) == (
                None,
                None,
                None,
            )
        bandit.tell(decision, 0.5)
    assert bandit.explored == 10


def test_numbers_that_were_handed_out_stay() -> None:
    bandit = told(Bandit(ARMS, Infex(LinUCB(), every(2), data="own")), 8)
    kept = bandit.posterior().estimates, bandit.posterior().sums, bandit.posterior().explored.estimates
    before = [array.copy() for array in kept]
    for _ in range(6):
        bandit.tell(bandit.ask(allowed=[True] * 3), 1.0)
    for array, then in zip(kept, before, strict=True):
        np.testing.assert_array_equal(array, then)


def test_masks_and_notes_that_were_handed_out_cannot_be_written_to() -> None:
    bandit = Bandit(ARMS, Uniform(), allowed=[True, False, True])
    for mask in (bandit.posterior().allowed, bandit.allowed):
        assert mask is not None
        with pytest.raises(ValueError, match="read-only"):
            mask[:] = True

    class Remembering:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice((posterior.policy_state or [0])[0], policy_state=kept)

    kept = [1]
    other = Bandit(ARMS, Remembering())
    other.ask()
    kept[0] = 2
    other.posterior().policy_state[0] = 2
    assert other.ask().arm == 1


@pytest.mark.parametrize("on", [7, 99_999_999, -1, [0.1], [1e9, 0.0], [math.nan, 0.0], "a", None])
def test_what_a_journal_says_to_learn_on_is_checked(on: Any) -> None:
    """It read foreign memory, and counted pulls of the last arm."""
    bandit = told(Bandit(ARMS, Infex(LinUCB(), every(2))), 5)
    before = state(bandit)
    kept = json.loads(json.dumps(to_record(bandit.decide())))
    kept["on"] = on
    with pytest.raises((InvalidChoice, InvalidRecord, DamagedFile)):
        bandit.enter(from_record(kept))
    assert state(bandit) == before


def test_what_was_decided_before_arms_or_the_policy_changed_is_not_entered() -> None:
    """The reward was learnt on another arm, or another policy's note was entered."""
    for change in (
        lambda bandit: bandit.remove_arms("a"),
        lambda bandit: bandit.add_arms([[0.1, 0.2]], labels=["d"]),
        lambda bandit: setattr(bandit, "policy", LinTS()),
    ):
        bandit = told(Bandit(ARMS, Infex(LinUCB(), guarded(every(2), 1.0)), labels=["a", "b", "c"]), 5)
        decided = bandit.decide()
        change(bandit)
        with pytest.raises(InvalidRound, match=r"arms or the policy have changed since .* decide anew"):
            bandit.enter(decided)
        bandit.enter(bandit.decide())
        told(bandit, 3)


def test_what_is_entered_is_a_copy() -> None:
    bandit = Bandit(dim=2, policy=LinUCB())
    decided = bandit.decide(ARMS)
    bandit.enter(decided)
    assert isinstance(decided.on, np.ndarray)
    decided.on[:] = 0.0
    bandit.tell(decided.decision.id, 1.0)
    assert bandit.estimates(ARMS).estimate.max() > 0


def test_own_ids_are_own_ids_after_a_replay_too() -> None:
    bandit = Bandit(ARMS, LinUCB())
    bandit.enter(from_record(json.loads(json.dumps(to_record(bandit.decide(id="order-123"))))))
    assert bandit.ask(id="order-124").id == "order-124"


class Left(NamedTuple):
    explorations: int


@dataclass(frozen=True)
class AtMost(Control):
    """A limit of a user's own, with a state that has a name."""

    schedule: Any
    limit: int = 3

    def initial_state(self) -> State:
        return Left(self.limit)

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return None if state.explorations > 0 else "enough"  # type: ignore[attr-defined]

    def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
        return Left(state.explorations - 1)  # type: ignore[attr-defined]


def test_the_limit_of_a_users_control_goes_on_after_loading_and_in_a_replay(tmp_path: Path) -> None:
    policy = Infex(LinUCB(), AtMost(every(1)))
    bandit = told(Bandit(ARMS, policy), 10)
    bandit.save(tmp_path / "x.infex")
    loaded = told(Bandit.load(tmp_path / "x.infex", policy), 10)
    assert (bandit.explored, loaded.explored) == (3, 3)
    again = Bandit(ARMS, policy)
    for _ in range(10):
        again.enter(from_record(json.loads(json.dumps(to_record(again.decide())))))
    assert again.explored == 3


def test_a_named_tuple_of_a_users_is_no_note_as_a_file_could_not_give_it_back() -> None:
    class Noting:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0, policy_state=Left(3))

    with pytest.raises(InvalidChoice, match="got a Left"):
        Bandit(ARMS, Noting()).ask()


@pytest.mark.parametrize("arms", [1, 9, 2000, 10**12])
def test_a_file_whose_map_is_not_that_of_what_was_learnt_is_refused(tmp_path: Path, arms: int) -> None:
    path = tmp_path / "x.infex"
    Bandit(features=features.disjoint(2, 1), policy=LinUCB()).save(path)
    stored, arrays = archive.read(path)
    stored["features"]["arms"] = arms
    archive.write(path, stored, arrays)
    with pytest.raises(DamagedFile, match="its map has"):
        Bandit.load(path)


def test_what_is_owed_is_not_made_up_for_by_a_schedule_inside_another() -> None:
    inner = Infex(LinUCB(), every(1000))
    policy = Infex(inner, paused(every(1), when=lambda t: t <= 5, missed="make up"))
    bandit = told(Bandit(ARMS, policy), 12)
    assert bandit.exploration().different == 0  # the inner one is greedy before round 1000
    with pytest.raises(InvalidSetting, match="only the outermost schedule can make up for rounds"):
        Infex(Infex(LinUCB(), paused(every(2), when=lambda t: False, missed="make up")), always())


@pytest.mark.parametrize("base", [Infex(LinUCB(), every(5)), ExploreThenCommit(rounds=6, then="commit")])
def test_a_base_that_says_when_it_explores_cannot_be_softened(base: Any) -> None:
    with pytest.raises(InvalidSetting, match="cannot be softened"):
        Softened(base, 0.01)


def test_a_schedule_that_gives_no_plain_truth_can_be_saved(tmp_path: Path) -> None:
    class Odd:
        def explores(self, t: int) -> Any:
            return np.bool_(t % 2 == 1) if t < 10 else t % 2

    bandit = told(Bandit(ARMS, Infex(LinUCB(), Odd())), 19)
    bandit.ask()
    bandit.save(tmp_path / "x.infex")
    assert Bandit.load(tmp_path / "x.infex", Infex(LinUCB(), Odd())).explored == 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"schedule_status": ScheduleStatus.MADE_UP},
            "no exploration is owed that a Choice could make up for",
        ),
        (
            {"schedule_status": ScheduleStatus.REST},
            "a Choice with explored=True cannot have the schedule_status",
        ),
        (
            {"schedule_status": ScheduleStatus.DUE, "explored": False},
            "a Choice with explored=False cannot have the schedule_status",
        ),
        ({"schedule_status": "rest"}, "schedule_status of a Choice must be a ScheduleStatus, got 'rest'"),
        ({"policy_state": 10**5000}, "must be below 10\\^100"),
    ],
)
def test_turns_and_huge_notes_are_refused(wrong: Any, message: str) -> None:
    class Odd:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0, **wrong)

    with pytest.raises(InvalidChoice, match=message):
        Bandit(ARMS, Odd()).ask()


def test_a_radius_that_is_no_number_is_refused() -> None:
    class Odd:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0)

        def confidence_radius(self, posterior: Posterior) -> float:
            return math.nan

    with pytest.raises(InvalidChoice, match="radius of the policy must be a number from 0, got nan"):
        Bandit(ARMS, Odd()).ask()


def test_a_chance_that_is_none_is_refused() -> None:
    class Odd:
        grows = True

        def explores(self, t: int) -> bool:
            return False

        def count(self, t: int) -> int:
            return 0

        def when(self, n: int) -> float:
            return math.inf

        def explore_probability(self, t: int) -> float:
            return 3.0

    with pytest.raises(InvalidSetting, match=r"explore_probability of round 1 must be at most 1, got 3\.0"):
        Bandit(ARMS, Infex(LinUCB(), every(2) | Odd())).ask()


def test_arms_are_refused_by_whatever_control_says_so() -> None:
    class Never(AtMost):
        def refuses(self, t: int, arm: int, posterior: Posterior, state: State) -> str | None:
            return "no"

    assert told(Bandit(ARMS, Infex(LinUCB(), Never(every(1)))), 5).explored == 0


def test_without_a_schedule_nothing_is_planned() -> None:
    bandit = told(Bandit(ARMS, LinUCB(), allowed=[False] * 3), 3)
    assert bandit.exploration()[:6] == (None, 0, 0, 0, 0, 0)


def _ask(bandit: Bandit) -> None:
    bandit.policy = LinUCB()
    bandit.ask()


@pytest.mark.parametrize(
    "meddle",
    [
        _ask,
        lambda bandit: bandit.remove_arms([0, 1]),
        lambda bandit: bandit.tell(bandit.pending[0], 1.0),
        lambda bandit: setattr(bandit, "policy", Infex(LinUCB(), guarded(every(2), 3.0))),
        lambda bandit: setattr(bandit, "allowed", [False, True, True]),
    ],
    ids=["ask", "remove", "tell", "policy", "allowed"],
)
def test_a_policy_that_changes_its_own_bandit_is_refused(meddle: Any) -> None:
    """Its arm may be gone: a reward was then learnt on foreign memory."""

    class Meddler:
        bandit: Any = None

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            if t == 4:
                meddle(Meddler.bandit)
            return Choice(len(posterior) - 1)

    Meddler.bandit = bandit = Bandit(ARMS, Meddler())
    told(bandit, 2)
    bandit.ask()
    with pytest.raises(InvalidChoice, match="the policy changed its own bandit while it chose in round 4"):
        bandit.ask()
    assert all(0 <= decision.arm < len(ARMS) for decision in bandit.pending)
    Meddler.bandit.policy = LinUCB()
    bandit.tell(bandit.ask(), 1.0)


def test_an_arm_that_was_forbidden_meanwhile_is_not_entered() -> None:
    bandit = Bandit(ARMS, LinUCB())
    decided = bandit.decide()
    bandit.allowed = [arm != decided.decision.arm for arm in range(len(ARMS))]
    with pytest.raises(InvalidRound, match="have changed since"):
        bandit.enter(decided)
    other = bandit.decide()
    wrong = other._replace(decision=other.decision._replace(arm=(other.decision.arm + 1) % len(ARMS)))
    with pytest.raises(InvalidChoice, match="cannot be learnt on arm"):
        bandit.enter(wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_holds_the_lock_does_not_hang() -> None:
    bandit = Bandit(ARMS, LinUCB())
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with bandit._lock:
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if bandit._lock.acquire(timeout=PATIENCE) and bandit.ask() else 1)
    _, status = os.waitpid(child, 0)
    free.set()
    thread.join()
    assert status == 0


def test_digits_of_other_scripts_are_no_numbers() -> None:
    with pytest.raises(KeyError, match="no decision"):
        Bandit(ARMS, LinUCB()).tell("abc-²", 1.0)


class Mine:
    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(posterior.greedy)


def test_what_differs_from_a_file_with_a_users_code_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    Bandit(ARMS, Infex(Mine(), every(50))).save(path)
    with pytest.raises(CannotLoad, match="holds another policy: m is 50, not 1; say adopt=True"):
        Bandit.load(path, Infex(Mine(), every(1)))
    with pytest.raises(CannotLoad, match=r"another policy: Infex\(Mine, every\), not LinTS"):
        Bandit.load(path, LinTS())
    assert Bandit.load(path, LinTS(), adopt=True).t == 0
    assert Bandit.load(path, Infex(Mine(), every(50))).t == 0


def test_a_map_of_a_users_with_other_arms_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"

    def rows(context: Any, arm: Any) -> list[float]:
        return [0.5, len(arm) / 10]

    Bandit(features=features.joined(rows, ["a", "bb"], 2), policy=LinUCB()).save(path)
    with pytest.raises(
        CannotLoad, match=r"another feature map: labels is \['a', 'bb'\], not \['a', 'bb', 'c'\]"
    ):
        Bandit.load(path, features=features.joined(rows, ["a", "bb", "c"], 2))
    with pytest.raises(CannotLoad, match="holds another feature map"):
        Bandit.load(path, features=features.joined(rows, ["bb", "a"], 2))
    assert Bandit.load(path, features=features.joined(rows, ["a", "bb"], 2)).t == 0
