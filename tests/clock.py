"""A clock that tests set."""

from typing import final


@final
class Clock:
    """Takes the place of the module `time`; its time passes when a test says so.

    With `tick`, every look at it takes that many seconds.
    """

    def __init__(self, tick: float = 0.0) -> None:
        self.now = 1000.0  # only differences mean anything
        self.tick = tick

    def perf_counter(self) -> float:
        self.now += self.tick
        return self.now

    monotonic = thread_time = perf_counter
