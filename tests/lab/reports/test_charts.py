"""The charts of all pages, in a real browser, and the parts of a page as text."""

import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from infex.pages import breakable, chart, rounded, shell, table
from tests.lab.reports import browser

LINES: dict[str, Any] = {
    "title": "Two lines",
    "x": {"label": "round", "format": "count", "from": 0},
    "y": {"label": "regret"},
    "at": [1, 10, 100, 1000],
    "series": [
        {"name": "A", "y": [1, 2, 3, 4], "low": [0, 1, 2, 3], "high": [2, 3, 4, 5]},
        {"name": "B", "y": [4, 30, 200, 1500], "colour": 1},
    ],
    "limits": [{"y": 700, "name": "at most 700"}],
}
FRONT: dict[str, Any] = {
    "title": "A front",
    "x": {"label": "explorations", "log": True},
    "y": {
        "label": "regret of all rounds, as a mean over so many problems that they need two lines",
        "log": True,
    },
    "series": [
        {
            "name": "all",
            "shape": "dots",
            "x": [3, 3, 40],
            "y": [9, 5, 2],
            "low": [8, 4, None],
            "high": [10, 6, None],
            "names": ["first", "second", "third"],
        }
    ],
}
ROWS: dict[str, Any] = {
    "kind": "rows",
    "title": "Intervals",
    "x": {"label": "value"},
    "rows": [
        {"name": "tea", "value": 1.5, "low": 1.0, "high": 2.0},
        {"name": "juice of oranges, apples, pears and whatever else there is", "value": -0.5, "low": None},
    ],
}
BARS: dict[str, Any] = {
    "kind": "rows",
    "bars": True,
    "title": "Bars",
    "rows": [{"name": "a", "value": 2}, {"name": "b", "value": -1}],
}
HEAT: dict[str, Any] = {
    "kind": "heat",
    "title": "A map",
    "label": "ratio to the best",
    "log": True,
    "middle": 1,
    "columns": ["d = 2", "d = 20", "d = 200"],
    "rows": ["K = 10", "K = 1000"],
    "values": [[0.1, 1, 10], [2, None, 5]],
}


def days(first: float, last: float) -> dict[str, Any]:
    return {
        "title": "Days",
        "x": {"label": "time", "format": "time"},
        "y": {"label": "share", "format": "percent"},
        "at": [first, (first + last) / 2, last],
        "series": [{"name": "explored", "y": [0.1, 0.2, 0.15]}],
    }


def opened(folder: Path, *charts: dict[str, Any], width: int = 1280) -> Any:
    parts = ["<h1>Charts</h1>", *(chart(data, f"chart{place}") for place, data in enumerate(charts))]
    (folder / "page.html").write_text(shell("Charts", parts))
    return browser.opened(folder / "page.html", width)


def texts(driver: Any, name: str) -> list[str]:
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", name
    )
    return found


def keys(driver: Any, name: str, *pressed: str) -> str:
    """Presses keys on a chart; what it says then."""
    driver.find_element(By.CSS_SELECTOR, f"{name} .plot").send_keys(*pressed)
    said: str = driver.find_element(By.CSS_SELECTOR, f"{name} .tip").text
    return said


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_every_kind_is_drawn_within_the_page_and_axe_finds_nothing_wrong(tmp_path: Path, width: int) -> None:
    every = (LINES, FRONT, ROWS, BARS, HEAT, days(0.0, 9e5))
    with opened(tmp_path, *every, width=width) as driver:
        inner, outer, cut = driver.execute_script(
            """
            const page = document.documentElement, every = [...document.querySelectorAll("svg text")];
            const cut = every.filter((text) => {
              const outer = text.closest("svg").getBoundingClientRect(), inner = text.getBoundingClientRect();
              const across = inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5;
              return across || inner.top < outer.top - 1;
            });
            return [page.scrollWidth, page.clientWidth, cut.map((text) => text.textContent)];
            """
        )
        assert inner <= outer
        assert cut == []
        for summary in driver.find_elements(By.TAG_NAME, "summary"):
            summary.send_keys(Keys.ENTER)
        browser.wait(driver, lambda: len(driver.find_elements(By.TAG_NAME, "table")) == len(every))
        browser.refuse_what_axe_finds(driver)
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_axes_have_labels_and_a_log_axis_says_so(tmp_path: Path) -> None:
    with opened(tmp_path, LINES, FRONT, HEAT) as driver:
        assert texts(driver, "#chart0 .label") == ["regret", "round"]
        assert texts(driver, "#chart1 .label") == [
            f"{FRONT['y']['label']} (log scale)",
            "explorations (log scale)",
        ]
        assert texts(driver, "#chart2 .label") == ["ratio to the best (log scale)"]
        named = driver.find_element(By.CSS_SELECTOR, "#chart1 .plot").get_attribute("aria-label")
        assert named.startswith("A front. regret of all rounds")
        assert "Arrow keys move" in named


@pytest.mark.browser
def test_a_log_axis_reaches_down_to_where_it_is_said_to(tmp_path: Path) -> None:
    steep: dict[str, Any] = {
        "title": "Seven decades",
        "x": {"label": "round"},
        "y": {"label": "regret", "log": True, "from": 0.5},
        "at": [1, 2, 3],
        "series": [{"name": "steep", "y": [1e7, 1e3, 1]}],
    }
    with opened(tmp_path, steep) as driver:
        line = driver.find_element(By.CSS_SELECTOR, "polyline.line").get_attribute("points")
        ups = [float(point.split(",")[1]) for point in line.split()]
        assert (ups[1] - ups[0]) / (ups[2] - ups[1]) == pytest.approx(4 / 3, rel=0.02)


@pytest.mark.browser
def test_a_log_axis_of_what_is_never_positive_is_plain_and_does_not_say_log(tmp_path: Path) -> None:
    nil = {
        **LINES,
        "y": {"label": "regret", "log": True},
        "limits": [],
        "series": [{"name": "A", "y": [0, 0, 0, 0]}],
    }
    with opened(tmp_path, nil) as driver:
        assert texts(driver, ".label") == ["regret", "round"]
        assert "NaN" not in driver.find_element(By.CSS_SELECTOR, "polyline").get_attribute("points")
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_the_cursor_says_what_is_there_by_keyboard(tmp_path: Path) -> None:
    with opened(tmp_path, LINES, FRONT, ROWS, HEAT) as driver:
        assert keys(driver, "#chart0", Keys.HOME) == "round 1: B 4 · A 1 (0 to 2)"
        assert keys(driver, "#chart0", Keys.ARROW_RIGHT) == "round 10: B 30 · A 2 (1 to 3)"
        assert keys(driver, "#chart0", Keys.END) == "round 1,000: B 1,500 · A 4 (3 to 5)"
        assert keys(driver, "#chart1", Keys.HOME).startswith("first: explorations 3, regret")
        assert keys(driver, "#chart1", Keys.ARROW_RIGHT).endswith("5 (4 to 6)")
        assert keys(driver, "#chart1", Keys.ARROW_RIGHT).startswith("third: explorations 40")
        assert keys(driver, "#chart2", Keys.ARROW_DOWN) == "tea: 1.5 (1 to 2)"
        assert keys(driver, "#chart2", Keys.ARROW_DOWN).endswith("whatever else there is: -0.5")
        assert keys(driver, "#chart3", Keys.ARROW_RIGHT) == "K = 10, d = 2: 0.1"
        assert keys(driver, "#chart3", Keys.ARROW_DOWN) == "K = 1000, d = 2: 2"
        assert keys(driver, "#chart3", Keys.ARROW_RIGHT) == "K = 1000, d = 20: \N{EN DASH}"
        assert keys(driver, "#chart3", Keys.ARROW_DOWN) == "K = 1000, d = 20: \N{EN DASH}"
        assert keys(driver, "#chart3", Keys.ESCAPE) == "Arrow keys move from cell to cell."


@pytest.mark.browser
def test_cells_say_more_than_is_written_in_them_and_the_colours_say_where_they_end(tmp_path: Path) -> None:
    says = [["0.1 [0, 2]", "1", "10 [8, 12]"], ["2 [1, 3]", "", "5 [4, 6]"]]
    with opened(tmp_path, HEAT | {"says": says, "from": 0.25, "to": 4}, HEAT) as driver:
        assert keys(driver, "#chart0", Keys.ARROW_RIGHT) == "K = 10, d = 2: 0.1 [0, 2]"
        assert "0.1" in texts(driver, "#chart0 .plot text")
        assert texts(driver, "#chart0 .plot text")[-2:] == [
            "\N{LESS-THAN OR EQUAL TO} 0.25",
            "\N{GREATER-THAN OR EQUAL TO} 4",
        ]
        assert texts(driver, "#chart1 .plot text")[-2:] == ["0.1", "10"]
        driver.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
        browser.wait(driver, lambda: bool(driver.find_elements(By.TAG_NAME, "table")))
        assert texts(driver, "#chart0 tr:nth-child(2) td") == ["K = 1000", "2 [1, 3]", "", "5 [4, 6]"]


@pytest.mark.browser
def test_zoom_by_keyboard_and_by_dragging_shows_a_part_and_escape_all(tmp_path: Path) -> None:
    with opened(tmp_path, {**LINES, "at": [1, 2, 3, 4]}) as driver:
        points = "return document.querySelector('polyline').getAttribute('points')"
        before = driver.execute_script(points)
        third = keys(driver, "#chart0", Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert keys(driver, "#chart0", "+", "+") == third, "the cursor stays where it is"
        assert driver.execute_script(points) != before
        assert keys(driver, "#chart0", Keys.HOME) != third
        keys(driver, "#chart0", "-", "-", "-")
        assert driver.execute_script(points) == before
        plot = driver.find_element(By.CSS_SELECTOR, ".plot")
        ActionChains(driver).move_to_element_with_offset(plot, 0, 0).click_and_hold().move_by_offset(
            400, 0
        ).release().perform()
        assert driver.execute_script(points) != before
        keys(driver, "#chart0", Keys.ESCAPE)
        assert driver.execute_script(points) == before
        keys(driver, "#chart0", *12 * ["+"])
        assert len(driver.find_elements(By.CSS_SELECTOR, "polyline")) == 2
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_a_name_of_the_legend_hides_and_shows_its_line(tmp_path: Path) -> None:
    with opened(tmp_path, LINES) as driver:
        top = texts(driver, ".plot text")
        button = driver.find_element(By.CSS_SELECTOR, ".legend [data-name=B]")
        button.send_keys(Keys.ENTER)
        assert [
            each.get_attribute("data-name") for each in driver.find_elements(By.CSS_SELECTOR, "polyline")
        ] == ["A"]
        pressed = driver.switch_to.active_element
        assert (pressed.get_attribute("data-name"), pressed.get_attribute("aria-pressed")) == ("B", "false")
        assert texts(driver, ".plot text") != top, "the axis is that of what is shown"
        pressed.send_keys(Keys.ENTER)
        assert texts(driver, ".plot text") == top


@pytest.mark.browser
def test_the_data_of_a_chart_are_a_table_too(tmp_path: Path) -> None:
    with opened(tmp_path, LINES, ROWS, HEAT) as driver:
        assert not driver.find_elements(By.TAG_NAME, "table")
        for summary in driver.find_elements(By.TAG_NAME, "summary"):
            summary.send_keys(Keys.ENTER)
        browser.wait(driver, lambda: len(driver.find_elements(By.TAG_NAME, "table")) == 3)
        assert texts(driver, "#chart0 th") == ["round", "A", "B"]
        assert texts(driver, "#chart0 tr:nth-child(2) td") == ["10", "2 (1 to 3)", "30"]
        assert texts(driver, "#chart1 tr:nth-child(1) td") == ["tea", "1.5", "1", "2"]
        assert texts(driver, "#chart2 tr:nth-child(2) td") == ["K = 1000", "2", "\N{EN DASH}", "5"]


@pytest.mark.browser
def test_a_time_axis_has_days_and_hours_of_the_readers_clock(tmp_path: Path) -> None:
    noon, hours = 1_772_625_600.0, 3600.0  # 4 March 2026, 12:00 in Greenwich
    with opened(tmp_path, days(noon, noon + 8 * hours), days(noon, noon + 60 * 24 * hours)) as driver:
        driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Europe/Paris"})
        driver.refresh()
        browser.settle(driver)
        assert texts(driver, "#chart0 .label") == ["share", "time (Europe/Paris)"]
        inner = "#chart0 svg > text[text-anchor=middle]:not(.label)"
        assert texts(driver, inner) == ["4 Mar, 15:00", "18:00", "21:00"]
        assert keys(driver, "#chart0", Keys.HOME) == "time 4 Mar 2026, 13:00:00: explored 10%"
        assert keys(driver, "#chart1", Keys.END).startswith("time 3 May 2026, 14:00:00"), "summer time"
        dates = texts(driver, inner.replace("chart0", "chart1"))
        assert len(dates) >= 3
        assert all(re.fullmatch(r"\d+ (Mar|Apr|May)", each) for each in dates), dates


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_table_that_scrolls_says_so_and_is_reached_by_keyboard(tmp_path: Path, width: int) -> None:
    heads = ["policy", *(f"a column of figures {place}" for place in range(7))]
    rows = [["LinUCB", *(f"{place * 123_456:,}" for place in range(7))]]
    (tmp_path / "page.html").write_text(shell("A table", ["<h1>A table</h1>", table(heads, rows)]))
    with browser.opened(tmp_path / "page.html", width) as driver:
        hint = "return getComputedStyle(document.querySelector('.wide'), '::before').content"
        scrolls = width == 390
        browser.wait(driver, lambda: ("scroll it sideways" in driver.execute_script(hint)) == scrolls)
        assert (driver.find_element(By.CSS_SELECTOR, ".wide").get_attribute("tabindex") == "0") == scrolls
        browser.refuse_what_axe_finds(driver)


def test_a_chart_holds_its_data_as_text_that_ends_no_script() -> None:
    assert "</script><b>" not in chart({"title": "</script><b>"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        chart({"series": [{"y": [float("nan")]}]})
    assert rounded([1.23456789, float("inf")]) == [1.2346, None]


def test_names_break_at_blanks_and_brackets_and_inside_words_only_if_nothing_else_helps() -> None:
    assert breakable("OLSBandit(preset=paper)") == "OLSBandit(<wbr>preset=paper)"
    assert breakable("a < b") == "a &lt; b"
    assert breakable(40 * "W") == f'<span class="long">{40 * "W"}</span>'


def test_a_page_holds_script_and_style_and_loads_nothing() -> None:
    text = shell("<i>", ["<h1>one</h1>", "", "<p>two</p>"])
    assert "<title>&lt;i&gt;</title>" in text
    assert "<h1>one</h1>\n<p>two</p>" in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|\burl\((?!#)", text)
    assert len(text.encode()) < 100_000
