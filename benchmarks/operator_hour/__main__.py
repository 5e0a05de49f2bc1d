"""Runs the hour, checks what is left of it, and prints its figures; exit code 1 if anything is wrong."""

import argparse
import sys
import tempfile
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

import infex
from benchmarks.operator_hour.checks import check_study, files_with
from benchmarks.operator_hour.ledger import Ledger
from benchmarks.operator_hour.load import VISITORS, RetryingClient, Visitor
from benchmarks.operator_hour.operations import Operator
from benchmarks.operator_hour.shops import Banners, Pricing, Shop
from benchmarks.operator_hour.systems import FaultInjector, OnPostgres, OnSQLite, System
from infex.client import RemoteStudy

SILENCE = 1.0  # seconds without a good answer to anybody that count
ASKED_AGAIN = 300  # decisions, at the end
OPERATIONS, FAULTS = 240, 24  # in an hour; in less time more often, but not without pauses


class Run:
    """The load, the operators and the faults of one system."""

    def __init__(self, system: System, rate: float, minutes: float) -> None:
        self.system, self._ended = system, threading.Event()
        shops: list[Shop] = [Pricing(), Banners()]
        self.ledgers = [Ledger(shop.name) for shop in shops]
        with infex.Client(f"http://127.0.0.1:{system.ports[0]}", seconds=60.0) as client:
            for shop in shops:
                client.open(shop.name, **shop.settings)
        pause = max(60 * minutes / OPERATIONS, 1.0)
        pairs: list[tuple[Shop, Ledger]] = list(zip(shops, self.ledgers, strict=True))
        self.visitors = [
            Visitor(shop, ledger, system.ports, number, rate / len(pairs), self._ended)
            for shop, ledger in pairs
            for number in range(VISITORS)
        ]
        self.operators = [Operator(*pair, system.ports, pause, self._ended) for pair in pairs]
        self.injector = FaultInjector(system, max(60 * minutes / FAULTS, 8.0), self._ended)
        self._threads = [*self.visitors, *self.operators, self.injector]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Lets everybody finish what they have begun."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def check(self, folder: Path) -> list[str]:
        """Whatever is wrong, once it has ended; the services are stopped meanwhile."""
        client = RetryingClient(self.system.ports)
        for operator, ledger in zip(self.operators, self.ledgers, strict=True):
            ask_again(ledger, client)
            path = folder / f"{self.system.name}-{ledger.study}.parquet"
            operator.call(partial(RemoteStudy.export, path=path))
            verdict = operator.call(RemoteStudy.verify)
            ledger.expect(verdict["holds"], f"verify over HTTP: {verdict}")
        wrong = [*self.injector.wrong, *self.system.unexpected_errors()]
        self.memory = [(each.memory_at_start, each.memory()) for each in self.system.instances]
        codes = [instance.stop() for instance in self.system.instances]
        if any(codes):
            wrong.append(f"instances ended with {codes}")
        self.system.rewrite()
        for ledger in self.ledgers:
            check_study(ledger, self.system.url, folder / f"{self.system.name}-{ledger.study}.parquet")
            left = files_with(self.system.files, [unit.encode() for unit in ledger.erased])
            ledger.expect(not left, f"units that were erased are in files: {left}")
            wrong += ledger.wrong
        statuses = self.statuses()
        if odd := [
            status for status in statuses if isinstance(status, int) and status >= 500 and status != 503
        ]:
            wrong.append(f"answers with {odd}")
        return wrong

    def statuses(self) -> Counter[int | str]:
        """How often visitors were answered with which status."""
        return sum((visitor.client.statuses for visitor in self.visitors), Counter[int | str]())

    def figures(self) -> dict[str, str]:
        """The figures of the run, by name."""
        every = [each for ledger in self.ledgers for each in ledger.decisions.values()]
        taken = [1000 * (each.answered - each.sent) for each in every]
        p50, p99 = np.quantile(taken, [0.5, 0.99])
        times = np.sort(np.concatenate([visitor.client.answered for visitor in self.visitors]))
        gaps = np.diff(times)
        silent, statuses = gaps[gaps > SILENCE], self.statuses()
        memory = ", ".join(f"{before:.0f} to {after:.0f}" for before, after in self.memory)

        def total(name: str) -> str:
            return f"{sum(len(getattr(ledger, name)) for ledger in self.ledgers):,}"

        read = sum((ledger.read for ledger in self.ledgers), Counter[str]())
        return {
            "decisions": f"{len(every):,}",
            "rewards": total("rewards"),
            "corrections": total("corrections"),
            "units erased": total("erased"),
            "amendments": total("amendments"),
            **{name: f"{count:,}" for name, count in sorted((read + self.injector.counts).items())},
            "answers 503": f"{statuses[503]:,}",
            "requests without answer": f"{statuses['none']:,}",
            "seconds without answer": f"{silent.sum():.1f}, at most {silent.max(initial=0):.1f}",
            "p50, p99 of a decision": f"{p50:.1f}, {p99:.1f} ms",
            "memory of instances": f"{memory} MB",
            "size of database": f"{self.system.size():.0f} MB",
        }


def ask_again(ledger: Ledger, client: RetryingClient) -> None:
    """Some decisions are asked for once more: the same answer, or that it was erased."""
    keys = list(ledger.decisions)
    step = max(1, len(keys) // ASKED_AGAIN)
    erased = [key for unit in ledger.erased for key in ledger.keys[unit]]
    for key in dict.fromkeys([*keys[::step], *erased]):
        known = ledger.decisions[key]
        reply = client.post(f"/v1/studies/{ledger.study}/decisions", known.request)
        if ledger.is_erased(key):
            is_right = reply.status == 404 and "was erased" in reply.content["message"]
        else:
            is_right = reply.content == known.answer
        ledger.expect(is_right, f"{key} is answered otherwise in the end: {reply.content}")


def main() -> int:
    """Runs it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=40.0, help="decisions a second of each database")
    parser.add_argument("--megabytes", type=int, default=8000, help="size of each disk")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server's user looks into it
        systems = OnSQLite(folder, given.megabytes), OnPostgres(folder, given.megabytes)
        try:
            runs = [Run(system, given.rate, given.minutes) for system in systems]
            threading.Event().wait(60 * given.minutes)
            for run in runs:
                run.end()
            wrong = [words for run in runs for words in run.check(folder)]
            figures = [run.figures() for run in runs]
        finally:
            for system in systems:
                system.close()
    for row in figures[1] | figures[0]:
        print(f"{row:26}" + "".join(f"{each.get(row, ''):>26}" for each in figures))
    print(f"{len(wrong)} things are wrong", *wrong[:50], sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
