"""What is drawn: policies' curves on problems, with colours and dashes that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from infex._stats import mean_intervals
from infex.arrays import Floats, Integers
from infex.checks import one_of

if TYPE_CHECKING:
    from infex.lab.results import Cell, Results


BASE_COLOURS = {"LinUCB": "#0072B2", "LinTS": "#D55E00", "Greedy": "#000000", "EpsilonGreedy": "#43862E"}
FAMILY_COLOURS = {  # of policies that explore with these bases: kin to the base's, and apart from each other
    "LinUCB": ("#3F86F5", "#7A46F0", "#148C8C"),
    "LinTS": ("#94701A", "#E6405F", "#B87878"),
}
OTHER_COLOURS = ("#C42CC8", "#808080", "#8C564B", "#6E8B00", "#D0489B", "#4C8C8A")
DASHES = (
    (),
    (6.0, 2.0),
    (3.0, 1.5),
    (1.5, 3.0),
    (8.0, 2.0, 1.5, 2.0),
    (5.0, 2.0, 1.2, 2.0, 1.2, 2.0),
    (12.0, 3.0),
    (1.0, 1.0),
    (10.0, 2.0, 4.0, 2.0),
    (4.0, 4.0),
)


class Style(NamedTuple):
    """How a policy's line looks; an empty dash is a solid line."""

    colour: str
    dash: tuple[float, ...]


def styles(policies: list[str], bases: dict[str, str], rules: dict[str, str]) -> dict[str, Style]:
    """A style for each policy: colours are those of its base's family, dashes those of its rule.

    `rules` say when a policy explores: its schedule, and the data that the base has. A policy that explores
    with LinUCB or LinTS has a colour of its own, as long as there are three rules; others have their base's.
    """
    colours = {name: Style(colour, ()) for name, colour in BASE_COLOURS.items()}
    spare = 0
    order: dict[str, int] = {}
    looks = {}
    for policy in policies:
        family = bases.get(policy, policy)
        if family not in colours:
            turn, place = divmod(spare, len(OTHER_COLOURS))
            colours[family] = Style(OTHER_COLOURS[place], DASHES[turn % len(DASHES)])
            spare += 1
        looks[policy] = colours[family]
        if family != policy:
            rule = order.setdefault(rules.get(policy, policy), len(order))
            shades = FAMILY_COLOURS.get(family, (colours[family].colour,))
            looks[policy] = Style(shades[rule % len(shades)], DASHES[1 + rule % (len(DASHES) - 1)])
    return looks


Look = Literal["std", "interval", "median"]
LOOKS: dict[Look, str] = {  # what a line and its band are
    "std": "mean, one standard deviation",
    "interval": "mean, 95 % interval",
    "median": "median, quartiles",
}


STEEPEST = 20.0  # the largest value of a setting over the least, from which its axis is logarithmic


class Band(NamedTuple):
    """Rounds, a figure of regret up to each, and the ends of its band, such as an interval of 95 %."""

    rounds: Integers
    value: Floats
    low: Floats
    high: Floats

    @property
    def is_wide(self) -> bool:
        """Is there more to be seen than the line?"""
        return bool((self.high > self.low).any())


def strip(results: Results, cell: Cell, policy: str, show: Look) -> Band:
    """A policy's regret by round, as `show` says; the band is the line itself where runs are too few."""
    one_of("show", show, tuple(LOOKS))
    if show == "std":
        rounds, mean, std = results.band(cell, policy)
        return Band(rounds, mean, np.maximum(mean - std, 0), mean + std)
    if show == "interval":
        rounds, mean, low, high = results.bands(cell, policy)
        few = np.isnan(low) | np.isnan(high)
        return Band(rounds, mean, np.where(few, mean, low), np.where(few, mean, high))
    rounds, curves = results.curves(cell, policy)
    low, line, high = np.quantile(curves, (0.25, 0.5, 0.75), axis=0)
    return Band(rounds, line, low, high)


def line_and_band(samples: Sequence[Floats], show: Look) -> tuple[Floats, Floats, Floats]:
    """Regrets of several settings, as `show` says: a line, and the ends of its band; NaN for too few runs."""
    if show == "median":
        low, line, high = np.array([np.quantile(each, (0.25, 0.5, 0.75)) for each in samples]).T
    elif show == "interval":
        line, low, high = np.array(mean_intervals(samples)).T
    else:
        line = np.array([each.mean() for each in samples])
        std = np.array([each.std(ddof=1) if each.size > 1 else 0.0 for each in samples])
        low, high = np.maximum(line - std, 0.0), line + std
    return line, low, high
