"""Colours and dashes that tell policies apart, also for a reader who does not see all colours.

Policies of one base share a colour (Okabe and Ito, 2008), and lines in it differ by their dashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BASE_COLOURS = {"LinUCB": "#0072B2", "LinTS": "#D55E00", "Greedy": "#000000", "EpsilonGreedy": "#009E73"}
OTHER_COLOURS = ("#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#8C564B", "#9467BD")
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
    """A style for each policy: the colour is that of its base, the dashes are those of its rule.

    `rules` say when a policy explores: its schedule, and the data that the base has.
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
            looks[policy] = Style(colours[family].colour, DASHES[1 + rule % (len(DASHES) - 1)])
    return looks


def plain_frame(axes: Axes) -> None:
    """Leaves the left and the lower edge of axes, and draws a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)


def small_legend(axes: Axes) -> None:
    """Names lines within the axes."""
    axes.legend(frameon=False, fontsize=8, handlelength=3.2)
