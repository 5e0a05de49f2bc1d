"""A process whose 16 threads ask, tell, retry and ask again for what is long decided, until it is killed.

python -m tests.study.local_worker URL NAME CYCLE
"""

import itertools
import json
import random
import sys
import threading

from infex.study.study import Study

THREADS = 16


def main(url: str, name: str, cycle: str) -> None:
    study, printing = Study.open(url, name), threading.Lock()

    def work(thread: int) -> None:
        rng = random.Random(f"{cycle} {thread}")
        for n in itertools.count():
            key = f"{cycle}-{thread}-{n}x"
            decision = study.ask(key, unit=key, durable=rng.random() < 0.8)
            assert study.ask(key, unit=key) == decision
            told = rng.random() < 0.7
            if told:
                study.tell(key, (n % 5) / 5)
                study.tell(key, (n % 5) / 5)
            with printing:
                print(json.dumps([key, decision.t, decision.arm, decision.explored, told]), flush=True)
            earlier = f"{cycle}-{thread}-{rng.randrange(n + 1)}x"
            assert study.ask(earlier, unit=earlier).id == earlier

    running = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for each in running:
        each.start()
    for each in running:
        each.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
