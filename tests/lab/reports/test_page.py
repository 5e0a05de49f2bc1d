"""The report as a reader sees it, in a real browser."""

import dataclasses
import itertools
import json
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.ticker import EngFormatter
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from infex import Choice, Greedy, Infex, best, every
from infex.errors import InfexError
from infex.lab import Sweep, paper
from infex.lab.environments import LinearInstance, gaussian
from infex.lab.paper import Verdict
from infex.lab.reports.figures import picture, rendered, ticks, write_figures
from infex.lab.reports.page import page, report_page, write_report
from infex.lab.reports.series import DASHES, LOOKS, styles
from infex.lab.suite import suite, write_suite
from tests.lab.reports import browser
from tests.lab.sweeps.test_results import CELL
from tests.lab.sweeps.test_results import results as made

REGRET = "section .chart:has(polyline)"  # charts by round; those of time have none
LINE = f"{REGRET} polyline.line"
POLICIES = ["LinUCB", "Infex(LinUCB, every(5))", "Greedy", "Infex(LinTS, every(20))"]


@pytest.fixture(scope="module")
def results() -> Any:
    environments = ["gaussian(dim=2, arms=4)", "gaussian(dim=2, arms=9)", "gaussian(dim=3, arms=4)"]
    return Sweep(environments=environments, policies=POLICIES, seeds=4, horizon=400).run(workers=1)


def draw(results: Any, folder: Path, numbers: dict[int, int] | None = None) -> list[Path]:
    """A figure for each dimension, in every format."""
    dims = sorted({cell.dim for cell in results.cells})
    return write_figures({dim: rendered(results, dim) for dim in dims}, folder, numbers)


@pytest.fixture(scope="module")
def report(results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report(results, folder)[-1]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_drawn_without_errors_or_requests(report: Path, width: int) -> None:
    with browser.opened(report, width) as driver:
        assert driver.get_log("browser") == []
        itself, *others = browser.requests(driver)
        assert itself == report.as_uri()
        assert [url for url in others if not url.startswith(("file:", "data:"))] == []
        charts = driver.find_elements(By.CSS_SELECTOR, REGRET)
        assert len(charts) == 3
        for chart in charts:
            assert len(chart.find_elements(By.CSS_SELECTOR, "polyline.line")) == 4
            assert chart.size["width"] > 250
            labels = [label.text for label in chart.find_elements(By.CSS_SELECTOR, ".label")]
            assert labels == [f"regret: {LOOKS['std']}", "round"]
        assert len(driver.find_elements(By.CSS_SELECTOR, "section circle.dot")) == 12
        inner, outer = driver.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert inner <= outer, "the page is wider than the window"


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong_with_report_and_suite(report: Path, tmp_path: Path, width: int) -> None:
    played = suite(only=["the paper's", "lower bound"], seeds=2)
    write_suite(dataclasses.replace(played, horizon=50).run(workers=1), tmp_path)
    for path in (report, tmp_path / "suite.html"):
        with browser.opened(path, width) as driver:
            browser.refuse_what_axe_finds(driver)
            assert driver.get_log("browser") == []
            inner, outer = driver.execute_script(
                "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
            assert inner <= outer, path


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out_from_a_light_and_a_dark_page(report: Path, scheme: str) -> None:
    with browser.opened(report) as driver:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        look = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        page = luminance(driver.execute_script(look, "body", "backgroundColor"))
        assert (page < 0.1) == (scheme == "dark")
        text = luminance(driver.execute_script(look, "p", "color"))
        assert contrast(text, page) > 4.5
        pressed = luminance(
            driver.execute_script(look, ".views button[aria-pressed=true]", "backgroundColor")
        )
        assert contrast(luminance(driver.execute_script(look, ".views button", "color")), pressed) > 7
        for policy in POLICIES:
            line = driver.execute_script(look, f'section polyline[data-name="{policy}"]', "stroke")
            assert contrast(luminance(line), page) > 3, policy


def luminance(colour: str) -> float:
    """The relative luminance of "rgb(...)", as the Web Content Accessibility Guidelines define it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@pytest.mark.browser
def test_a_legend_entry_toggles_its_line(report: Path) -> None:
    with browser.opened(report) as driver:
        buttons = driver.find_elements(By.CSS_SELECTOR, ".names button")
        assert [button.text for button in buttons] == POLICIES
        drawn = f'{REGRET} polyline[data-name="Greedy"]'
        assert len(driver.find_elements(By.CSS_SELECTOR, drawn)) == 3
        browser.press(driver, buttons[2])
        assert driver.find_elements(By.CSS_SELECTOR, drawn) == []
        assert buttons[2].get_attribute("aria-pressed") == "false"
        assert len(driver.find_elements(By.CSS_SELECTOR, LINE)) == 9
        browser.press(driver, buttons[2])
        assert len(driver.find_elements(By.CSS_SELECTOR, drawn)) == 3
        for button in buttons:
            browser.press(driver, button)
        assert driver.find_elements(By.CSS_SELECTOR, LINE) == []
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_the_scale_of_rounds_can_be_changed_and_figures_are_shown_under_the_pointer(report: Path) -> None:
    with browser.opened(report) as driver:
        line = driver.find_element(By.CSS_SELECTOR, LINE)
        before = line.get_attribute("points")
        browser.press(driver, driver.find_element(By.CSS_SELECTOR, "[data-axis=x]"))
        assert driver.find_element(By.CSS_SELECTOR, LINE).get_attribute("points") != before
        labels = [label.text for label in driver.find_elements(By.CSS_SELECTOR, f"{REGRET} .label")]
        assert labels == 3 * [f"regret: {LOOKS['std']}", "round (log scale)"]
        driver.execute_script(
            "const plot = document.querySelector('section .plot'), left = plot.getBoundingClientRect().left;"
            "plot.dispatchEvent(new PointerEvent('pointermove', {clientX: left + 400}))"
        )
        tip = driver.find_element(By.CSS_SELECTOR, "section .tip").text
        assert re.match(r"round \d+: ", tip)
        assert all(policy in tip for policy in POLICIES)
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_medians_intervals_and_logarithms_can_be_chosen(report: Path) -> None:
    with browser.opened(report) as driver:
        seen = {driver.find_element(By.CSS_SELECTOR, "section polygon.band").get_attribute("points")}
        views = driver.find_elements(By.CSS_SELECTOR, "button.view")
        assert [each.text for each in views] == list(LOOKS.values())
        for place, view in enumerate((views[1], views[2], views[0]), 2):
            browser.press(driver, view)
            pressed = driver.find_elements(By.CSS_SELECTOR, "button.view[aria-pressed=true]")
            assert [each.text for each in pressed] == [view.text]
            assert driver.find_element(By.CSS_SELECTOR, "section .label").text == f"regret: {view.text}"
            seen.add(driver.find_element(By.CSS_SELECTOR, "section polygon.band").get_attribute("points"))
            assert len(seen) == min(place, 3), "the last view is the first again"
        browser.press(driver, driver.find_element(By.CSS_SELECTOR, "[data-axis=y]"))
        logarithmic = driver.find_element(By.CSS_SELECTOR, "section polygon.band").get_attribute("points")
        assert logarithmic not in seen
        assert "NaN" not in logarithmic
        assert "Infinity" not in logarithmic
        assert driver.find_element(By.CSS_SELECTOR, "section .label").text.endswith("(log scale)")
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_charts_are_drawn_anew_for_another_width(report: Path) -> None:
    with browser.opened(report) as driver:
        sizes = "return [document.body.clientWidth, document.querySelector('section .plot svg').clientWidth]"
        page_before, chart_before = driver.execute_script(sizes)
        driver.set_window_size(700, 1000)
        browser.wait(driver, lambda: driver.execute_script(sizes)[0] < page_before)
        browser.settle(driver)
        assert driver.execute_script(sizes)[1] < chart_before
        assert driver.get_log("browser") == []


def test_the_tables_hold_the_figures(report: Path, results: Any) -> None:
    text = report.read_text()
    cell = results.cells[0]
    found = results.compare(cell, "Infex(LinUCB, every(5))", "LinUCB")
    assert f"{found.mean:+,.1f}".replace("-", "\N{MINUS SIGN}") in text
    assert "played in one process on a machine with" in text
    assert "bootstrap" in text
    for words in ("numpy ", "python ", "4: 0 to 3", "gaussian(dim=2, arms=4)", "400 rounds"):
        assert words in text
    for words in (
        "lee2025infrequent",
        "@software{infex,",
        "version = {",
        "lowest of 4 on these very seeds: ",
    ):
        assert words in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def part_of(text: str, heading: str) -> str:
    """The part of a page below a heading, up to the next."""
    return text.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0]


def data_of(text: str) -> Any:
    """What the tools and the charts of a page draw."""
    text = part_of(text, "Regret and computation time")
    return [json.loads(each) for each in re.findall(r'<script type="application/json">(.*?)</script>', text)]


def charts_of(text: str) -> tuple[Any, Any]:
    """The charts of regret by round, and those of time."""
    drawn = data_of(text)[1:]
    return [each for each in drawn if "series" in each], [each for each in drawn if "rows" in each]


def test_the_charts_hold_means_one_deviation_and_median_times(report: Path, results: Any) -> None:
    regrets, times = charts_of(report.read_text())
    for cell, drawn, timed in zip(results.cells, regrets, times, strict=True):
        assert [line["name"] for line in drawn["series"]] == POLICIES
        for line in drawn["series"]:
            rounds, curves = results.curves(cell, line["name"])
            columns = curves.T.tolist()
            assert drawn["at"] == rounds.tolist()
            assert drawn["at"][-1] == 400
            std, inner, middle = line["views"]
            means = np.array([statistics.mean(each) for each in columns])
            reach = np.array([statistics.stdev(each) for each in columns])
            np.testing.assert_allclose(std["y"], means, rtol=1e-4)
            np.testing.assert_allclose(std["high"], means + reach, rtol=1e-4)
            np.testing.assert_allclose(std["low"], np.maximum(means - reach, 0.0), rtol=1e-3, atol=1e-4)
            quartiles = np.array([statistics.quantiles(each, n=4, method="inclusive") for each in columns]).T
            found = [middle["low"], middle["y"], middle["high"]]
            np.testing.assert_allclose(found, quartiles, rtol=1e-4, atol=1e-12)
            assert inner["y"] == inner["low"] == inner["high"] == std["y"], "four runs are too few"
        for row, policy in zip(timed["rows"], POLICIES, strict=True):
            seconds = results.seconds(cell, policy).tolist()
            assert row["name"] == policy
            assert row["value"] == pytest.approx(statistics.median(seconds), rel=1e-4)
            assert row["runs"] == pytest.approx(seconds, rel=1e-4)


def rows_of(text: str) -> list[list[str]]:
    """The cells of the table of final regret, without the lines that name problems."""
    rows = re.findall(r"<tr><td>(.*?)</td></tr>", part_of(text, "Final regret"))
    return [[re.sub("<.*?>", "", cell) for cell in re.split("</td><td[^>]*>", row)] for row in rows]


def test_differences_are_the_policys_minus_the_others() -> None:
    runs = {
        name: {seed: (value + seed % 2, 1.0) for seed in range(12)}
        for name, value in (("LinUCB", 900.0), ("Infex(LinUCB, every(5))", 600.0), ("Greedy", 1000.0))
    }
    found = made({CELL: runs})
    found.bases = {"Infex(LinUCB, every(5))": "LinUCB"}
    minus = "\N{MINUS SIGN}"
    assert [row[6:8] for row in rows_of(page(found, "title", []))] == [
        ["", f"{minus}100 [{minus}100, {minus}100]"],
        [f"{minus}300 [{minus}300, {minus}300]", f"{minus}400 [{minus}400, {minus}400]"],
        ["", ""],
    ]
    few = {name: {seed: by_seed[seed] for seed in range(2)} for name, by_seed in runs.items()}
    assert rows_of(page(made({CELL: few}), "title", []))[0][6] == f"{minus}100 (too few)"
    runs["Greedy"] = {99: (1.0, 1.0)}
    heads = heads_of(page(made({CELL: runs}), "title", []))
    assert not {"less its base", "less Greedy"} & {*heads}, "no seed was played by both"


COLUMNS = ["policy", "seeds", "mean", "95 % interval", "std", "median", "median time"]


def heads_of(text: str) -> list[str]:
    """The columns of the table of final regret."""
    return re.findall(r'<th scope="col">(.*?)</th>', part_of(text, "Final regret"))


def test_columns_of_differences_are_there_only_if_there_are_differences() -> None:
    runs = {name: {0: (1.0, 1.0)} for name in ("A", "B")}
    assert heads_of(page(made({CELL: runs}), "title", [])) == COLUMNS
    based = made({CELL: runs})
    based.bases = {"B": "A"}
    assert heads_of(page(based, "title", [])) == [*COLUMNS[:6], "less its base", COLUMNS[6]]
    greedy = made({CELL: runs | {"Greedy": {0: (2.0, 1.0)}}})
    assert heads_of(page(greedy, "title", [])) == [*COLUMNS[:6], "less Greedy", COLUMNS[6]]


def test_explorations_and_deviations_are_told_of_policies_with_a_schedule() -> None:
    runs = {name: {0: (1.0, 1.0), 1: (2.0, 1.0)} for name in ("LinUCB", "Infex(LinUCB, every(2))")}
    text = page(made({CELL: runs}), "title", [])
    assert heads_of(text) == [*COLUMNS[:6], "explored", "deviations", COLUMNS[6]]
    assert [row[6:8] for row in rows_of(text)] == [["", ""], ["5,000", "1,666"]]


def test_the_first_paragraph_says_what_infex_a_period_and_a_cell_are(report: Path) -> None:
    first = report.read_text().partition("<p>")[2].partition("</p>")[0]
    for words in ("INFEX explores infrequently", "leaves every 20th round to LinUCB", "m = 20", "A cell is"):
        assert words in first
    others = report_page(made({CELL: {"A": {0: (1.0, 1.0)}}}))
    assert "INFEX" not in others.partition("<p>")[2].partition("</p>")[0], "where nothing has a schedule"
    assert "<h1>Regret of bandit policies</h1>" in others
    assert "<h1>Infrequent exploration in linear bandits</h1>" in report.read_text()


@dataclasses.dataclass(frozen=True)
class Hump:
    """Means that are no linear function of the arms."""

    top: float = 0.6

    @property
    def arms(self) -> Any:
        return np.linspace(0.1, 1.0, 5)[:, None]

    def means(self, t: int, arms: Any) -> Any:
        return 1.0 - np.abs(arms[:, 0] - self.top)


@dataclasses.dataclass(frozen=True)
class Wide:
    """Plays the arm that is known least, by a factor that changes nothing."""

    factor: float = 1.0

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(best(self.factor * posterior.widths))


LINEAR = "its mean reward is a linear function of them"


def played(environments: Any, policies: Any, **settings: Any) -> str:
    """The report of a small sweep, as text."""
    given = {"horizon": 20, "seeds": 2} | settings
    return report_page(Sweep(environments=environments, policies=policies, **given).run(workers=1))


def test_how_it_was_run_says_what_each_name_means() -> None:
    environments = {
        "turning": "gaussian(dim=2, arms=4, moves=turning(50))",
        "hump": Hump(top=0.4),
        "fixed": gaussian(dim=3, arms=7, seed=1),
    }
    policies = {"ours": Infex(Wide(factor=2.5), every(5)), "UCB": "LinUCB", "LinUCB": "LinUCB(scale=0.25)"}
    text = part_of(played(environments, policies, horizon=[20, 40]), "How it was run")
    items = dict(re.findall(r"<li><b>(.*?)</b>: (.*?)</li>", text))
    assert list(items) == ["turning", "hump", "fixed", "ours", "UCB", "LinUCB"]
    kinds, settings = {}, {}
    for name, item in items.items():
        kinds[name], _, words = re.sub(r"<.*?>", "|", item).rstrip("|").partition(" |")
        settings[name] = words.split(", ")
    assert kinds["ours"] == "Infex(Wide(factor=2.5), every(5))"
    assert {"factor=2.5", "period=5", "data=shared"} <= {*settings["ours"]}
    assert kinds["UCB"] == kinds["LinUCB"] == "LinUCB"
    assert {"scale=1", "delta=0.05 or 0.025"} <= {*settings["UCB"]}, "1/T of both horizons"
    assert "scale=0.25" in settings["LinUCB"]
    assert kinds["turning"] == "gaussian"
    assert {"dim=2", "arms=4", "link=linear"} <= {*settings["turning"]}
    assert any(word.startswith("moves=turning(") for word in settings["turning"])
    assert (kinds["hump"], settings["hump"]) == ("Hump", ["dim=1", "arms=5", "top=0.4"])
    assert kinds["fixed"] == "LinearInstance"
    assert {"dim=3", "arms=7"} <= {*settings["fixed"]}


@pytest.mark.parametrize(
    ("environments", "words"),
    [
        ("gaussian(dim=2, arms=3)", f", and {LINEAR}."),
        (["gaussian(dim=2, arms=3)", "contextual(context_dim=2, arms=3)"], f", and {LINEAR}."),
        ("gaussian(dim=2, arms=3, link=logistic)", ""),
        ("misspecified(dim=2, arms=3)", ""),
        (Hump(), ""),
        (LinearInstance(np.eye(2), [0.1, 0.2], mean=lambda arms: arms[:, 0] ** 2), ""),
        (["gaussian(dim=2, arms=3)", Hump()], f"; in 1 of 2 cells {LINEAR}."),
    ],
)
def test_means_are_called_linear_where_they_are(environments: Any, words: str) -> None:
    listed = environments if isinstance(environments, list) else [environments]
    first = played(listed, ["LinUCB"]).partition("<p>")[2].partition("</p>")[0]
    assert (f"described by d numbers{words}" in first) if words else (LINEAR not in first)


@pytest.mark.parametrize(
    ("policies", "is_greedy"),
    [
        (["Greedy", "LinUCB"], True),
        ({"mine": Greedy()}, True),
        (["LinUCB"], False),
        ({"Greedy": "LinUCB"}, False),
    ],
)
def test_the_regret_of_greedy_is_explained_where_it_was_played(policies: Any, is_greedy: bool) -> None:
    assert ("a mixture of near-zero" in played(["gaussian(dim=2, arms=3)"], policies)) == is_greedy


@pytest.mark.parametrize("greedy", ["Greedy", Greedy()])
def test_a_greedy_of_another_name_is_not_compared_with_itself(greedy: Any) -> None:
    text = played(["gaussian(dim=2, arms=3)"], {"greedy": greedy, "UCB": "LinUCB"})
    place = heads_of(text).index("less Greedy")
    own, other = (row[place] for row in rows_of(text))
    assert own == ""
    assert other.endswith("(too few)")


def test_a_folder_in_the_place_of_a_report_is_named(results: Any, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=f"this is a folder: name a file: '{tmp_path}'"):
        results.report(tmp_path)
    assert list(tmp_path.iterdir()) == []


SCALES = [0.05, 0.1, 0.2, 0.5, 1, 2]


@pytest.fixture(scope="module")
def grid() -> Any:
    policies = [f"LinUCB(scale={SCALES})", f"Infex(LinUCB(scale={SCALES}), every([5, 20]))", "Greedy"]
    environments = ["gaussian(dim=2, arms=4)", "gaussian(dim=2, arms=9)"]
    return Sweep(environments=environments, policies=policies, seeds=3, horizon=60).run(workers=1)


def test_a_grid_of_settings_is_drawn_against_the_setting(grid: Any) -> None:
    tools, *charts = data_of(page(grid, "title", []))
    drawn = [each for each in charts if each.get("x", {}).get("label") == "scale"]
    assert len(drawn) == len(grid.cells) == 2
    for cell, chart in zip(grid.cells, drawn, strict=True):
        assert chart["x"] == {"label": "scale", "log": True, "ticks": SCALES}
        assert chart["y"]["label"] == "final regret"
        assert [line["x"] for line in chart["series"]] == 3 * [SCALES]
        assert [line["name"] for line in chart["series"]] == [
            "LinUCB",
            "Infex(LinUCB, every(5))",
            "Infex(LinUCB, every(20))",
        ]
        labels = ("LinUCB({})", "Infex(LinUCB({}), every(5))", "Infex(LinUCB({}), every(20))")
        for line, label in zip(chart["series"], labels, strict=True):
            means = [grid.regret(cell, label.format(f"scale={scale}")).mean() for scale in SCALES]
            assert line["views"][0]["y"] == pytest.approx(means, rel=1e-4)
    shown = {each["name"] for each in tools["names"] if each["shown"]}
    lowest = {grid.best(cell).policy for cell in grid.cells}
    assert lowest <= shown
    assert "Greedy" in shown
    assert len(shown) <= 3 < len(tools["names"]) == 19


def test_a_few_periods_are_no_grid(results: Any) -> None:
    tools, *charts = data_of(page(results, "title", []))
    assert {each["x"]["label"] for each in charts} == {"round", "computation time of a run"}
    assert all(each["shown"] for each in tools["names"])


def test_the_report_is_written_from_python(results: Any, report: Path, tmp_path: Path) -> None:
    results.report(tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_text() == report.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]


def test_nothing_that_a_user_names_is_read_as_html() -> None:
    bad = "<img src=x>&'\""
    told = "&lt;img src=x&gt;&amp;&#x27;&quot;"
    runs = {f"p{bad}": {0: (1.0, 1.0)}}
    found = made({(f"e{bad}", 2, 3): runs, (f"f{bad}", 2, 3): runs})
    found.failures = ({"key": "k", "run": f"r{bad}", "traceback": f"t{bad}"},)
    found.about |= {"environments": [f"e{bad}"], "command": f"c{bad}", "versions": {f"v{bad}": "1"}}
    text = page(found, f"h{bad}", [Verdict(f"c{bad}", 1, 1, f"n{bad}")], f"k{bad}")
    assert "<img" not in text
    for name in "prtehfcnkv":
        assert f"{name}{told}" in text, name
    tools, *charts = data_of(text)
    assert tools["names"][0]["name"] == charts[0]["series"][0]["name"] == f"p{bad}"
    for content in text.split('<script type="application/json">')[1:]:
        assert "<" not in content.partition("</script>")[0]


def test_the_sentence_on_time_says_what_is_known() -> None:
    def said(**about: Any) -> str:
        return page(made({CELL: {"A": {0: (1.0, 1.0)}}}, **about), "title", [])

    assert "in one process on a machine with 1 core." in said(engine="local", workers=1, cores=1)
    assert "in 2 processes, each one run at a time, on a machine with 4 cores." in said(
        engine="local", workers=2, cores=4
    )
    assert "they shared cores, so times are too long" in said(engine="local", workers=3, cores=2)
    assert "shared cores" not in said(engine="local", workers=2, cores=2)
    assert "played on dask, whose workers may be unlike" in said(engine="dask", workers=None, cores=None)
    assert "3 of the runs are of an earlier command" in said(engine="local", workers=1, cores=1, earlier=3)
    assert "earlier command" not in said(engine="local", workers=1, cores=1, earlier=0)


@pytest.mark.parametrize(
    ("seeds", "words"), [([0, 1, 2], "3: 0 to 2"), ([5, 3, 9], "3: 3, 5, 9"), ([7], "1: 7"), ([], "")]
)
def test_seeds_are_told_as_they_are(seeds: list[int], words: str) -> None:
    text = page(made({CELL: {"A": {0: (1.0, 1.0)}}}, seeds=seeds), "title", [])
    assert (f"<dd>{words}</dd>" in text) if words else ("<dt>Seeds" not in text)


def test_the_page_says_if_the_horizon_is_not_the_papers(report: Path, tmp_path: Path) -> None:
    words = "The paper plays 10,000 rounds; these runs have"
    assert f"{words} 400." in report.read_text()
    runs = {name: {0: (1.0, 1.0)} for name in ("LinUCB", "Infex(LinUCB, every(5))")}
    text = write_report(made({CELL: runs}), tmp_path)[-1].read_text()
    assert "holds in 0 of 1 cells" in text
    assert words not in text


@pytest.mark.browser
def test_charts_are_read_and_zoomed_by_keyboard_as_those_of_the_service(report: Path) -> None:
    with browser.opened(report) as driver:
        chart = driver.find_element(By.CSS_SELECTOR, f"{REGRET} .plot")
        tip = driver.find_element(By.CSS_SELECTOR, f"{REGRET} .tip")
        line = "return document.querySelector('section .plot polyline').getAttribute('points')"
        before = driver.execute_script(line)
        chart.send_keys(Keys.HOME)
        first = tip.text
        chart.send_keys(Keys.ARROW_RIGHT)
        assert re.match(r"round \d+: ", first)
        assert tip.text != first
        chart.send_keys("+")
        assert driver.execute_script(line) != before
        chart.send_keys(Keys.ESCAPE)
        assert driver.execute_script(line) == before
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_runs_of_one_round_are_drawn_without_errors(tmp_path: Path) -> None:
    found = Sweep(environments=["gaussian(dim=2, arms=4)"], policies=["Greedy"], seeds=2, horizon=1)
    path = write_report(found.run(workers=1), tmp_path)[-1]
    with browser.opened(path) as driver:
        browser.press(driver, driver.find_element(By.CSS_SELECTOR, "[data-axis=x]"))
        assert driver.get_log("browser") == []
        for line in driver.find_elements(By.CSS_SELECTOR, LINE):
            assert "NaN" not in line.get_attribute("points")
        ticks = driver.find_elements(By.CSS_SELECTOR, f"{REGRET} text")
        assert [tick.text for tick in ticks].count("1") <= 2


def test_the_legend_has_policies_of_all_cells() -> None:
    one, other = ("gaussian(dim=2, arms=3)", 2, 3), ("gaussian(dim=2, arms=4)", 2, 4)
    run = {0: (1.0, 1.0)}
    found = made({one: {"A": run, "B": run}, other: {"C": run, "A": run}})
    (legend,) = found.plot().legends
    assert [text.get_text() for text in legend.get_texts()] == ["A", "B", "C"]


LONG = [
    *(f"Infex(LinTS(scale=0.2), stretched({rate}), data=own)" for rate in (1, 1.5, 2)),
    *(f"Infex(LinUCB(bound=2, scale=0.25), every({m}) | listed([1, 2, 3]))" for m in range(2, 17)),
    "a.package.of.mine.with.a.long.name.and.no.blanks.in.it:" + 60 * "W",
]


def with_long_names() -> Any:
    runs = {
        name: {seed: (place + 5.0 + 4 * seed, 0.3e-3 + 1e-6 * place) for seed in range(3)}
        for place, name in enumerate(LONG)
    }
    return made({CELL: runs})


def test_no_part_of_a_figure_is_cut_or_lies_on_another() -> None:
    figure = with_long_names().plot(times=True)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    left, right = figure.axes
    assert box.y1 <= left.get_tightbbox().y0
    assert right.get_tightbbox().x1 <= whole.x1
    for axis in (left.xaxis, right.xaxis):
        labels = [tick.get_window_extent() for tick in axis.get_ticklabels() if tick.get_text()]
        assert 2 <= len(labels) <= 8
        assert all(one.x1 < other.x0 for one, other in itertools.pairwise(labels))
    names = [tick.get_window_extent() for tick in right.yaxis.get_ticklabels()]
    assert len(names) == len(LONG)
    assert all(one.y1 <= other.y0 + 1 for one, other in itertools.pairwise(names))


@pytest.mark.parametrize(("count", "bands"), [(9, 9), (10, 0)])
def test_spread_is_drawn_whole_and_said(count: int, bands: int) -> None:
    runs = {f"p{place}": {0: (5.0, 1.0), 1: (45.0 + place, 1.0)} for place in range(count)}
    found = made({CELL: runs})
    left = found.plot().axes[0]
    assert found.plot().legends[0].get_title().get_text() == "mean, one standard deviation"
    names = [type(each).__name__ for each in left.collections]
    assert sum("Line" not in name for name in names) == bands
    _, mean, std = found.band(found.cells[0], f"p{count - 1}")
    assert left.get_ylim()[1] >= (mean + std).max()
    alone = made({CELL: {"A": {0: (1.0, 1.0)}}}).plot()
    assert alone.legends[0].get_title().get_text() == "", "one run has no spread"


@pytest.mark.parametrize(
    ("show", "words"),
    [("std", "one standard deviation"), ("interval", "95 % interval"), ("median", "quartiles")],
)
def test_a_figure_shows_means_or_medians_on_plain_or_logarithmic_axes(show: Any, words: str) -> None:
    rng = np.random.default_rng(1)
    runs = {"A": {seed: (float(each), 1.0) for seed, each in enumerate(rng.exponential(50.0, 20))}}
    found = made({CELL: runs})
    (cell,) = found.cells
    for log in (False, True):
        figure = found.plot(show=show, log=log)
        left = figure.axes[0]
        assert words in figure.legends[0].get_title().get_text()
        assert left.get_xscale() == left.get_yscale() == ("log" if log else "linear")
        drawn = np.asarray(left.get_lines()[0].get_ydata(), float)
        curves = found.curves(cell, "A")[1]
        np.testing.assert_allclose(
            drawn, np.median(curves, axis=0) if show == "median" else curves.mean(axis=0)
        )
        bottom, top = left.get_ylim()
        assert bottom <= min(drawn)
        assert max(drawn) <= top
    with pytest.raises(InfexError, match="show must be 'std' or 'interval' or 'median', got 'mean'"):
        found.plot(show="mean")


def test_runs_without_regret_are_drawn_on_plain_axes() -> None:
    found = made({CELL: {"A": {0: (0.0, 1.0)}, "B": {0: (0.0, 1.0)}}})
    for show in ("std", "interval", "median"):
        left = found.plot(show=show, log=True).axes[0]
        assert left.get_yscale() == "linear"


@pytest.mark.parametrize("low", [1e-9, 3.1e-4, 0.9, 2.0])
@pytest.mark.parametrize("ratio", [1.4, 2, 11, 1e3, 1e7])
def test_ticks_of_time_are_few_and_round(low: float, ratio: float) -> None:
    found = ticks(low, low * ratio)
    assert 2 <= len(found) <= 4
    assert found == sorted(found)
    assert low <= found[0] < found[-1] <= low * ratio
    assert len({EngFormatter("s")(each) for each in found}) == len(found)


def test_figures_have_the_papers_numbers_where_the_runs_are_of_its_experiment(tmp_path: Path) -> None:
    runs = {"A": {0: (1.0, 1.0)}}

    def numbers(*dims: int, label: str = "gaussian(dim={dim}, arms=3)") -> list[int]:
        found = made({(label.format(dim=dim), dim, 3): runs for dim in dims})
        return [(paper.figures(found) or {}).get(dim, 0) for dim in dims]

    assert numbers(20) == [2]
    assert numbers(10, 40) == [1, 3]
    assert numbers(10, 30) == [0, 0]
    assert numbers(20, label="changing(dim={dim}, arms=3)") == [0]
    draw(made({("a", 7, 3): runs}), tmp_path, {7: 4})
    assert (tmp_path / "figure4.png").exists()
    names = [path.name for path in write_report(made({("gaussian(dim=40, arms=3)", 40, 3): runs}), tmp_path)]
    assert names == ["figure3.png", "figure3.svg", "figure3.pdf", "report.html"]
    assert not (tmp_path / "figure4.png").exists()


def overlaps(driver: Any) -> Any:
    """The pairs of texts of the chart by round that lie on each other."""
    return driver.execute_script(
        """
        const texts = [...document.querySelectorAll("section .chart:has(polyline) text")];
        const boxes = texts.map((each) => [each.textContent, each.getBoundingClientRect()]);
        return boxes.flatMap(([word, one], place) => boxes.slice(place + 1)
          .filter(([, two]) => one.left < two.right && two.left < one.right && one.top + 3 < two.bottom - 3
            && two.top + 3 < one.bottom - 3)
          .map(([other]) => [word, other]));
        """
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_are_whole_and_lie_on_no_mark(tmp_path: Path, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(with_long_names(), "title", []))
    with browser.opened(path, width) as driver:
        assert driver.get_log("browser") == []
        inside, apart, wide = driver.execute_script(
            """
            const all = (kind) => [...document.querySelectorAll(kind)];
            const boxes = (kind) => all(kind).map((each) => each.getBoundingClientRect());
            const svg = document.querySelector("section .plot:has(.run) svg").getBoundingClientRect();
            const names = boxes("section .plot:has(.run) .name");
            const marks = boxes("section .run, section circle.dot");
            const table = document.querySelector("main > .wide");
            return [names.every((name) => name.left >= svg.left && name.right <= svg.right),
              names.every((name) => marks.every(
                (mark) => mark.top > name.bottom - 3 || mark.bottom < name.top + 3
                  || mark.left > name.right || mark.right < name.left)),
              table.scrollWidth > table.clientWidth];
            """
        )
        assert inside
        assert apart
        assert overlaps(driver) == [], "words below a chart lie on each other"
        if width == 1280:
            assert not wide
        shown = "".join(
            each.text for each in driver.find_elements(By.CSS_SELECTOR, "section .plot:has(.run) .name")
        )
        assert all(name.replace(" ", "") in shown.replace(" ", "") for name in LONG[:3])
        assert driver.find_elements(By.CSS_SELECTOR, "section polygon.band") == []
        assert len(driver.find_elements(By.CSS_SELECTOR, "section line.end")) == len(LONG)
        for button in driver.find_elements(By.CSS_SELECTOR, ".names button")[9:]:
            driver.execute_script("arguments[0].click()", button)
        browser.settle(driver)
        assert len(driver.find_elements(By.CSS_SELECTOR, "section polygon.band")) == 9
        assert driver.find_elements(By.CSS_SELECTOR, "section line.end") == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_of_large_regrets_is_whole_and_breaks_no_name_inside_a_word(
    tmp_path: Path, width: int
) -> None:
    names = ["Greedy", "LinTS", "Infex(LinTS, every(100))", "OLSBandit(preset=paper)"]
    runs = {
        name: {seed: (12_000.0 + 9_000 * place + 800 * ((3 + place) * seed % 13), 21.5) for seed in range(13)}
        for place, name in enumerate(names)
    }
    found = made({CELL: runs})
    found.bases["Infex(LinTS, every(100))"] = "LinTS"
    path = tmp_path / "report.html"
    path.write_text(page(found, "title", []))
    with browser.opened(path, width) as driver:
        cut, lines = driver.execute_script(
            """
            const table = document.querySelector("main > .wide"), lines = {};
            for (const cell of table.querySelectorAll("tr:not(.head) td:first-child")) {
              const pieces = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
              for (let text = pieces.nextNode(); text; text = pieces.nextNode()) {
                for (const word of text.data.matchAll(/\\S+/g)) {
                  const range = document.createRange();
                  range.setStart(text, word.index);
                  range.setEnd(text, word.index + word[0].length);
                  lines[word[0]] = range.getClientRects().length;
                }
              }
            }
            return [table.scrollWidth > table.clientWidth, lines];
            """
        )
        assert {"OLSBandit(", "preset=paper)", "every(100))"} <= lines.keys()
        assert set(lines.values()) == {1}, "each of these stands in one line"
        assert cut == (width == 390)
        assert driver.get_log("browser") == []


def test_a_schedule_has_one_dash_with_every_base() -> None:
    bases = {f"Infex({base}, every({m}))": base for base in ("LinUCB", "LinTS") for m in (5, 20)}
    for names in (["LinUCB", *bases], list(bases), ["Greedy", "LinTS", *reversed(bases)]):
        found = styles(
            names, bases, {name: f"every({m})" for name in bases for m in (5, 20) if f"({m})" in name}
        )
        for m in (5, 20):
            assert found[f"Infex(LinUCB, every({m}))"].dash == found[f"Infex(LinTS, every({m}))"].dash != ()
        assert len(set(found.values())) == len(names)


def test_a_claim_of_time_counts_what_is_within_noise() -> None:
    text = page(with_long_names(), "title", [Verdict("faster", 5, 6, "n", "comparisons", 1)])
    assert '<li class="soft"><b>holds in 5 of 6 comparisons, 1 within noise</b> faster' in text
    text = page(with_long_names(), "title", [Verdict("faster", 4, 6, "n", "comparisons", 1)])
    assert '<li class="fails"><b>holds in 4 of 6 comparisons, 1 within noise</b>' in text


def test_figures_of_an_earlier_sweep_go_and_those_of_a_user_stay(results: Any, tmp_path: Path) -> None:
    draw(results, tmp_path)
    (tmp_path / "figure9.png").write_bytes(b"mine")
    draw(made({CELL: {"A": {0: (1.0, 0.0)}}}), tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["figure1.pdf", "figure1.png", "figure1.svg", "figure9.png"]


def test_a_figure_that_cannot_be_written_leaves_the_old_one(
    results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in draw(results, tmp_path)}

    def full(*given: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("infex.lab.reports.figures.replace", full)
    with pytest.raises(OSError, match="no space left"):
        draw(made({CELL: {"A": {0: (1.0, 1.0)}}}), tmp_path)
    assert {path: path.read_bytes() for path in before} == before


def test_pdfs_embed_fonts_that_publishers_accept(results: Any, tmp_path: Path) -> None:
    """TrueType (Type 42) in every PDF, also in those that a user saves; Type 3 is refused by many."""
    drawn = [path.read_bytes() for path in draw(results, tmp_path) if path.suffix == ".pdf"]
    for number, figure in enumerate((results.plot(), results.plot(against="dim"))):
        figure.savefig(tmp_path / f"saved{number}.pdf")
        drawn.append((tmp_path / f"saved{number}.pdf").read_bytes())
        drawn.append(picture(figure, "pdf"))
    assert len(drawn) == 6
    for data in drawn:
        assert b"/Type3" not in data
        assert b"/CIDFontType2" in data


def test_names_cannot_break_the_page(results: Any) -> None:
    text = page(results, "<b>&</b>", [Verdict("1 < 2", 1, 2), Verdict("all", 2, 2), Verdict("none", 0, 0)])
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in text
    assert "holds in 1 of 2 cells" in text
    assert "cannot be told here" in text
    assert text.count("</script>") == text.count("<script")
    assert len(data_of(text)) == 7, "tools and six charts"


def test_verdicts_count_the_cells_in_which_a_claim_holds(results: Any) -> None:
    found = {verdict.claim: verdict for verdict in paper.verdicts(results)}
    claim = found["LinUCB improves for m = 5."]
    means = [
        results.spread(cell, "Infex(LinUCB, every(5))").mean < results.spread(cell, "LinUCB").mean
        for cell in results.cells
    ]
    assert (claim.holds, claim.cells) == (sum(means), 3)
    assert len(found) == 1  # no other claim has all its policies here


def test_policies_of_one_base_are_told_apart_by_colour_and_by_dashes() -> None:
    names = [
        "LinUCB",
        "Infex(LinUCB, every(5))",
        "Infex(LinUCB, every(20))",
        "Greedy",
        "Mine",
        "Infex(LinTS, every(5))",
    ]
    bases = {
        "Infex(LinUCB, every(5))": "LinUCB",
        "Infex(LinUCB, every(20))": "LinUCB",
        "Infex(LinTS, every(5))": "LinTS",
    }
    found = styles(names, bases, {name: name.partition(", ")[2] for name in bases})
    assert len({found[name].colour for name in names}) == len(names)
    assert [found[name].dash for name in names[:3]] == list(DASHES[:3])
    assert len({(look.colour, look.dash) for look in found.values()}) == len(names)
    many = styles([f"p{number}" for number in range(30)], {}, {})
    assert len(many) == 30


def test_figures_are_written_in_every_format_and_are_the_same_each_time(results: Any, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    names = [path.name for path in draw(results, tmp_path / "a")]
    assert names == [f"figure{number}.{kind}" for number in (1, 2) for kind in ("png", "svg", "pdf")]
    draw(results, tmp_path / "b")
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert len(results.plot(dim=3).axes) == 1
    assert len(results.plot(dim=3, times=True).axes) == 2


def test_a_report_of_several_policies_called_greedy_compares_with_none_of_them() -> None:
    sweep = Sweep(
        environments=["gaussian(dim=2, arms=3)", "changing(dim=2, arms=3)"],
        policies=["Greedy", "Infex(LinUCB, every(5))"],
        penalty=[1, 2],
        horizon=20,
        seeds=2,
    )
    results = sweep.run(workers=1)
    assert "less Greedy" not in heads_of(page(results, "title", paper.changing_verdicts(results)))
