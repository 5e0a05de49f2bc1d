"""A journal of one's own: what was decided as plain data, entered again, and compared by one text."""

import copy
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import (
    Bandit,
    Choice,
    Infex,
    LinTS,
    LinUCB,
    Schedule,
    Softened,
    budget,
    every,
    from_record,
    jittered,
    listed,
    to_record,
)
from infex.errors import (
    CannotLoad,
    InvalidChoice,
    InvalidRecord,
    InvalidRound,
    InvalidSetting,
    UnknownDecision,
)
from infex.models import Posterior
from infex.policies import Control

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.5]])


@dataclass(frozen=True)
class Decaying:
    """A policy of a user's with a setting."""

    rate: float = 50.0

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(int(rng.integers(len(posterior))) if t < self.rate else posterior.greedy)


@dataclass(frozen=True)
class NotSeventh(Control):
    """A control of a user's around a schedule."""

    schedule: Schedule | Control

    def objects(self, t: int, posterior: Posterior, state: Any) -> str | None:
        return "a seventh" if t % 7 == 0 else None


@dataclass(frozen=True)
class Silent(Control):
    """A control that forgets to say why."""

    schedule: Schedule | Control

    def objects(self, t: int, posterior: Posterior, state: Any) -> Any:
        return t % 2 == 0


OWN = Infex(Decaying(50.0), NotSeventh(every(5)))
SOFTENED = Infex(Softened(LinTS(), 0.2), budget(jittered(5, seed=2), 3, window=30))
POLICIES: list[Any] = [OWN, SOFTENED, LinUCB()]


def kept(thing: Any) -> Any:
    return json.loads(json.dumps(thing))


@pytest.mark.parametrize("policy", POLICIES, ids=["own", "softened", "LinUCB"])
def test_a_journal_gives_the_same_bandit(policy: Any) -> None:
    rng = np.random.default_rng(1)
    live, journal = Bandit(ARMS, policy, seed=3), []
    for order in range(60):
        decided = live.decide(id=f"order-{order}" if order % 2 else None)
        journal.append(("entered", kept(to_record(decided))))
        live.enter(decided)
        for pending in live.pending:
            if rng.random() < 0.5:
                journal.append(("told", (pending.id, float(rng.normal()))))
                live.tell(pending.id, journal[-1][1][1])
    again = Bandit(ARMS, policy, seed=3)
    for what, entry in journal:
        if what == "entered":
            again.enter(from_record(entry))
        else:
            again.tell(*entry)
    assert again.digest() == live.digest()
    assert again.posterior().theta.tobytes() == live.posterior().theta.tobytes()


def test_a_digest_tells_every_difference(tmp_path: Path) -> None:
    bandit = Bandit(ARMS, OWN, seed=3)
    first = bandit.digest()
    assert bandit.digest() == first == Bandit(ARMS, OWN, seed=3).digest() == copy.deepcopy(bandit).digest()
    others = [
        Bandit(ARMS, OWN, seed=4),
        Bandit(ARMS[:2], OWN, seed=3),
        Bandit(ARMS, replace(OWN, base=Decaying(10.0)), seed=3),
        Bandit(ARMS, OWN, seed=3, penalty=2.0),
        Bandit(ARMS, OWN, seed=3, allowed=[True, True, False]),
    ]
    assert len({first, *(other.digest() for other in others)}) == 6
    decision = bandit.ask()
    asked = bandit.digest()
    bandit.tell(decision, 0.5)
    assert len({first, asked, bandit.digest()}) == 3
    bandit.ask(id="mine")
    bandit.save(tmp_path / "kept.infex")
    assert Bandit.load(tmp_path / "kept.infex", OWN).digest() == bandit.digest()


def test_what_was_decided_elsewhere_is_refused() -> None:
    bandit = Bandit(ARMS, LinUCB())
    with pytest.raises(InvalidRound, match="decided among other arms"):
        bandit.enter(Bandit(ARMS[[1, 0, 2]], LinUCB()).decide())
    with pytest.raises(InvalidRound, match="decided among other arms"):
        bandit.enter(from_record(kept(to_record(Bandit(0.5 * ARMS, LinUCB()).decide()))))
    with pytest.raises(
        InvalidChoice, match=r"enter takes what `decide` gave, a DecisionRecord; got a Decision"
    ):
        bandit.enter(bandit.decide().decision)
    early = bandit.decide()
    bandit.ask()
    with pytest.raises(InvalidRound, match="was decided as round 1, and round 2 is next"):
        bandit.enter(early)
    assert bandit.t == 1


def test_an_id_that_is_used_again_is_explained() -> None:
    bandit = Bandit(ARMS, LinUCB())
    first = bandit.ask(id="order-1")
    bandit.tell(first, 1.0)
    bandit.ask(id="order-1")
    with pytest.raises(UnknownDecision, match=r"'order-1' is of round 2 .* told already under the same id"):
        bandit.tell(first, 1.0)


def test_load_compares_the_settings_of_ones_own_dataclasses(tmp_path: Path) -> None:
    path = tmp_path / "own.infex"
    Bandit(ARMS, OWN).save(path)
    assert Bandit.load(path, Infex(Decaying(50.0), NotSeventh(every(5)))).t == 0
    for policy, message in [
        (Infex(Decaying(10.0), NotSeventh(every(5))), "another policy: rate is 50.0, not 10.0"),
        (Infex(Decaying(50.0), NotSeventh(every(6))), "another policy: m is 5, not 6"),
        (Infex(Decaying(50.0), NotSeventh(listed([5]))), "another policy: schedule is every.5., not listed"),
        (LinUCB(), r"Infex\(Decaying, NotSeventh\(every\)\), not LinUCB"),
        (None, r"it was Infex\(Decaying, NotSeventh\(every\)\)"),
    ]:
        with pytest.raises(CannotLoad, match=message):
            Bandit.load(path, policy)
    other = Infex(Decaying(10.0), NotSeventh(every(5)))
    assert Bandit.load(path, other, adopt=True).policy == other


def test_policies_that_differ_are_named_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "own.infex"
    Bandit(ARMS, Infex(Softened(LinTS(), 0.1), every(5))).save(path)
    with pytest.raises(CannotLoad, match=r"base is Softened\(LinTS\(delta=0.01\)\), not LinUCB"):
        Bandit.load(path, Infex(LinUCB(), every(5)))


def test_the_next_round_that_is_due_heeds_windows() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), budget(every(20), 3, window=100)))
    rounds = []
    for _ in range(400):
        due, decision = bandit.exploration().next_due, bandit.ask()
        assert decision.explored == (due == decision.t)
        rounds += [decision.t] if decision.explored else []
    assert rounds == [20, 40, 60, 120, 140, 160, 220, 240, 260, 320, 340, 360]
    assert Bandit(ARMS, Infex(LinUCB(), budget(every(20), 0, window=100))).exploration().next_due is None


def test_a_control_that_gives_no_text_is_named() -> None:
    bandit = Bandit(ARMS, Infex(LinUCB(), Silent(every(2))))
    bandit.ask()
    with pytest.raises(InvalidChoice, match=r"Silent.objects must give .* a text, or None; got True"):
        bandit.ask()
    assert bandit.t == 1


def test_a_control_cannot_stand_inside_a_schedule() -> None:
    with pytest.raises(InvalidSetting, match="NotSeventh cannot stand inside a schedule"):
        _ = NotSeventh(every(2)) | every(3)


def test_decisions_are_records_too() -> None:
    decision = Bandit(ARMS, SOFTENED, labels=["a", "b", "c"]).ask()
    assert from_record(kept(to_record(decision))) == decision
    with pytest.raises(InvalidRecord, match="version 9 of Decision is not known"):
        from_record(to_record(decision) | {"version": 9})
    with pytest.raises(InvalidRecord, match="a decision cannot be read"):
        from_record(to_record(decision) | {"arm": -1})
