"""Visitors who ask and tell over HTTP, and send everything again until it is answered."""

import http.client
import itertools
import json
import threading
import time
import traceback
from collections import Counter
from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple, final

from benchmarks.operator_hour.ledger import Acknowledged, Ledger
from benchmarks.operator_hour.shops import Shop

GIVES_UP = 5.0  # seconds, after which a request is sent again, to the next instance
PAUSE = 0.2  # seconds before that
LONGEST = 600.0  # seconds, after which a request counts as lost
VISITORS = 4  # of each study
REQUESTS_OF_UNIT = 10
BATCH, SHARE_OF_BATCHES = 20, 0.05
SHARE_REPEATED, SHARE_UNREWARDED, SHARE_NOT_EXPLORED = 0.05, 0.1, 0.05
DELAYS = (2.0, 2.0, 2.0, 40.0)  # mean seconds until a reward is told: one of them


class Reply(NamedTuple):
    """The answer to a request, and when that was sent first, and answered."""

    status: int
    content: Any
    sent: float
    answered: float


@final
class RetryingClient:
    """Posts to the instances at some ports, each time until one of them answers, but not with 5xx or 429.

    `statuses` counts all answers, "none" where there was none; `answered` has the times of the good ones. One
    thread uses it.
    """

    def __init__(self, ports: list[int]) -> None:
        self._ports = itertools.cycle(ports)
        self._port = next(self._ports)
        self._connection: http.client.HTTPConnection | None = None
        self.statuses: Counter[int | str] = Counter()
        self.answered: list[float] = []

    def post(self, path: str, body: object) -> Reply:
        """The answer, however long it takes."""
        data, sent = json.dumps(body).encode(), time.monotonic()
        while True:
            try:
                status, content = self._exchange(path, data)
            except (OSError, http.client.HTTPException):
                status, content = "none", b""
            self.statuses[status] += 1
            if isinstance(status, int) and status < 500 and status != 429:
                now = time.monotonic()
                self.answered.append(now)
                return Reply(status, json.loads(content), sent, now)
            if time.monotonic() > sent + LONGEST:
                raise TimeoutError(f"POST {path} had no answer in {LONGEST:g} s")
            self._close()
            self._port = next(self._ports)
            time.sleep(PAUSE)

    def _exchange(self, path: str, data: bytes) -> tuple[int | str, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=GIVES_UP)
        self._connection.request("POST", path, data)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


@final
class Visitor(threading.Thread):
    """Asks for decisions of one unit after the other, and tells most of their rewards, some of them late."""

    def __init__(
        self, shop: Shop, ledger: Ledger, ports: list[int], number: int, rate: float, ended: threading.Event
    ) -> None:
        super().__init__(name=f"visitor {number} of {shop.name}")
        self.client, self._path = RetryingClient(ports), f"/v1/studies/{shop.name}"
        self._shop, self._ledger, self._number, self._ended = shop, ledger, number, ended
        self._rng, self._count = Random(number), itertools.count()
        self._pause = VISITORS * (1 + SHARE_OF_BATCHES * (BATCH - 1)) / rate
        self._due: list[tuple[float, str, float]] = []  # when which reward is to be told

    def run(self) -> None:
        """Goes on until it is ended; what was begun then is finished."""
        try:
            while not self._ended.is_set():
                unit = f"{self._shop.name}-{self._number}-{next(self._count)}@example.com"
                for _ in range(REQUESTS_OF_UNIT):
                    self._ask(unit)
                    self._tell_due()
                    self._ended.wait(self._rng.expovariate(1 / self._pause))
                self._ledger.settled.append(unit)
        except Exception:
            self._ledger.wrong.append(traceback.format_exc())

    def _ask(self, unit: str) -> None:
        """One decision, or a batch; sometimes once more."""
        rng = self._rng
        requests = [self._request(unit) for _ in range(BATCH if rng.random() < SHARE_OF_BATCHES else 1)]
        body = requests if len(requests) > 1 else requests[0]
        for _ in range(2 if rng.random() < SHARE_REPEATED else 1):
            reply = self.client.post(f"{self._path}/decisions", body)
            if reply.status != 200:
                self._ledger.expect(False, f"a decision was refused: {reply.content}")
                return
            answers = reply.content if isinstance(body, list) else [reply.content]
            for request, answer in zip(requests, answers, strict=True):
                self._ledger.add_decision(Acknowledged(request, answer, reply.sent, reply.answered))
        for request in requests:
            if rng.random() > SHARE_UNREWARDED:
                delay, reward = rng.expovariate(1 / rng.choice(DELAYS)), round(rng.gauss(0.5, 0.2), 6)
                heappush(self._due, (time.monotonic() + delay, request["key"], reward))

    def _request(self, unit: str) -> dict[str, Any]:
        key = f"{self._number}-{next(self._count)}"
        request = self._shop.request(self._rng, self._ledger.more_features) | {"key": key, "unit": unit}
        return request | ({"explore": False} if self._rng.random() < SHARE_NOT_EXPLORED else {})

    def _tell_due(self) -> None:
        """Rewards whose time has come: one by one, or all in a batch."""
        rewards: dict[str, float] = {}
        while self._due and self._due[0][0] <= time.monotonic():
            _, key, reward = heappop(self._due)
            rewards[key] = reward
        if len(rewards) > 1 and self._rng.random() < 0.5 and not any(map(self._ledger.is_erased, rewards)):
            body = [{"key": key, "reward": reward} for key, reward in rewards.items()]
            reply = self.client.post(f"{self._path}/rewards", body)
            if reply.status == 200:
                states = {each["key"]: each["state"] for each in reply.content}
                self._ledger.rewards.update({key: (rewards[key], states[key]) for key in rewards})
                return
            self._ledger.expect(any(map(self._ledger.is_erased, rewards)), f"a batch: {reply.content}")
        for key, reward in rewards.items():
            self._tell(key, reward)

    def _tell(self, key: str, reward: float) -> None:
        """One reward; sometimes once more, and sometimes another one, which is to be refused."""
        ledger, rng = self._ledger, self._rng
        for again in range(2 if rng.random() < SHARE_REPEATED else 1):
            reply = self.client.post(f"{self._path}/rewards", {"key": key, "reward": reward})
            if reply.status == 200:
                ledger.rewards.setdefault(key, (reward, reply.content["state"]))
            else:
                is_late = ledger.is_erased(key) or (again and key in ledger.corrections)
                ledger.expect(bool(is_late), f"the reward of {key} was refused: {reply.content}")
        if rng.random() < SHARE_REPEATED and key in ledger.rewards:
            reply = self.client.post(f"{self._path}/rewards", {"key": key, "reward": reward + 1})
            ledger.expect(reply.status != 200, f"{key} took two rewards")
