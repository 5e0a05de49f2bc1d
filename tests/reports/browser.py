"""A headless Chromium, driven by Debian's chromedriver."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

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
    """The page in a window of that size; on a phone if it is narrow."""
    options: Any = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            if width < 600:
                size = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            driver.get("about:blank")  # in place of the browser's own first page, whose requests are not ours
            driver.get_log("performance")
            driver.get(page.as_uri())
            yield driver
        finally:
            driver.quit()


def requests(driver: Any) -> list[str]:
    """The addresses that the page asked for."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
