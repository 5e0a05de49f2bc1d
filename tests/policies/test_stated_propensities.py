"""Propensities are stated in all rows of a log or in none, and never of scores that are no numbers."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Choice, EpsilonGreedy, Greedy, Infex, LinTS, LinUCB, Softened, every, jittered
from infex.errors import InvalidChoice
from infex.models import Posterior
from infex.policies import AgnosticLassoBandit, OLSBandit, Uniform
from infex.policies.choice import best_arms, first_best, pick, pick_propensity

HUGE: dict[str, float] = {"scale": 1e200, "noise": 1e200}


@pytest.mark.filterwarnings("ignore:.*(overflow|invalid value).*:RuntimeWarning")
@pytest.mark.parametrize(
    "policy",
    [
        LinTS(draws=50, **HUGE),
        LinTS(draws=50, ties="random", **HUGE),
        LinTS(**HUGE),
        LinTS(ties="random", **HUGE),
        Softened(LinTS(**HUGE), 0.1),
        Softened(LinTS(ties="random", **HUGE), 0.1),
    ],
    ids=repr,
)
def test_where_no_score_is_a_number_nothing_is_played(policy: Any) -> None:
    """The last arm was played, with probability 1."""
    bandit = Bandit(np.eye(3), policy)
    with pytest.raises(InvalidChoice, match="no arm has a finite score"):
        bandit.ask()
    assert bandit.t == 0


@pytest.mark.compiled  # in plain Python `max` has another word for what is no number
@pytest.mark.parametrize("ties", ["lowest", "random"])
def test_scores_that_are_no_numbers_are_refused_and_others_are_not(ties: Any) -> None:
    nothing, some = np.full(9, np.nan), np.array([0.5, 1.0, 1.0, -np.inf])
    rng = np.random.default_rng(0)
    for ask in (
        first_best,
        best_arms,
        lambda scores: pick(scores, ties, rng),
        lambda scores: pick_propensity(scores, ties, 0),
    ):
        for scores in (nothing, np.array([0.5, 1.0, np.nan])):
            with pytest.raises(InvalidChoice, match="no arm has a finite score"):
                ask(scores)
    assert (first_best(some), best_arms(some)) == (1, [1, 2])
    assert pick(some, ties, rng)[0] in (1, 2)
    assert pick_propensity(some, ties, 1) == (1.0 if ties == "lowest" else 0.5)


class Hooked:
    """Tells its law by the hook alone."""

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(int(rng.integers(2)))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        return 0.5 * (arm < 2)


class Saying:
    """Says the probability of what it chose, and has no hook for what it did not."""

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(int(rng.integers(2)), propensity=0.5)


class Telling(Saying):
    """Says itself when it explores, and how likely."""

    uses_explored = True

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        tries = rng.random() < 0.5
        arm = int(rng.integers(3)) if tries else posterior.greedy
        probability = 1 / 6 + 0.5 * (arm == posterior.greedy)
        return Choice(
            arm, bool(tries), propensity=probability, explore_probability=0.5, base_propensity=1 / 3
        )


BASES = [
    OLSBandit(scale=2.0),
    OLSBandit(rule="blocks", scale=1.0),
    Infex(LinUCB(), every(2), data="own"),
    Infex(LinUCB(), every(2)),
    LinUCB(),
    LinTS(),
    LinTS(draws=20),
    Uniform(),
    EpsilonGreedy(),
    Greedy(ties="random"),
    AgnosticLassoBandit(),
    Softened(LinUCB(), 0.3),
    Hooked(),
    Saying(),
    Telling(),
]
Stated = tuple[bool, bool]
Group = dict[tuple[Any, ...], list[tuple[Stated, Any]]]


def grouped(base: Any, seeds: int) -> Group:
    """What each of the first rounds stated, by all that was known before its draws."""
    found: Group = defaultdict(list)
    for seed in range(seeds):
        bandit = Bandit(np.eye(3), Infex(base, jittered(3, seed=seed)), seed=seed)
        past: tuple[Any, ...] = ()
        for _ in range(3):
            row = bandit.ask()
            found[past].append(((row.propensity is None, row.explore_probability is None), row))
            past = (*past, row.arm, row.explored, row.reason)
            bandit.tell(row, 0.1 * row.arm)
    return found


@pytest.mark.parametrize("base", BASES, ids=lambda base: repr(base)[:40])
def test_what_a_log_states_it_states_whatever_was_drawn(base: Any) -> None:
    """Chances stood in exploring rounds alone: weights of the rows that have one are then biased."""
    groups = grouped(base, 150)
    for rows in groups.values():
        assert len({stated for stated, _ in rows}) == 1
    first = [row for _, row in groups[()]]
    if first[0].explore_probability is not None:
        played = sum(row.explored for row in first) / len(first)
        assert played == pytest.approx(sum(row.explore_probability for row in first) / len(first), abs=0.15)
    if first[0].propensity is not None:
        for arm in range(3):
            chances = {round(row.propensity, 9) for row in first if row.arm == arm}
            assert len(chances) <= 1
            expected = chances.pop() if chances else 0.0
            played = sum(row.arm == arm for row in first) / len(first)
            assert played == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize("base", [Hooked(), Saying(), LinUCB(), Uniform(), LinTS()], ids=repr)
def test_softened_states_the_law_of_all_arms_or_of_none(base: Any) -> None:
    """It was None just where the base's own arm was played, or stated just there."""
    bandit = Bandit(np.eye(3), Infex(Softened(base, 0.3), every(1)))
    rows = [bandit.ask() for _ in range(60)]
    assert {row.base_propensity is None for row in rows} == {isinstance(base, Saying)}
    assert all(row.base_propensity == row.propensity for row in rows)
    if isinstance(base, Hooked):
        assert {(row.arm, round(row.base_propensity, 9)) for row in rows} == {(0, 0.45), (1, 0.45), (2, 0.1)}
