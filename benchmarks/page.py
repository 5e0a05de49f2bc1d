"""How soon the page of a long study is drawn, in headless Chromium: `python -m benchmarks.page 1000000`.

It is opened as soon as a service answers that starts for the first time, so that it reads the whole journal;
once the journal is read; and as soon as a service answers that was started again. A folder may be named, in
which the study is played once and found again.
"""

import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from selenium.webdriver.common.by import By

import infex
from benchmarks.service import ARMS, CONTEXT, FEATURES, processor_seconds, serving
from tests.lab.reports import browser

NAME, BATCH = "long", 1000


class PageRow(NamedTuple):
    """Seconds from opening the page until its charts stand there (wanted: 1.5), the share of the journal that
    they show, and the processor time that service and browser took meanwhile.
    """

    opened: str
    drawn: float
    shown: float
    processor: float


def table(decisions: int, folder: Path) -> list[PageRow]:
    """Three times, of a study with so many decisions, a third of them rewarded."""
    for past in folder.glob("bench.db.past*"):
        past.unlink()
    if not (folder / "bench.db").exists():
        _play(f"sqlite:///{folder}/bench.db", decisions)
    with browser.window() as driver:
        return [*_first_start(folder, driver), *_next_start(folder, driver)]


def _first_start(folder: Path, driver: Any) -> list[PageRow]:
    with serving(folder) as (port, process):
        url = _ready(port)
        first = _row("first start, at once", driver, url, process)
        entries = _said(f"{url}/v1/studies/{NAME}")["figures"]["entries"]
        while _said(f"{url}/v1/studies/{NAME}/past")["entries"] < entries:
            time.sleep(0.2)
        return [first, _row("journal read", driver, url, process)]


def _next_start(folder: Path, driver: Any) -> list[PageRow]:
    with serving(folder) as (port, process):
        return [_row("next start, at once", driver, _ready(port), process)]


def _ready(port: int) -> str:
    url = f"http://127.0.0.1:{port}"
    while _said(f"{url}/readyz").get("status") != "ready":
        time.sleep(0.02)
    return url


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


def _row(opened: str, driver: Any, url: str, process: int) -> PageRow:
    """Opens the page of the study, and waits for its charts."""
    driver.get("about:blank")
    begun, before = time.perf_counter(), _processor(process)
    driver.get(f"{url}/#/study/{NAME}")
    while not driver.find_elements(By.CSS_SELECTOR, "#when svg"):
        time.sleep(0.01)
    drawn, spent = time.perf_counter() - begun, _processor(process) - before
    entries = _said(f"{url}/v1/studies/{NAME}")["figures"]["entries"]
    read = int(driver.execute_script("return document.body.dataset.drawn").split()[-1])
    return PageRow(opened, drawn, read / entries, spent)


def _processor(process: int) -> float:
    """Processor time so far of a service, and of all that this process has started beside it: the browser."""
    ours, parents = {os.getpid()}, _parents()
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(map(processor_seconds, (ours - {os.getpid()}) | {process}))


def _parents() -> dict[int, int]:
    """Whose child each process is."""
    stats = [(int(path.name), path / "stat") for path in Path("/proc").iterdir() if path.name.isdigit()]
    texts = [(number, stat.read_text()) for number, stat in stats if stat.exists()]
    return {number: int(text.rpartition(")")[2].split()[1]) for number, text in texts}


def measured(decisions: int) -> list[PageRow]:
    """The same in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return table(decisions, Path(folder))


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for row in table(count, Path(sys.argv[2])) if len(sys.argv) > 2 else measured(count):
        print(row)
