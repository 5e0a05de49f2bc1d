"""How soon the page of a long study is drawn, in headless Chromium: `python -m benchmarks.page 1000000`.

It is opened twice: as soon as the service answers, while the journal is being read, and once it was read.
"""

import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from selenium.webdriver.common.by import By

import infex
from benchmarks.service import ARMS, CONTEXT, FEATURES, serving
from tests.reports import browser

NAME, BATCH = "long", 1000


class PageTimes(NamedTuple):
    """Seconds: from the start of the service to its first answer, to draw the page then, until the journal
    was read, and to draw the page after that (wanted: under 1.5).
    """

    decisions: int
    started: float
    drawn_at_once: float
    read: float
    drawn: float


def measured(decisions: int) -> PageTimes:
    """Times of a study with so many decisions, a third of them rewarded."""
    with tempfile.TemporaryDirectory() as folder:
        _play(f"sqlite:///{folder}/bench.db", decisions)
        with browser.window() as driver:
            return _times(decisions, Path(folder), driver)


def _times(decisions: int, folder: Path, driver: Any) -> PageTimes:
    begun = time.perf_counter()
    with serving(folder) as (port, _):
        url = f"http://127.0.0.1:{port}"
        while _said(f"{url}/readyz").get("status") != "ready":
            time.sleep(0.05)
        started = time.perf_counter() - begun
        at_once = _drawn(driver, url)
        entries = _said(f"{url}/v1/studies/{NAME}")["figures"]["entries"]
        while _said(f"{url}/v1/studies/{NAME}/past")["entries"] < entries:
            time.sleep(0.2)
        read = time.perf_counter() - begun
        return PageTimes(decisions, started, at_once, read, _drawn(driver, url))


def _play(url: str, decisions: int) -> None:
    shop = infex.features.disjoint(ARMS, context_dim=FEATURES)
    policy = infex.Infex(infex.LinUCB(), infex.every(50))
    with infex.Study.open(url, NAME, features=shop, policy=policy) as study:
        for first in range(0, decisions, BATCH):
            keys = [f"k{number}" for number in range(first, first + BATCH)]
            study.ask_many(keys, contexts=[CONTEXT] * BATCH, durable=False)
            study.tell_many(keys[::3], [0.5] * len(keys[::3]), durable=False)
            study.flush()


def _said(url: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url) as answer:
            said: dict[str, Any] = json.loads(answer.read())
            return said
    except OSError:
        return {}


def _drawn(driver: Any, url: str) -> float:
    """Seconds until the charts of the study stand on the page."""
    driver.get("about:blank")
    begun = time.perf_counter()
    driver.get(f"{url}/#/study/{NAME}")
    while not driver.find_elements(By.CSS_SELECTOR, "#when svg, #latest tbody button"):
        time.sleep(0.01)
    return time.perf_counter() - begun


if __name__ == "__main__":
    print(measured(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
