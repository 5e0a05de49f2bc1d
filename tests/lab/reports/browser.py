"""A headless Chromium, driven by Debian's chromedriver."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from tests.waiting import PATIENCE

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def opened(page: Path, width: int = 1280, height: int = 1000) -> Iterator[Any]:
    """The page, drawn, in a window of that size; on a phone if it is narrow."""
    with window(width, height) as driver:
        driver.get(page.as_uri())
        settle(driver)
        yield driver


@contextlib.contextmanager
def window(width: int = 1280, height: int = 1000) -> Iterator[Any]:
    """A window of that size with nothing in it; on a phone if it is narrow."""
    options: Any = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            _resize(driver, width, height)
            driver.set_page_load_timeout(PATIENCE)
            driver.set_script_timeout(PATIENCE)
            driver.get("about:blank")  # in place of the browser's own first page, whose errors are not ours
            driver.get_log("browser")
            yield driver
        finally:
            driver.quit()


@contextlib.contextmanager
def tab(driver: Any, width: int = 1280, height: int = 1000) -> Iterator[Any]:
    """A new tab of that size in a window that is open, which knows nothing of what others were told."""
    before = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        _resize(driver, width, height)
        for kind in ("browser", "performance"):
            driver.get_log(kind)
        yield driver
    finally:
        driver.close()
        driver.switch_to.window(before)


def _resize(driver: Any, width: int, height: int) -> None:
    if width < 600:
        size = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait(driver: Any, happened: Callable[[], bool]) -> None:
    """Waits until something has happened, however long that takes; a page may draw what is looked at anew."""
    anew = [StaleElementReferenceException]
    WebDriverWait(driver, PATIENCE, ignored_exceptions=anew).until(lambda _: happened())


def texts(driver: Any, selector: str) -> list[str]:
    """What a reader sees in each element, read at one moment: a live page may draw them anew at the next."""
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)"
    found: list[str] = driver.execute_script(script, selector)
    return found


def settle(driver: Any) -> None:
    """Waits until the charts are drawn for the width that the page has, and so are not drawn again."""

    def is_settled() -> bool:
        drawn, width = driver.execute_script(
            "return [document.body.dataset.charts, String(document.body.clientWidth)]"
        )
        return bool(drawn == width)  # none before the script of the page has come to its end

    wait(driver, is_settled)


def press(driver: Any, button: Any) -> None:
    """Clicks on a button, and waits until it is pressed, or is not any more, and charts are drawn."""
    before = button.get_attribute("aria-pressed")
    button.click()
    wait(driver, lambda: bool(button.get_attribute("aria-pressed") != before))
    settle(driver)


def requests(driver: Any) -> list[str]:
    """The addresses that the page asked for, itself first; not those of the browser's own pages."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        and event["params"]["documentURL"] == driver.current_url
    ]


def refuse_what_axe_finds(driver: Any) -> None:
    """Fails where axe-core finds what keyboards or screen readers stumble on, in light or in dark."""
    driver.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text())
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        found = driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        wrong = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
        assert wrong == [], json.dumps(wrong, indent=1)
        assert "color-contrast" in {each["id"] for each in found["passes"]}
