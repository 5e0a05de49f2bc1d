"""What is drawn: policies' curves on problems, with colours and dashes that tell them apart."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from infex._stats import Difference, Interval, Spread
from infex.checks import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def plain_frame(axes: Axes) -> None:
    """Leaves the left and the lower edge of axes, and draws a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)


def small_legend(axes: Axes) -> None:
    """Names lines within the axes."""
    axes.legend(frameon=False, fontsize=8, handlelength=3.2)


Floats = NDArray[np.float64]


class ShownProblem(Protocol):
    """One problem of a sweep."""

    @property
    def environment(self) -> str:
        """Its label."""

    @property
    def dim(self) -> int:
        """Its dimension."""


P = TypeVar("P", bound=ShownProblem)


class Shown(Protocol[P]):
    """The results of a sweep."""

    bases: dict[str, str]
    """The base of each policy that has one."""
    failures: tuple[dict[str, str], ...]
    about: dict[str, Any]

    @property
    def rules(self) -> dict[str, str]:
        """When each policy with a base explores."""

    @property
    def finals(self) -> Sized:
        """One row for each run."""

    @property
    def cells(self) -> list[P]:
        """The problems."""

    @property
    def policies(self) -> list[str]:
        """The policies."""

    def title(self, cell: P) -> str:
        """What a reader calls a problem."""

    def has(self, cell: P, policy: str) -> bool:
        """Are there runs of it?"""

    def band(self, cell: P, policy: str) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Rounds, mean regret up to them, and its standard deviation."""

    def bands(self, cell: P, policy: str) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
        """Rounds, mean regret up to them, and the ends of its interval; NaN where runs are too few."""

    def curves(self, cell: P, policy: str) -> tuple[NDArray[np.int64], Floats]:
        """Rounds, and regret up to them, one row for each run."""

    def interval(self, cell: P, policy: str) -> Interval:
        """Mean final regret with its interval; NaN where runs are too few."""

    def spread(self, cell: P, policy: str) -> Spread:
        """How final regret is spread over runs."""

    def compare(self, cell: P, one: str, other: str) -> Difference:
        """Final regret of one policy less that of another, paired."""

    def seconds(self, cell: P, policy: str) -> Floats:
        """Computation time by run."""


def played(results: Shown[P], cell: P) -> list[str]:
    """The policies that have runs of a problem."""
    return [policy for policy in results.policies if results.has(cell, policy)]


class Judgement(Protocol):
    """A claim, and in how many of the cells that can tell it holds."""

    @property
    def claim(self) -> str:
        """The claim in words."""

    @property
    def holds(self) -> int:
        """In how many cells it holds."""

    @property
    def cells(self) -> int:
        """How many cells can tell."""

    @property
    def undecided(self) -> int:
        """In how many of the other cells the difference is within noise."""

    @property
    def unit(self) -> str:
        """What a cell is called here."""

    @property
    def note(self) -> str:
        """What more there is to say."""


Look = Literal["std", "interval", "median"]
LOOKS: dict[str, str] = {  # what a line and its band are
    "std": "mean, one standard deviation",
    "interval": "mean, 95 % interval",
    "median": "median, quartiles",
}


class Strip(NamedTuple):
    """Rounds, a line, and the ends of its band; both are the line itself where there is no band."""

    rounds: NDArray[np.int64]
    line: Floats
    low: Floats
    high: Floats

    @property
    def has_band(self) -> bool:
        """Is there more than the line?"""
        return bool((self.high > self.low).any())


def strip(results: Shown[P], cell: P, policy: str, show: Look) -> Strip:
    """A policy's regret as `show` says: "std", "interval" or "median"."""
    one_of("show", show, tuple(LOOKS))
    if show == "std":
        rounds, mean, std = results.band(cell, policy)
        return Strip(rounds, mean, np.maximum(mean - std, 0), mean + std)
    if show == "interval":
        rounds, mean, low, high = results.bands(cell, policy)
        few = np.isnan(low) | np.isnan(high)
        return Strip(rounds, mean, np.where(few, mean, low), np.where(few, mean, high))
    rounds, curves = results.curves(cell, policy)
    low, line, high = np.quantile(curves, (0.25, 0.5, 0.75), axis=0)
    return Strip(rounds, line, low, high)
