"""The page of an evaluation, as text and in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import infex
from infex import evaluation
from infex.evaluation import Evaluation
from infex.evaluation.compare import REFUTED, Comparison
from infex.evaluation.report import verdict_sentence
from tests.evaluation.synthetic_logs import as_log, logs
from tests.lab.reports import browser


def found(**other: object) -> Evaluation:
    targets = {
        "<b>mine": logs()["jit_target"],
        "now": evaluation.logged,
        "flat": infex.policies.Uniform(),
        "first": 0,
    }
    return evaluation.evaluate(as_log("jit"), targets, **other)


def test_the_page_tells_the_verdict_first_and_loads_nothing(tmp_path: Path) -> None:
    found(against="now", estimator="dr").page(tmp_path / "evaluation.html")
    page = (tmp_path / "evaluation.html").read_text()
    assert page.index("would have earned less than now") < page.index("<h2>")
    assert "&lt;b&gt;mine" in page
    assert "<b>mine" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "nan" not in page
    assert "The 5 rounds that carry flat most" in page
    assert "the interval is too short" in page


def test_what_would_settle_an_open_verdict_is_told(tmp_path: Path) -> None:
    judged = found(against="flat", estimator="dr")
    assert judged.compare("first", "flat").verdict == "cannot tell"
    judged.page(tmp_path / "evaluation.html")
    more = judged.needed("first", "flat")
    said = (tmp_path / "evaluation.html").read_text()
    assert f"{more.explorations:,} more explorations ({more.rounds:,} rounds at the pace of this log)" in said


def test_what_holds_for_several_targets_is_said_once(tmp_path: Path) -> None:
    found(against="now", estimator="dm").page(tmp_path / "evaluation.html")
    said = (tmp_path / "evaluation.html").read_text()
    assert said.count("holds if rewards are linear in the features") == 1
    assert "By the linear model of all rounds; the interval holds" in said


def test_a_model_that_is_off_gives_no_number_for_a_verdict() -> None:
    pair = Comparison("a", "b", 0.123, 0.1, 0.2, "cannot tell", REFUTED, "assumed", 9)
    assert "explorations contradict" in verdict_sentence(pair)
    assert "0.1" not in verdict_sentence(pair)


def test_a_page_without_a_comparison_says_so(tmp_path: Path) -> None:
    found().page(tmp_path / "evaluation.html")
    assert "No target was named" in (tmp_path / "evaluation.html").read_text()


def test_the_picture_has_a_row_for_each_target() -> None:
    svg = found().plot()
    assert svg.count("<circle") == 4
    assert svg.startswith("<svg")
    assert "&lt;b&gt;mine" in svg


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out(tmp_path: Path, width: int) -> None:
    found(against="now", estimator="dr").page(tmp_path / "evaluation.html")
    with browser.opened(tmp_path / "evaluation.html", width) as driver:
        across, dots, whiskers = driver.execute_script(
            """
            const page = document.documentElement, count = (kind) => document.querySelectorAll(kind).length;
            return [page.scrollWidth - page.clientWidth, count(".plot .dot"), count(".plot .whisker")];
            """
        )
        assert across <= 0
        assert (dots, whiskers) == (4, 4)
        driver.find_element(By.CSS_SELECTOR, ".plot").send_keys(Keys.HOME)
        assert driver.find_element(By.CSS_SELECTOR, ".tip").text.startswith("<b>mine: ")
        browser.refuse_what_axe_finds(driver)
        assert driver.get_log("browser") == []


@pytest.mark.browser
def test_lines_of_a_long_note_begin_below_each_other(tmp_path: Path) -> None:
    found(against="now", estimator="dr").page(tmp_path / "evaluation.html")
    with browser.opened(tmp_path / "evaluation.html", 1280) as driver:
        lines = driver.execute_script(
            """
            const item = document.querySelector(".claims li");
            item.lastChild.before("word ".repeat(100));
            const range = document.createRange();
            range.setStart(item.querySelector("b").nextSibling, 1);
            range.setEndAfter(item.lastChild);
            return [...range.getClientRects()].map(each => each.left);
            """
        )
    assert len(lines) > 2
    assert min(lines) >= lines[0] - 4.0
