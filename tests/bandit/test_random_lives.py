"""Bandits with contexts through random lives, against dense ridges that are computed from all that was told.

Arms and features come and go, some arms are not on offer, rewards come late, in batches and from logs, and
now and then the bandit goes on as a copy or from a file. The dense side knows nothing of blocks: it has a
column for each parameter, by name.

On the way `ask_many` is held against single asks, `ask` against `decide` and `enter`, and a copy or a file
against what it was made of; and at the end all that happened is replayed from plain records.
"""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, features, from_record, to_record
from infex.policies import FixedBonusUCB

pytestmark = pytest.mark.filterwarnings("ignore::infex.errors.InfexWarning")
KINDS = ["disjoint", "disjoint vectors", "interactions", "hybrid"]
LIVES, EVENTS = 6, 60
PENALTY = 0.7
OWN = ["intercept", "age"]  # of a hybrid map
RANGES = {"age": (18.0, 90.0), "visits": (0.0, 10.0), "spent": (0.0, 500.0)}
LONGEST = 2.0  # of plain vectors

Row = dict[Any, float]
"""What an arm in a context looks like: numbers by the names of their parameters."""


@dataclass
class Told:
    """A reward, and what it was learnt on."""

    row: Row
    reward: float
    weight: float
    arm: tuple[str, int]  # a label, and the how-many-th arm that has it


@dataclass
class Life:
    """A bandit, and by hand all that it should know."""

    kind: str
    rng: np.random.Generator
    bandit: Bandit
    arms: dict[str, tuple[int, Any]] = field(
        default_factory=dict
    )  # the times that a label came, and features
    numbers: list[str] = field(default_factory=lambda: ["age"])
    countries: list[str] = field(default_factory=lambda: ["FR", "DE"])
    size: int = 3  # of plain vectors
    came: int = 0
    told: list[Told] = field(default_factory=list)
    waiting: list[tuple[Any, Row, tuple[str, int]]] = field(default_factory=list)
    journal: list[tuple[str, Any, Any]] = field(default_factory=list)  # a method, its arguments

    def do(self, method: str, *given: Any, **more: Any) -> None:
        """Calls a method of the bandit, and writes that down."""
        self.journal.append((method, given, more))
        getattr(self.bandit, method)(*given, **more)

    def write(self, decided: Any) -> None:
        """Writes a decision down, as plain data."""
        self.journal.append(("enter", json.dumps(to_record(decided), allow_nan=False), None))

    def replayed(self, fresh: Bandit) -> Bandit:
        """A new bandit to which the same has happened."""
        for method, given, more in self.journal:
            if method == "enter":
                fresh.enter(from_record(json.loads(given)))
            else:
                getattr(fresh, method)(*given, **more)
        return fresh

    def context(self) -> Any:
        """Somebody: now and then with an age that is missing or beyond its range, or too long a vector."""
        if self.kind == "disjoint vectors":
            return self.rng.normal(size=self.size) * self.rng.choice([0.3, 3.0])
        who: dict[str, Any] = {
            name: float(self.rng.uniform(low - 5.0, high + 5.0))
            for name, (low, high) in RANGES.items()
            if name in self.numbers
        }
        if self.rng.random() < 0.2:
            who["age"] = None
        return who | {"country": str(self.rng.choice([*self.countries, "elsewhere"]))}

    def encoded(self, context: Any) -> Row:
        """A context as named numbers, from what the docs say of tables, and of vectors that are shortened."""
        if self.kind == "disjoint vectors":
            short = context * min(1.0, LONGEST / float(np.linalg.norm(context)))
            return {f"x{place}": value for place, value in enumerate(short.tolist())}
        row = {"intercept": 1.0}
        for name in self.numbers:
            low, high = RANGES[name]
            missing = context[name] is None
            inside = 0.0 if missing else float(np.clip(context[name], low, high))
            row[name] = 0.0 if missing else 2.0 * (inside - low) / (high - low) - 1.0
            row[f"{name} missing"] = float(missing)
        return row | {f"country={name}": float(name == context["country"]) for name in self.countries}

    def row(self, label: str, context: Any) -> Row:
        """An arm in a context: its own parameters, shared ones, or both."""
        came, looks = self.arms[label]
        known = self.encoded(context) | self._unseen(context)
        own = {(label, came, name): value for name, value in known.items()}
        if self.kind.startswith("disjoint"):
            return own
        shared = {(place, name): a * value for place, a in enumerate(looks) for name, value in known.items()}
        return shared if self.kind == "interactions" else shared | {
            key: value for key, value in own.items() if key[2] in OWN
        }  # fmt: skip

    def _unseen(self, context: Any) -> Row:
        if self.kind == "disjoint vectors":
            return {}
        return {"country unseen": float(context["country"] not in self.countries)}

    def check(self) -> None:
        """Estimates, widths and pulls are those of the dense ridge."""
        context = self.context()
        rows = [self.row(label, context) for label in self.arms]
        names = list(
            dict.fromkeys(name for row in [*rows, *(told.row for told in self.told)] for name in row)
        )
        told, weights = _dense([told.row for told in self.told], names), self._weights()
        inverse = np.linalg.inv(PENALTY * np.eye(len(names)) + (told.T * weights) @ told)
        theta = inverse @ (told.T @ (weights * np.array([each.reward for each in self.told])))
        asked, posterior = _dense(rows, names), self.bandit.posterior(context=context)
        np.testing.assert_allclose(posterior.estimates, asked @ theta, rtol=1e-8, atol=1e-8)
        widths = np.sqrt(np.einsum("ij,jk,ik->i", asked, inverse, asked))
        np.testing.assert_allclose(posterior.widths, widths, rtol=1e-8, atol=1e-10)
        assert self.bandit.labels == tuple(self.arms)
        assert self.bandit.pulls is not None
        here = [(label, came) for label, (came, _) in self.arms.items()]
        assert self.bandit.pulls.tolist() == [sum(each.arm == arm for each in self.told) for arm in here]
        assert len(self.bandit.pending) == len(self.waiting)

    def _weights(self) -> Any:
        return np.array([each.weight for each in self.told])

    def await_reward(self, decision: Any, context: Any) -> None:
        label = str(decision.label)
        self.waiting.append((decision, self.row(label, context), (label, self.arms[label][0])))

    def learn(self, row: Row, arm: tuple[str, int], reward: float, weight: float = 1.0) -> None:
        """Takes a reward in, unless its arm had a regression of its own that is gone."""
        stands = arm[0] in self.arms and self.arms[arm[0]][0] == arm[1]
        if stands or self.kind == "interactions":
            self.told.append(Told(row, reward, weight, arm))


def _dense(rows: list[Row], names: list[Any]) -> Any:
    return np.array([[row.get(name, 0.0) for name in names] for row in rows]).reshape(len(rows), len(names))


def ask(life: Life) -> None:
    """One decision; now and then with a reward at once, and among some arms alone."""
    context, offered = life.context(), None
    if life.rng.random() < 0.3:
        offered = [str(label) for label in life.rng.permutation(list(life.arms))[: life.rng.integers(1, 4)]]
    request: Any = {"context": context, "offered": offered, "explore": bool(life.rng.random() < 0.8)}
    before, decided, other = life.bandit.digest(), life.bandit.decide(**request), copy.deepcopy(life.bandit)
    assert life.bandit.digest() == before
    decision = life.bandit.ask(**request)
    assert other.enter(decided) == decision
    assert other.digest() == life.bandit.digest()
    life.write(decided)
    assert offered is None or decision.label in offered
    life.await_reward(decision, context)


def ask_many(life: Life) -> None:
    """Several decisions at once, which are those of single requests."""
    contexts = [life.context() for _ in range(int(life.rng.integers(0, 9)))]
    ids = [f"request {life.bandit.t + place}" for place in range(len(contexts))]
    single = copy.deepcopy(life.bandit)
    decisions = life.bandit.ask_many(contexts, ids=ids)
    for decision, context in zip(decisions, contexts, strict=True):
        life.write(single.decide(context=context, id=decision.id))
        assert single.ask(context=context, id=decision.id) == decision
        life.await_reward(decision, context)
    assert single.digest() == life.bandit.digest()


def tell(life: Life) -> None:
    """One of those that wait, or several at once."""
    count = min(int(life.rng.integers(1, 6)), len(life.waiting))
    chosen = [life.waiting.pop(int(life.rng.integers(len(life.waiting)))) for _ in range(count)]
    rewards, weights = life.rng.normal(size=count).tolist(), life.rng.choice([0.5, 1.0, 3.0], count).tolist()
    if count == 1:
        life.do("tell", chosen[0][0], rewards[0], weight=weights[0])
    elif count:
        life.do("tell_many", [decision.id for decision, *_ in chosen], rewards, weights)
    for (_, row, arm), reward, weight in zip(chosen, rewards, weights, strict=True):
        life.learn(row, arm, reward, weight)


def drop(life: Life) -> None:
    if life.waiting:
        life.do("drop", life.waiting.pop(0)[0].id)


def learn(life: Life) -> None:
    """Rows of a log."""
    count = int(life.rng.integers(0, 7))
    contexts, rewards = [life.context() for _ in range(count)], life.rng.normal(size=count).tolist()
    labels = [str(label) for label in life.rng.choice(list(life.arms), count)]
    life.do("learn", contexts, labels, rewards)
    for context, label, reward in zip(contexts, labels, rewards, strict=True):
        life.learn(life.row(label, context), (label, life.arms[label][0]), reward)


def add(life: Life) -> None:
    """An arm that is new, or has been here before."""
    label, looks = f"arm {life.rng.integers(9)}", life.rng.uniform(-0.7, 0.7, 2)
    if label in life.arms:
        return
    life.came += 1
    life.arms[label] = life.came, looks
    if life.kind.startswith("disjoint"):
        life.do("add_arms", [label])
    else:
        life.do("add_arms", [looks], [label])


def remove(life: Life) -> None:
    """What was learnt of its own parameters goes with an arm; what it told of shared ones stays."""
    if len(life.arms) > 1:
        label = str(life.rng.choice(list(life.arms)))
        del life.arms[label]
        life.do("remove_arms", [label])


def extend(life: Life) -> None:
    """Another feature, which was 0 before."""
    if life.kind == "disjoint vectors":
        life.do("extend", 1)
        life.size += 1
        return
    if more := [name for name in RANGES if name not in life.numbers]:
        life.numbers.append(more[0])
        life.do("extend", numbers={more[0]: RANGES[more[0]]})
    elif len(life.countries) < 4:
        life.countries.append("IT" if "IT" not in life.countries else "ES")
        life.do("extend", categories={"country": [life.countries[-1]]})


def copied(life: Life) -> None:
    """The life goes on in a copy."""
    before, life.bandit = life.bandit.digest(), copy.deepcopy(life.bandit)
    assert life.bandit.digest() == before


def reloaded(life: Life, path: Path) -> None:
    """The life goes on from a file; what it was saved from would go on alike."""
    saved, context = life.bandit, life.context()
    saved.save(path)
    life.bandit = Bandit.load(path)
    assert life.bandit.digest() == saved.digest()
    for each in (saved, other := Bandit.load(path)):
        for place in range(3):
            each.tell(each.ask(context=context, id=f"next {place}"), 0.5)
    assert other.digest() == saved.digest()


def begun(kind: str, seed: int) -> Life:
    rng = np.random.default_rng(seed)
    people = features.table(
        {"age": RANGES["age"]}, {"country": ["FR", "DE"]}, missing="flag", unseen="flag", beyond="clip"
    )
    labels, looks = ["arm 0", "arm 1", "arm 2"], rng.uniform(-0.7, 0.7, (3, 2))
    maps: dict[str, Any] = {
        "disjoint": lambda: features.disjoint(labels, context=people),
        "disjoint vectors": lambda: features.disjoint(labels, 3, longest=LONGEST, beyond="clip"),
        "interactions": lambda: features.interactions(looks, labels=labels, context=people),
        "hybrid": lambda: features.hybrid(
            features.interactions(looks, labels=labels, context=people), own=OWN
        ),
    }
    policies = [Greedy(), LinUCB(), FixedBonusUCB(), Infex(LinUCB(), every(3)), Infex(LinTS(), every(2))]
    bandit = Bandit(features=maps[kind](), policy=policies[seed % len(policies)], penalty=PENALTY, seed=seed)
    return Life(kind, rng, bandit, {label: (0, row) for label, row in zip(labels, looks, strict=True)})


@pytest.mark.parametrize("seed", range(LIVES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_random_life_ends_with_dense_ridges(kind: str, seed: int, tmp_path: Path) -> None:
    life = begun(kind, seed)
    events = [ask, ask, ask_many, tell, tell, tell, learn, drop, add, remove, extend, copied]
    for _ in range(EVENTS):
        event = int(life.rng.integers(len(events) + 1))
        if event < len(events):
            events[event](life)
        else:
            reloaded(life, tmp_path / "life.infex")
        life.check()
    again = life.replayed(begun(kind, seed).bandit)
    assert again.digest() == life.bandit.digest()
    context = life.context()
    for place in range(5):
        key = f"after {place}"
        assert again.ask(context=context, id=key) == life.bandit.ask(context=context, id=key)
