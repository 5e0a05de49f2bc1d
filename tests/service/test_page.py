"""The page as a reader sees it, in a real browser, while the service works."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

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
from tests.waiting import PATIENCE

SHOP = infex.features.disjoint(
    ["tea", "juice", "still\u2028water"], context=infex.features.table({"age": (18, 90)})
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
        self.study = self.client.open("pricing", features=SHOP, policy=POLICY, seed=7, holdout=0.1)
        self.client.open("paused", arms=[[1.0, 0.0], [0.0, 1.0]], policy="Infex(LinUCB, every(3))")
        self.client.study("paused").amend(reason="holiday", explore=False)
        self.asked = 0
        self.ask(60)
        self.ask_large()

    def ask(self, count: int) -> None:
        keys = [f"order-{self.asked + place}" for place in range(count)]
        self.study.ask_many(keys, contexts=[{"age": 20 + place % 60} for place in range(count)])
        self.study.tell_many(keys[: count // 2], [0.1 * (place % 10) for place in range(count // 2)])
        self.asked += count

    def ask_large(self) -> None:
        """A study with rewards of ten millions, where the longest of reasons is given."""
        study = self.client.open("large", arms=[[1.0, 0.0], [0.0, 1.0]], policy=LARGE)
        keys = [f"large-{place}" for place in range(40)]
        for place, key in enumerate(keys):
            study.ask(key, explore=place % 4 == 0)
            study.tell(key, 1e7 * (1 + place % 3))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("page")
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
        _, paused, pricing = driver.execute_script(
            "return [...document.querySelectorAll('.card')].map((card) => card.innerText)"
        )
        assert paused.startswith("paused paused\n")
        assert pricing.startswith("pricing\n")
        assert f"decisions\n{shop.asked}\n{held(shop)} of them held out" in pricing
        assert is_as_wide_as_the_window(driver)
        press(driver, ".card a[href$=pricing]")
        browser.wait(driver, lambda: bool(driver.find_elements(By.CSS_SELECTOR, "#when svg")))
        assert len(driver.find_elements(By.CSS_SELECTOR, "#when polyline")) == 2
        assert len(driver.find_elements(By.CSS_SELECTOR, "#when .mark")) >= 8
        assert driver.find_elements(By.CSS_SELECTOR, "#when .due")
        assert driver.find_elements(By.CSS_SELECTOR, "#cost .limit")
        assert "limit 40" in driver.find_element(By.CSS_SELECTOR, "#main dl.figures").text
        for name in ("shares polygon", "estimates circle", "reward polyline", "delay rect", "days td"):
            assert driver.find_elements(By.CSS_SELECTOR, f"#{name}"), name
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


def held(shop: Shop) -> int:
    count: int = shop.study.metrics()["held_out"]["decisions"]
    return count


@pytest.mark.browser
def test_lift_says_which_rewards_are_missing_and_what_to_do(shop: Shop) -> None:
    with browser.tab(shop.driver) as driver:
        enter(driver, shop, shop.reader, "#/study/pricing")
        press(driver, "dl.figures button")
        said = "return document.querySelector('#lift').textContent"
        browser.wait(driver, lambda: bool(driver.execute_script(said)))
        words = driver.execute_script(said)
        assert "this study has no `wait`" in words
        assert "0 where nothing came of it" in words
        assert "% of those held out" in words
        assert is_as_wide_as_the_window(driver)


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
        chart = driver.find_element(By.CSS_SELECTOR, "#when .plot")
        tip = driver.find_element(By.CSS_SELECTOR, "#when .tip")
        chart.send_keys(Keys.HOME)
        assert tip.text.startswith("round 1:")
        chart.send_keys(Keys.ARROW_RIGHT)
        assert tip.text.startswith("round 2:")
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

        browser.wait(driver, lambda: len(silent()) == len(driver.execute_script(PANELS)) == 9)


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
        browser.wait(driver, lambda: "every(10)" in driver.find_element(By.CSS_SELECTOR, "#main code").text)
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
