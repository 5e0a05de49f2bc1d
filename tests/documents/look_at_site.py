"""Opens the built site in Chromium: nothing scrolls sideways or loads from elsewhere; search and copy work.

`make docs` runs it after building; without a browser it says so.
"""

import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SITE = Path(__file__).parent.parent.parent / "docs" / "_build"
WIDTHS = (1280, 390)
LOADED = "return performance.getEntriesByType('resource').map(each => each.name)"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def opened() -> webdriver.Chrome:
    """A browser without a window."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(word)
    options.binary_location = str(shutil.which("chromium"))
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def look(browser: webdriver.Chrome, base: str) -> list[str]:
    """What is wrong with any page, at a wide and a narrow width."""
    wrong = []
    for width in WIDTHS:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for page in sorted(SITE.rglob("*.html")):
            browser.get(base + str(page.relative_to(SITE)))
            if browser.execute_script("return document.documentElement.scrollWidth") > width:
                wrong.append(f"{page.name} scrolls sideways at {width}")
            wrong += [f"{page.name} loads {url}" for url in browser.execute_script(LOADED) if base not in url]
    return wrong


def search(browser: webdriver.Chrome, base: str) -> list[str]:
    """Does a search for a schedule find its page?"""
    browser.get(base + "search.html?q=jittered")
    WebDriverWait(browser, 30).until(lambda page: page.find_elements(By.CSS_SELECTOR, "ul.search li a"))
    found = [
        each.get_attribute("href") or "" for each in browser.find_elements(By.CSS_SELECTOR, "ul.search li a")
    ]
    return [] if any("api/schedules" in each for each in found) else [f"search finds {found}"]


def copy(browser: webdriver.Chrome, base: str) -> list[str]:
    """Has every block of code a button, which answers?"""
    browser.get(base + "start.html")
    blocks, buttons = (
        browser.find_elements(By.CSS_SELECTOR, each) for each in ("div.highlight", "button.copybtn")
    )
    browser.execute_script("arguments[0].click()", buttons[0])
    WebDriverWait(browser, 30).until(lambda _: "success" in (buttons[0].get_attribute("class") or ""))
    return [] if len(blocks) == len(buttons) else [f"{len(blocks)} blocks have {len(buttons)} buttons"]


def main() -> None:
    """Looks, and ends with what is wrong."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("*** no chromium here: the site is built, and not looked at ***")
        return
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser, base = opened(), f"http://127.0.0.1:{server.server_port}/"
        try:
            wrong = [*look(browser, base), *search(browser, base), *copy(browser, base)]
        finally:
            browser.quit()
            server.shutdown()
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
