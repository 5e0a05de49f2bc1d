"""The page of `infex serve --demo`, as headless Chromium shows it when the site is built."""

from __future__ import annotations

import shutil
from pathlib import Path

from docs.building.serving import served

WIDTH, HEIGHT = 1280, 1180
DRAWN = "return document.querySelectorAll('#when svg').length > 0 && document.body.dataset.heard > 0"
NONE = "*There was no Chromium where this site was built; `infex serve --demo` shows the page.*"


def is_possible() -> bool:
    """Is there a browser, and what drives it?"""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


def write(words: str, _: list[str]) -> str:
    """The picture with its words, or a line that says why there is none."""
    return f"![{words}](/_static/pictures/service.png)" if is_possible() else NONE


def take(path: Path) -> None:
    """Starts the simulated shop, opens its page, and keeps what is seen once the study is drawn."""
    if is_possible():
        with served("--demo") as url:
            photograph(f"{url}/#/study/shop", path)


def photograph(url: str, path: Path) -> None:
    """What a browser shows of an address."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={WIDTH},{HEIGHT}",
    ):
        options.add_argument(word)
    options.binary_location = str(shutil.which("chromium"))
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(url)
        WebDriverWait(browser, 600).until(lambda page: page.execute_script(DRAWN))
        path.write_bytes(browser.get_screenshot_as_png())
    finally:
        browser.quit()
