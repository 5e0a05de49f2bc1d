"""What each way makes of the drawn rounds of a log: a value, and what every draw adds to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting, NoSupport
from infex.evaluation import ways
from infex.evaluation.designs import reached_rounds
from infex.evaluation.groundwork import Groundwork, TargetRounds
from infex.logs.log_sums import spans

WEIGHTED_WAYS = (
    "weights", "ratio", "robust", "blocks", "clipped", "switch", "shrunk", "bent", "tuned", "marginal",
)  # fmt: skip
MODELLED = ("robust", "clipped", "switch", "shrunk", "bent", "tuned")
WAYS = ("best", "model", *WEIGHTED_WAYS)
SETTINGS = {"clipped": 10.0, "switch": 10.0, "shrunk": 100.0, "bent": 0.1}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """`model` plus the mean of `gains`, one for each of `rows` (draws, or blocks); `weight` of draws.

    `reward` and `weight` are of drawn rounds; `taken` are the weights as a way has made them smaller, and
    `setting` is what it was tuned to.
    """

    model: float
    gains: Floats
    rows: Integers
    weight: Floats
    reward: Floats
    setting: float | None = None
    taken: Floats | None = None


def drawn_by(
    way: str, work: Groundwork, rounds: TargetRounds, setting: float | None, seen: Floats | None
) -> Drawn:
    """The draws of a target by one of the weighted ways."""
    if rounds.target.is_logged:
        return observed(work, rounds)
    rows = work.design.rows
    weight, reward = draw_weights(work, rounds), work.log.reward[rows]
    if way == "marginal":
        weight = _marginal(work, rounds, seen)
    if way in ("weights", "marginal"):
        return Drawn(0.0, weight * reward, rows, weight, reward)
    if way == "ratio":
        none = np.zeros(rows.size)
        value = ways.RATIO.estimate(ways.Weighed(weight, reward, none, none)).value
        return Drawn(0.0, value + weight * (reward - value) / weight.mean(), rows, weight, reward)
    if way == "blocks":
        return by_blocks(work, rounds, weight, reward, with_model=True)
    return _with_model(way, work, rounds, setting, weight, reward)


def draw_weights(work: Groundwork, rounds: TargetRounds) -> Floats:
    """The weight of each drawn round: the target's chance of its arm over the log's, times its share."""
    weight, shares = rounds.of_arm[work.design.rows] / work.design.probability, work.design.shares
    return weight if shares is None else weight * shares


def _with_model(
    way: str, work: Groundwork, rounds: TargetRounds, setting: float | None, weight: Floats, reward: Floats
) -> Drawn:
    """The frozen model's value, and residuals of drawn rounds by weights that may be made smaller."""
    rows, model = work.design.rows, frozen_value(work, rounds)
    left = ways.Weighed(weight, reward, np.zeros(rows.size), work.fitted_draws)
    number = SETTINGS.get(way, 0.0) if setting is None else setting
    if way == "tuned":
        place = ways.slope_choice([ways.shrunk(each) for each in ways.GRID], left)
        way, number = "shrunk", ways.GRID[place]
    made: dict[str, Callable[[float], ways.Way]] = {
        "robust": lambda _: ways.WEIGHTS,
        "clipped": ways.clipped,
        "switch": ways.switch,
        "shrunk": ways.shrunk,
        "bent": ways.bent,
    }
    chosen = made[way](number)
    taken = None if way == "robust" else chosen.changed(weight)
    return Drawn(model, chosen.terms(left), rows, weight, reward, number, taken)


def frozen_value(work: Groundwork, rounds: TargetRounds) -> float:
    """The value of a target on the covered rounds, each by the model frozen at its block's start."""
    covered = int(work.design.covered.sum())
    return float(np.einsum("ij,ij->", rounds.blocks, work.thetas)) / covered if covered else float("nan")


def observed(work: Groundwork, rounds: TargetRounds) -> Drawn:
    """What the log itself earned: its rewards or, in blocks, the frozen model's value and residuals."""
    design, log = work.design, work.log
    places = np.flatnonzero(log.rewarded & design.covered)
    if not (design.drawn_blocks and design.rows.size):
        rows = design.rows if design.rows.size else places
        return Drawn(0.0, log.reward[rows], rows, np.ones(rows.size), log.reward[rows])
    left = log.reward[places] - work.fitted(places)
    model = frozen_value(work, rounds)
    blocks = design.of_round[places]
    count = np.bincount(blocks, minlength=design.starts.size)
    means = np.bincount(blocks, weights=left, minlength=design.starts.size) / np.maximum(count, 1)
    rows, shares = design.rows, design.shares
    means = means[design.block] if shares is None else means[design.block] * shares
    return Drawn(model, means, rows, np.ones(rows.size), log.reward[rows])


def by_blocks(
    work: Groundwork, rounds: TargetRounds, weight: Floats, reward: Floats, *, with_model: bool
) -> Drawn:
    """Each block from all its rounds up to the exploration, each over its chance to be reached."""
    design, log = work.design, work.log
    if design.kind != "jittered" or log.probability is None:
        raise NoSupport('way="blocks" needs the log of a jittered schedule with the probability of each arm')
    rows, probability, share = reached_rounds(design, log)
    v = rounds.of_arm[rows] / probability
    terms = v * log.reward[rows]
    if with_model:
        direct = direct_values(work, rounds, rows)
        terms = direct + v * (log.reward[rows] - work.fitted(rows))
    means = np.zeros(design.starts.size)
    np.add.at(means, design.of_round[rows], share * terms)
    kept = np.unique(design.of_round[rows])
    sizes = design.lengths[kept]
    return Drawn(0.0, means[kept] * (sizes / sizes.mean()), design.starts[kept], weight, reward)


def direct_values(work: Groundwork, rounds: TargetRounds, rows: Integers) -> Floats:
    """The frozen model's value of a target in these rounds."""
    found, thetas = np.empty(len(work.log)), work.looks.across(work.thetas)
    for span in spans(len(work.log)):
        parts = work.looks.parts(span, rounds.target.chances(span))
        found[span] = np.einsum("ij,ij->i", parts, thetas[np.maximum(work.design.of_round[span], 0)])
    return found[rows]


def _marginal(work: Groundwork, rounds: TargetRounds, seen: Floats | None) -> Floats:
    if seen is None or work.log.laws is None:
        raise InvalidSetting(
            'way="marginal" needs the laws of the log, and `seen`, (n, K): the chance of what was seen, had '
            "that arm been played"
        )
    if np.shape(seen) != (len(work.log), work.log.count):
        raise InvalidSetting(
            f"seen must have the shape {(len(work.log), work.log.count)}, got {np.shape(seen)}"
        )
    parts = [
        ways.marginal_weights(rounds.target.chances(span), work.log.laws[span], np.asarray(seen)[span])
        for span in spans(len(work.log))
    ]
    return np.concatenate(parts)[work.design.rows]
