"""A service in a process of its own whose disk stands still until it is let go."""

import contextlib
import json
import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.service.serving_here import listening
from tests.waiting import PATIENCE

PROGRAM = """
import json, os, sys
from infex.service.server import Listening, serve
from infex.service.schemas import ServiceLimits
from infex.study.stores.sqlite import SQLiteStore

url, limits, gate, begun = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
append = SQLiteStore.append

def held(store, name, entries, after):
    if entries[0].kind == "decision":
        os.write(begun, b".")
        os.read(gate, 1)
    append(store, name, entries, after)

SQLiteStore.append = held
said = lambda address: print("at " + address, file=sys.stderr, flush=True)
serve(Listening(url=url, port=0, limits=ServiceLimits(**limits)), said)
"""


class HeldService:
    """Its address and process; a commit of decisions waits until one is let go."""

    def __init__(self, url: str, process: Popen[Any], gate: int, begun: int) -> None:
        self.url, self.process, self._gate, self._begun = url, process, gate, begun

    def let_go(self, commits: int) -> None:
        """So many commits go on."""
        os.write(self._gate, b"." * commits)

    def wait_for_commit(self) -> None:
        """Until another commit has begun."""
        ready, _, _ = select.select([self._begun], [], [], PATIENCE)
        assert ready, "no commit began"
        os.read(self._begun, 1)


@contextlib.contextmanager
def held_service(folder: Path, **limits: int) -> Iterator[HeldService]:
    """A service with these limits, on a database in a folder."""
    (behind, gate), (begun, before) = os.pipe(), os.pipe()
    url, ends = f"sqlite:///{folder}/shop.db", (str(behind), str(before))
    words = [sys.executable, "-c", PROGRAM, url, json.dumps(limits), *ends]
    try:
        with listening(words, pass_fds=(behind, before)) as (address, process):
            yield HeldService(address, process, gate, begun)
    finally:
        for end in (behind, gate, begun, before):
            os.close(end)
