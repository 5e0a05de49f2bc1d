"""The page as a reader sees it, in a real browser, while the service works."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import infex
from infex.service.auth import TokenFile
from infex.service.routes import PAGE_FILES
from tests.lab.reports import browser
from tests.service.serving_here import serving
from tests.service.test_live import asked
from tests.study.studies import Clock
from tests.study.studies import shop as shop_study
from tests.waiting import PATIENCE

SHOP = infex.features.disjoint(
    ["tea", "juice", "still\u2028water"],
    context=infex.features.table({"age": (18, 90)}, {"land": ["FR", "DE"]}),
)
POLICY = infex.Infex(infex.LinUCB(), infex.guarded(infex.every(5), 40.0))
LARGE = "Infex(LinUCB(noise=1e7, bound=1e8), every(3))"

REASONS = "return [...document.querySelectorAll('#latest tbody tr')].map((row) => row.cells[3].textContent)"
PANELS = "return [...document.querySelectorAll('.panel > div')].map((panel) => panel.innerText)"


class Shop:
    """A service with two studies, the tokens of an admin and of a reader, and a browser."""

    def __init__(self, url: str, admin: str, reader: str, driver: Any) -> None:
        self.url, self.admin, self.reader, self.driver = url, admin, reader, driver
        self.client = infex.Client(url, admin, seconds=PATIENCE)
        self.study = self.client.open(
            "pricing", features=SHOP, policy=POLICY, seed=7, holdout=0.1, reward_unit="EUR"
        )
        self.client.open("paused", arms=[[1.0, 0.0], [0.0, 1.0]], policy="Infex(LinUCB, every(3))")
        self.client.study("paused").amend(reason="holiday", explore=False)
        self.asked = 0
        self.ask(60)
        self.ask_large()
        self.ask_tutored()

    def ask_tutored(self) -> None:
        """A study that was an apprentice, with rewards that are prices."""
        arms: dict[str, Any] = {"arms": [[1.0, 0.0], [0.0, 1.0]], "labels": ["tea", "juice"]}
        study = self.client.open("tutored", policy="Infex(LinUCB, every(2))", apprentice=True, **arms)
        for key, price in (("taught-0", 11.99), ("taught-1", 1234.56)):
            study.ask(key, played="tea")
            study.tell(key, price)
        study.amend(reason="it goes live", apprentice=False)
        study.ask("own-0")
        study.tell("own-0", 14.99)

    def ask(self, count: int) -> None:
        keys = [f"order-{self.asked + place}" for place in range(count)]
        contexts = [{"age": 20 + place % 60, "land": ("FR", "DE")[place % 2]} for place in range(count)]
        self.study.ask_many(keys, contexts=contexts)
        self.study.tell_many(keys[: count // 2], [0.1 * (place % 10) for place in range(count // 2)])
        self.asked += count

    def ask_large(self) -> None:
        """A study with rewards of ten millions, where the longest of reasons is given."""
        study = self.client.open("large", arms=[[1.0, 0.0], [0.0, 1.0]], policy=LARGE)
        keys = [f"large-{place}" for place in range(40)]
        for place, key in enumerate(keys):
            study.ask(key, explore=place % 4 == 0)
            study.tell(key, 1e7 * (1 + place % 3))


def play_paying(folder: Path) -> None:
    """Three days of a study that earns more than those get who are held out."""
    clock = Clock(datetime.now(UTC).timestamp() - 3 * 86_400)
    settings = {"labels": ["tea", "juice"], "holdout": 0.3, "holdout_policy": {"arm": "tea"}}
    policy = infex.Infex(infex.LinUCB(), infex.every(10))
    with shop_study(
        folder, "paying", clock, arms=np.eye(2), policy=policy, reward_unit="EUR", **settings
    ) as study:
        for place in range(300):
            clock.now += 3 * 86_400 / 300
            decision = study.ask(f"paying-{place}", durable=False)
            study.tell(f"paying-{place}", 0.8 if decision.label == "juice" else 0.2, durable=False)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("page")
    play_paying(folder)
    tokens = TokenFile(folder / "shop.db.tokens")
    admin, reader = tokens.make(["decide", "reward", "read", "admin"]), tokens.make(["read"])
    with serving(folder) as (url, _), browser.window() as driver:
        made = Shop(url, admin, reader, driver)
        with made.client:
            yield made


def enter(driver: Any, shop: Shop, token: str, place: str = "#/") -> None:
    """Opens the page, and gives the token by keyboard."""
    driver.get(f"{shop.url}/{place}")
    browser.wait(driver, lambda: driver.execute_script("return document.body.dataset.drawn") == "login")
    driver.switch_to.active_element.send_keys(token, Keys.ENTER)
    browser.wait(driver, lambda: bool(driver.execute_script("return document.body.dataset.heard > 0")))
    if place != "#/":
        browser.wait(driver, lambda: bool(driver.find_elements(By.CSS_SELECTOR, "#when svg")))


def is_as_wide_as_the_window(driver: Any) -> bool:
    inner, outer = driver.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return bool(inner <= outer)


def refused_logs(driver: Any) -> list[str]:
    """What the console says, but for the 401 that asks for a token."""
    return [entry["message"] for entry in driver.get_log("browser") if "/v1/me" not in entry["message"]]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_all_studies_and_one_are_shown_without_errors_or_foreign_requests(shop: Shop, width: int) -> None:
    with browser.tab(shop.driver, width) as driver:
        enter(driver, shop, shop.reader)
        figures = shop.client.study("pricing").metrics()
        different, last = figures["exploration"]["different"], figures["days"][max(figures["days"])]
        counted = f"decisions\n{shop.asked}\n{figures['held_out']['decisions']} of them held out"
        browser.wait(driver, lambda: any(counted in card for card in browser.texts(driver, ".card")))
        _, paused, _, pricing, _ = browser.texts(driver, ".card")
        assert paused.startswith("paused paused\n")
        assert pricing.startswith("pricing\n")
        assert f"{different} deviation" in pricing
        assert is_as_wide_as_the_window(driver)
        press(driver, ".card a[href$=pricing]")
        browser.wait(driver, lambda: bool(driver.find_elements(By.CSS_SELECTOR, "#when svg")))
        assert len(driver.find_elements(By.CSS_SELECTOR, "#when polyline")) == 2
        assert len(driver.find_elements(By.CSS_SELECTOR, "#when .mark")) >= 8
        assert driver.find_elements(By.CSS_SELECTOR, "#cost .limit")
        for name in ("shares polygon", "estimates circle", "reward polyline", "delay rect", "days td"):
            assert driver.find_elements(By.CSS_SELECTOR, f"#{name}"), name
        assert "limit 40 EUR" in said(driver, "#worth dl.figures", f"; {different} deviation")
        heads, cells = (
            browser.texts(driver, f"#days {row} > *") for row in ("thead tr", "tbody tr:first-child")
        )
        day = dict(zip(heads, cells, strict=True))
        assert [day["explored"], day["deviations"]] == [str(last["explored"]), str(last["different"])]
        assert not driver.find_elements(By.ID, "admin"), "a reader changes nothing"
        assert is_as_wide_as_the_window(driver)
        asked = browser.requests(driver)
        assert all(url.startswith((shop.url, "data:")) for url in asked), asked
        assert refused_logs(driver) == []


CUT_TEXTS = """
return [...document.querySelectorAll("#main svg text")].filter((text) => {
  const outer = text.closest("svg").getBoundingClientRect(), inner = text.getBoundingClientRect();
  return inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5;
}).map((text) => text.textContent)
"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_of_millions_and_long_reasons_fit_into_the_page(shop: Shop, width: int) -> None:
    with browser.tab(shop.driver, width) as driver:
        enter(driver, shop, shop.reader, "#/study/large")
        browser.wait(driver, lambda: bool(driver.find_elements(By.CSS_SELECTOR, "#reward svg")))
        reasons = "return [...document.querySelectorAll('[data-filter=reason] option')].map((o) => o.value)"
        browser.wait(
            driver, lambda: "skipped: the request forbids exploring" in driver.execute_script(reasons)
        )
        texts = driver.execute_script(
            "return [...document.querySelectorAll('#main svg text')].map((text) => text.textContent)"
        )
        assert any(len(text) > 9 and "000,000" in text for text in texts), texts
        assert driver.execute_script(CUT_TEXTS) == []
        assert is_as_wide_as_the_window(driver)


def press(driver: Any, selector: str) -> dict[str, str]:
    """Presses what has the focus, by keyboard; the page may have drawn it anew meanwhile. Its data."""
    data: dict[str, str] = driver.execute_script(
        "const found = document.querySelector(arguments[0]); found.focus(); return {...found.dataset}",
        selector,
    )
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    return data


def said(driver: Any, place: str, word: str) -> str:
    """What stands at a place of the page, once a word is there."""
    text = f"return document.querySelector('{place}')?.innerText ?? ''"
    browser.wait(driver, lambda: word in driver.execute_script(text))
    words: str = driver.execute_script(text)
    return words


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_whether_it_is_worth_it_stands_at_the_top_in_money(shop: Shop, width: int) -> None:
    with browser.tab(shop.driver, width) as driver:
        enter(driver, shop, shop.reader, "#/study/paying")
        words = said(driver, "#worth", "95 % interval")
        lift = asked(shop.url, "GET", "/v1/studies/paying/lift", Authorization=f"Bearer {shop.reader}").json
        assert words.startswith("Yes, the study pays. It earns 0.")
        assert f"{round(lift['low'], 4):g} EUR to {round(lift['high'], 4):g} EUR" in words
        assert "those held out get always tea" in words
        assert f"Measured on {lift['decisions']} decisions" in words
        assert said(driver, "#verdict", "wins").startswith("juice wins")
        assert "Every decision has its reward." in said(driver, "#attention", "reward")
        assert is_as_wide_as_the_window(driver)


@pytest.mark.browser
def test_where_it_cannot_be_said_the_page_says_why_and_what_to_do(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.reader, "#/study/pricing")
        words = said(driver, "#lift", "cannot be said")
        assert "this study has no `wait`" in words
        assert "0 where nothing came of it" in words
        assert "wait for theirs, for ever if nothing comes" in said(driver, "#missing", "without a reward")
        driver.get(f"{shop.url}/#/study/large")
        assert "This cannot be said yet." in said(driver, "#lift", "Nobody is held out")


@pytest.mark.browser
def test_segments_are_chosen_and_the_code_of_the_policy_is_opened_by_keyboard(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.reader, "#/study/pricing")
        assert "18 to 36" in said(driver, "#segments", "decisions")
        Select(driver.find_element(By.ID, "column")).select_by_value("land")
        assert "FR" in said(driver, "#segments", "DE")
        assert len(driver.find_elements(By.CSS_SELECTOR, "#segments tbody tr")) == 2
        assert "Explores on every 5th decision, at most 40 EUR of estimated cost in all" in said(
            driver, "#main", "Explores"
        )
        shown = "return document.querySelector('#main details code').checkVisibility()"
        assert not driver.execute_script(shown)
        press(driver, "#main summary")
        browser.wait(driver, lambda: driver.execute_script(shown))
        assert refused_logs(driver) == []


@pytest.mark.browser
def test_what_happens_arrives_by_itself(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.reader, "#/study/pricing")
        shown = "return document.querySelector('#latest tbody button').dataset.key"
        for _ in range(2):
            shop.ask(5)
            newest = f"order-{shop.asked - 1}"
            browser.wait(driver, lambda newest=newest: driver.execute_script(shown) == newest)  # type: ignore[misc]
        assert refused_logs(driver) == []


@pytest.mark.browser
def test_filters_reasons_and_charts_work_by_keyboard(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.reader, "#/study/pricing")
        Select(driver.find_element(By.CSS_SELECTOR, "[data-filter=explored]")).select_by_value("true")
        browser.wait(driver, lambda: set(driver.execute_script(REASONS)) == {"scheduled"})
        key = press(driver, "#latest tbody button").get("key")
        dialog = driver.find_element(By.ID, "why")
        browser.wait(driver, lambda: dialog.get_attribute("data-shown") == key)
        assert "Proven" in dialog.text
        assert "NOT" not in dialog.text
        assert len(dialog.find_elements(By.CSS_SELECTOR, "circle")) == 3, "one for each offer"
        assert "age" in dialog.text
        driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        browser.wait(driver, lambda: not dialog.get_attribute("open"))
        driver.get(f"{shop.url}/#/study/paying")
        drawn = "return document.body.dataset.drawn"
        browser.wait(driver, lambda: driver.execute_script(drawn).startswith("paying "))
        chart = driver.find_element(By.CSS_SELECTOR, "#when .plot")
        tip = driver.find_element(By.CSS_SELECTOR, "#when .tip")
        chart.send_keys(Keys.HOME)
        first = tip.text
        assert first.startswith("time "), "days and hours are on the axis"
        assert "done" in first
        chart.send_keys(Keys.ARROW_RIGHT)
        assert tip.text != first
        line = "return document.querySelector('#when polyline').getAttribute('points')"
        before = driver.execute_script(line)
        chart.send_keys("+")
        assert driver.execute_script(line) != before
        chart.send_keys(Keys.ESCAPE)
        assert driver.execute_script(line) == before
        assert refused_logs(driver) == []


@pytest.mark.browser
def test_a_window_of_another_width_keeps_what_was_typed_and_chosen(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.admin, "#/study/pricing")
        driver.find_element(By.ID, "reason").send_keys("half a reason")
        estimates = "return document.querySelector('#estimates').textContent"
        before = driver.execute_script(estimates)
        Select(driver.find_element(By.CSS_SELECTOR, "[data-filter=explored]")).select_by_value("true")
        browser.wait(driver, lambda: set(driver.execute_script(REASONS)) == {"scheduled"})
        box = "return document.querySelector('#when svg').getAttribute('viewBox')"
        wide = driver.execute_script(box)
        size = {"width": 700, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.wait(driver, lambda: driver.execute_script(box) != wide)
        assert driver.find_element(By.ID, "reason").get_attribute("value") == "half a reason"
        explored = driver.find_element(By.CSS_SELECTOR, "[data-filter=explored]")
        assert explored.get_attribute("value") == "true"
        assert driver.execute_script(estimates) == before, "the filter is of the table alone"
        assert is_as_wide_as_the_window(driver)


@pytest.mark.browser
def test_a_study_without_decisions_says_so_in_every_panel(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        driver.get(f"{shop.url}/#/study/paused")
        browser.wait(driver, lambda: driver.execute_script("return document.body.dataset.drawn") == "login")
        driver.switch_to.active_element.send_keys(shop.reader, Keys.ENTER)

        def silent() -> list[str]:
            return [text for text in driver.execute_script(PANELS) if "o decision yet" in text]

        browser.wait(driver, lambda: len(silent()) == len(driver.execute_script(PANELS)) == 13)


@pytest.mark.browser
def test_an_admin_pauses_resumes_previews_and_amends(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.admin, "#/study/pricing")
        said = driver.find_element(By.ID, "said")

        def change(button: str, reason: str, words: str) -> None:
            driver.find_element(By.ID, "reason").send_keys(reason)
            driver.find_element(By.ID, button).send_keys(Keys.ENTER)
            browser.wait(driver, lambda: words in said.text)

        change("pause", "", "Say why")
        change("pause", "a holiday", "Exploring is paused.")
        assert shop.study.metrics()["amendments"] == 1
        change("resume", "it is over", "Exploring goes on.")
        policy = driver.find_element(By.ID, "policy")
        policy.clear()
        policy.send_keys("Infex(LinUCB, every(10))")
        change("preview", "", "explorations; as it is now")
        change("amend", "less", "The policy is changed.")
        code = "return document.querySelector('#main code').textContent"
        browser.wait(driver, lambda: "every(10)" in driver.execute_script(code))
        policy.clear()
        policy.send_keys("Infex(")
        change("amend", "wrong", "policy")
        assert shop.study.metrics()["amendments"] == 3


@pytest.mark.browser
def test_a_wrong_token_is_refused_and_may_be_given_again(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        driver.get(shop.url)
        browser.wait(driver, lambda: driver.execute_script("return document.body.dataset.drawn") == "login")
        driver.switch_to.active_element.send_keys("infex_not_it", Keys.ENTER)
        browser.wait(driver, lambda: "may not look" in driver.find_element(By.ID, "refused").text)
        driver.switch_to.active_element.send_keys(shop.reader, Keys.ENTER)
        browser.wait(driver, lambda: bool(driver.find_elements(By.CSS_SELECTOR, ".card")))
        driver.find_element(By.ID, "logout").send_keys(Keys.ENTER)
        browser.wait(driver, lambda: driver.find_element(By.ID, "token").is_displayed())


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong(shop: Shop, width: int) -> None:
    with browser.tab(shop.driver, width) as driver:
        enter(driver, shop, shop.admin)
        for place in ("#/", "#/study/pricing"):
            driver.execute_script("location.hash = arguments[0]", place)
            what = ".card" if place == "#/" else "#when svg"
            browser.wait(driver, lambda what=what: bool(driver.find_elements(By.CSS_SELECTOR, what)))  # type: ignore[misc]
            browser.refuse_what_axe_finds(driver)
        press(driver, "#latest tbody button")
        browser.wait(driver, lambda: bool(driver.find_elements(By.CSS_SELECTOR, "#why svg")))
        browser.refuse_what_axe_finds(driver)


def test_the_page_is_light_and_loads_nothing_from_elsewhere() -> None:
    texts = {name: files(package).joinpath(name).read_text() for package, name, _ in PAGE_FILES.values()}
    assert sum(len(text.encode()) for text in texts.values()) < 100_000
    for name, text in texts.items():
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text
        assert "eval(" not in text
        assert "innerHTML" not in text, "texts of users are never read as HTML"


@pytest.mark.browser
def test_rewards_keep_their_cents_and_shares_say_what_they_are_of(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.reader, "#/study/tutored")
        assert "14.99" in said(driver, "#latest", "own-0")
        explored = said(driver, "#worth dl.figures", "1 round")
        assert "of 1 round (decisions of the policy)" in explored
        days = said(driver, "#days", "alike")
        figures = next(iter(shop.client.study("tutored").metrics()["days"].values()))
        assert figures["apprentice"] == 2
        assert f"{figures['estimated_gain']:g}" in days
