"""A policy and a schedule of one's own, tested with the contracts that the built-in ones pass."""

from dataclasses import dataclass

import numpy as np

import infex
from infex.testing import PolicyContract, ScheduleContract


class Curious:
    """Plays the arm that is known least."""

    def choose(self, t: int, posterior: infex.models.Posterior, rng: np.random.Generator) -> infex.Choice:
        return infex.Choice(int(np.argmax(posterior.widths)))


@dataclass(frozen=True)
class Weekends(infex.Schedule):
    """Explores on Saturdays and Sundays, one round a day, from a Monday on."""

    grows = True

    def explores(self, t: int) -> bool:
        return t % 7 in (6, 0)

    def count(self, t: int) -> int:
        return 2 * (t // 7) + (t % 7 == 6)

    def when(self, n: int) -> int:
        return (n - 1) // 2 * 7 + (6 if n % 2 else 7)


class TestCurious(PolicyContract):
    """pytest examples/own.py runs these."""

    def make(self) -> infex.Policy:
        return Curious()


class TestWeekends(ScheduleContract):
    """And these."""

    def make(self) -> infex.Schedule:
        return Weekends()


def main() -> None:
    bandit = infex.Bandit(np.eye(3), infex.Infex(Curious(), Weekends() | infex.every(10)))
    for _ in range(14):
        decision = bandit.ask()
        bandit.tell(decision, reward=(0.2, 0.5, 0.3)[decision.arm])
        print(f"day {decision.t:2}: arm {decision.arm}{', explored' if decision.explored else ''}")


if __name__ == "__main__":
    main()
