"""Pictures made of characters: every mark where it belongs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.cli.charts import AXIS_WIDTH, CHART_HEIGHT, Series, chart


def rows(picture: str) -> list[str]:
    """The rows of marks, from the top."""
    return [line[AXIS_WIDTH + 2 :] for line in picture.splitlines()[1 : CHART_HEIGHT + 1]]


@given(
    points=st.lists(st.tuples(st.floats(1e-3, 1e12), st.floats(1e-3, 1e12)), min_size=2, max_size=9),
    width=st.integers(20, 200),
)
@settings(max_examples=60, deadline=None)
def test_marks_stand_at_their_logarithms(points: list[tuple[float, float]], width: int) -> None:
    given = np.array(points)
    x, y = np.log10(given).T
    series = Series("p", given[:, 0], given[:, 1], joined=False)
    drawn = rows(chart([series], across="x", upward="y", width=width))
    columns = min(max(width - AXIS_WIDTH - 4, 30), 72)
    for a, b in zip(x, y, strict=True):
        across = 0.5 if np.ptp(x) <= 1e-9 else (a - x.min()) / np.ptp(x)
        up = 0.5 if np.ptp(y) <= 1e-9 else (b - y.min()) / np.ptp(y)
        near = [
            drawn[CHART_HEIGHT - 1 - row].ljust(columns)[column]
            for row in {int(up * (CHART_HEIGHT - 1)), min(int(up * (CHART_HEIGHT - 1)) + 1, CHART_HEIGHT - 1)}
            for column in {int(across * (columns - 1)), min(int(across * (columns - 1)) + 1, columns - 1)}
        ]
        assert "o" in near


def test_lines_are_joined_the_first_lies_on_top_and_all_are_named() -> None:
    picture = chart(
        [
            Series("flat", [1, 1e6], [1e3, 1e3]),
            Series("diagonal", [1, 1e6], [1, 1e6]),
            Series("nothing", [1.0, -1.0], [np.inf, 3.0]),
        ],
        across="t",
        upward="regret",
    )
    marks = rows(picture)
    flat = [row for row in marks if "o" in row]
    assert len(flat) == 1
    assert flat[0].count("o") == 66
    assert sum("+" in row for row in marks) >= CHART_HEIGHT - 1
    assert max(map(len, picture.splitlines())) <= 80
    for words in ("o flat", "+ diagonal", "x nothing", "1e6", "regret"):
        assert words in picture


def test_numbers_of_a_short_scale_are_written_out() -> None:
    picture = chart([Series("t", [1, 5000], [0.02, 900])], across="t", upward="regret")
    for number in ("1,000", "100", "0.1"):
        assert number in picture
    assert "e" not in "".join(line[:AXIS_WIDTH] for line in picture.splitlines()[1:])
