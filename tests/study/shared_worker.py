"""A process that asks and tells from some threads, with transactions that are aborted; prints all answers.

python -m tests.study.shared_worker URL NAME WORKER THREADS DECISIONS ABORTED
"""

import json
import random
import sys
import threading
from typing import Any

from infex.errors import StoreFailed
from infex.study.stores import postgres
from infex.study.study import Study
from tests.waiting import PATIENCE

PAUSE = 0.02  # seconds


def abort_some(share: float, seed: str) -> None:
    """From now on that share of transactions fail after they have moved the counter."""
    rng, append = random.Random(seed), postgres._append

    def failing(connection: Any, *given: Any) -> None:
        with connection.transaction():
            append(connection, *given)
            if rng.random() < share:
                raise StoreFailed("aborted on purpose")

    postgres._append = failing  # type: ignore[assignment]


def insisting(call: Any, *given: Any, **more: Any) -> Any:
    """What a call gives in the end: who was not acknowledged asks again, and nobody waits for ever."""
    for _ in range(int(PATIENCE / PAUSE)):
        try:
            return call(*given, **more)
        except StoreFailed:
            threading.Event().wait(PAUSE)  # a server that restarts needs its time
    raise AssertionError(f"the store failed for {PATIENCE:g} s")


def main(url: str, name: str, worker: str, threads: str, decisions: str, aborted: str) -> None:
    study: Study = insisting(Study.open, url, name)
    abort_some(float(aborted), worker)
    printing = threading.Lock()

    def work(thread: int) -> None:
        for n in range(int(decisions)):
            key = f"{worker}-{thread}-{n}x"
            decision = insisting(study.ask, key, unit=key)
            if n % 3:
                insisting(study.tell, key, (n % 5) / 5)
            with printing:
                print(json.dumps([key, decision.t, decision.arm, decision.explored, n % 3 > 0]), flush=True)

    running = [threading.Thread(target=work, args=(thread,)) for thread in range(int(threads))]
    for each in running:
        each.start()
    for each in running:
        each.join()
    print(json.dumps(["end", insisting(study.metrics)["entries"]]), flush=True)
    study.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
