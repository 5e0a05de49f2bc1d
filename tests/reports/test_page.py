"""The report as a reader sees it, in a real browser."""

import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from infex import Sweep
from infex.experiments import paper
from infex.experiments.report import write_report
from infex.reports import Verdict, page
from infex.reports.styles import DASHES, styles
from tests.reports import browser

POLICIES = ["LinUCB", "Infex(LinUCB, every(5))", "Greedy", "Infex(LinTS, every(20))"]


@pytest.fixture(scope="module")
def results() -> Any:
    environments = ["gaussian(dim=2, arms=4)", "gaussian(dim=2, arms=9)", "gaussian(dim=3, arms=4)"]
    return Sweep(environments=environments, policies=POLICIES, seeds=4, horizon=400).run(workers=1)


@pytest.fixture(scope="module")
def report(results: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report(results, folder)[-1]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_drawn_without_errors_or_requests(report: Path, width: int) -> None:
    with browser.opened(report, width) as driver:
        assert driver.get_log("browser") == []
        assert [url for url in browser.requests(driver) if not url.startswith(("file:", "data:"))] == []
        assert driver.find_element(By.TAG_NAME, "body").get_attribute("data-drawn") == "true"
        charts = driver.find_elements(By.CSS_SELECTOR, ".regret")
        assert len(charts) == 3
        for chart in charts:
            assert len(chart.find_elements(By.CSS_SELECTOR, "polyline.line")) == 4
            assert chart.size["width"] > 250
        assert len(driver.find_elements(By.CSS_SELECTOR, ".time circle.dot")) == 12
        inner, outer = driver.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert inner <= outer, "the page is wider than the window"


@pytest.mark.browser
def test_a_legend_entry_toggles_its_line(report: Path) -> None:
    with browser.opened(report) as driver:
        buttons = driver.find_elements(By.CSS_SELECTOR, "#legend button")
        assert [button.text for button in buttons] == POLICIES
        drawn = 'polyline[data-policy="Greedy"]'
        assert len(driver.find_elements(By.CSS_SELECTOR, drawn)) == 3
        buttons[2].click()
        assert driver.find_elements(By.CSS_SELECTOR, drawn) == []
        assert buttons[2].get_attribute("aria-pressed") == "false"
        assert len(driver.find_elements(By.CSS_SELECTOR, "polyline.line")) == 9
        buttons[2].click()
        assert len(driver.find_elements(By.CSS_SELECTOR, drawn)) == 3
        for button in buttons:
            button.click()
        assert driver.find_elements(By.CSS_SELECTOR, "polyline.line") == []
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_the_scale_of_rounds_can_be_changed_and_figures_are_shown_under_the_pointer(report: Path) -> None:
    with browser.opened(report) as driver:
        line = driver.find_element(By.CSS_SELECTOR, "polyline.line")
        before = line.get_attribute("points")
        driver.find_element(By.ID, "scale").click()
        assert driver.find_element(By.CSS_SELECTOR, "polyline.line").get_attribute("points") != before
        driver.execute_script(
            "const svg = document.querySelector('.regret svg');"
            "const left = svg.getBoundingClientRect().left;"
            "svg.dispatchEvent(new PointerEvent('pointermove', {clientX: left + 400}))"
        )
        tip = driver.find_element(By.CSS_SELECTOR, "section .tip").text
        assert re.match(r"round \d+: ", tip)
        assert all(policy in tip for policy in POLICIES)
        assert driver.get_log("browser") == []


def test_the_tables_hold_the_figures(report: Path, results: Any) -> None:
    text = report.read_text()
    cell = results.cells[0]
    found = results.compare(cell, "Infex(LinUCB, every(5))", "LinUCB")
    assert f"{found.mean:+,.1f}".replace("-", "\N{MINUS SIGN}") in text
    assert "on a core of its own" in text
    assert "bootstrap" in text
    for words in ("numba ", "python ", "4: 0 to 3", "gaussian(dim=2, arms=4)", "400 rounds"):
        assert words in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_names_cannot_break_the_page(results: Any) -> None:
    text = page(results, "<b>&</b>", [Verdict("1 < 2", 1, 2), Verdict("all", 2, 2), Verdict("none", 0, 0)])
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in text
    assert "holds in 1 of 2 cells" in text
    assert "cannot be told here" in text
    assert text.count("</script>") == 2


def test_verdicts_count_the_cells_in_which_a_claim_holds(results: Any) -> None:
    found = {verdict.claim: verdict for verdict in paper.verdicts(results)}
    claim = found["LinUCB improves for m = 5."]
    means = [
        results.spread(cell, "Infex(LinUCB, every(5))").mean < results.spread(cell, "LinUCB").mean
        for cell in results.cells
    ]
    assert (claim.holds, claim.cells) == (sum(means), 3)
    assert len(found) == 1  # no other claim has all its policies here


def test_policies_of_one_base_share_a_colour_and_differ_by_dashes() -> None:
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
    found = styles(names, bases)
    assert len({found[name].colour for name in names[:3]}) == 1
    assert [found[name].dash for name in names[:3]] == list(DASHES[:3])
    assert len({(look.colour, look.dash) for look in found.values()}) == len(names)
    many = styles([f"p{number}" for number in range(30)], {})
    assert len(many) == 30


def test_figures_are_written_in_every_format_and_are_the_same_each_time(results: Any, tmp_path: Path) -> None:
    from infex.reports import draw

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    names = [path.name for path in draw(results, tmp_path / "a")]
    assert names == [f"figure{number}.{kind}" for number in (1, 2) for kind in ("png", "svg", "pdf")]
    draw(results, tmp_path / "b")
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    figure = results.plot(dim=3)
    assert len(figure.axes) == 2
