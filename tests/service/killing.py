"""Clients that ask, tell, and send again whatever was not answered, while the service comes and goes."""

import threading

import infex
from infex.client import RemoteDecision, RemoteStudy
from tests.service.running import CONTEXT
from tests.waiting import PATIENCE


class Load:
    """Threads with a client each; every key is asked until it is answered, and asked again now and then."""

    def __init__(self, url: str, clients: int) -> None:
        self.decided: dict[str, RemoteDecision] = {}
        self.told: dict[str, float] = {}
        self.wrong: list[str] = []
        self._answered = threading.Condition()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(url, number)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        """Until so many keys were answered."""
        with self._answered:
            assert self._answered.wait_for(lambda: len(self.decided) >= count, PATIENCE)

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert self.wrong == []

    def _work(self, url: str, number: int) -> None:
        with infex.Client(url, seconds=PATIENCE, fallback=False) as client:
            self._ask_and_tell(client.study("pricing"), number)

    def _ask_and_tell(self, study: RemoteStudy, number: int) -> None:
        place = 0
        while not self._ended.is_set():
            key = f"{number}-{place}"
            decision = study.ask(key, context=CONTEXT)
            with self._answered:
                self.decided[key] = decision
                self._answered.notify_all()
            if place % 3 == 0:
                study.tell(key, 0.1 * (place % 7))
                self.told[key] = 0.1 * (place % 7)
            if place % 4 == 0 and study.ask(key, context=CONTEXT) != decision:
                self.wrong.append(key)
            place += 1
