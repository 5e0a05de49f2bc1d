"""The contract of schedules: membership, count and its inverse agree."""

import math
from abc import ABC, abstractmethod

from infex.schedules import Schedule

FAR = 10**12


class ScheduleContract(ABC):
    """Tests for a schedule of your own: inherit, say how it is made, and run pytest.

    class TestMine(infex.testing.ScheduleContract):
        def make(self):
            return Mine()
    """

    far = FAR  # a late round at which the schedule must still answer at once

    @abstractmethod
    def make(self) -> Schedule:
        """The schedule."""

    def test_the_count_rises_by_one_in_exploring_rounds(self) -> None:
        schedule = self.make()
        assert schedule.count(0) == 0
        for t in [*range(1, 3000), *range(self.far - 300, self.far)]:
            assert schedule.count(t) - schedule.count(t - 1) == schedule.explores(t)

    def test_when_is_the_round_of_the_nth_exploration(self) -> None:
        schedule = self.make()
        for n in (1, 2, 3, 5, 8, 100, max(schedule.count(self.far), 1)):
            t = schedule.when(n)
            if t == math.inf:
                assert schedule.count(self.far) < n
            else:
                assert schedule.explores(int(t))
                assert schedule.count(int(t)) == n

    def test_growth_is_known_or_said_to_be_unknown(self) -> None:
        assert self.make().grows in (True, False, None)

    def test_it_reads_well(self) -> None:
        assert " object at 0x" not in repr(self.make())
