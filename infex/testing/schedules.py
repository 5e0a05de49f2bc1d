"""The contract of schedules: membership, count and its inverse agree."""

import math

from infex.schedules import Schedule

FAR_AWAY = 10**12


class ScheduleContract:
    """Tests for a schedule of your own: inherit, say how it is made, and run pytest.

    class TestMine(infex.testing.ScheduleContract):
        def make(self):
            return Mine()
    """

    far = FAR_AWAY  # a late round at which the schedule must still answer at once

    def make(self) -> Schedule:
        """The schedule."""
        raise NotImplementedError(f"{type(self).__name__} must say in `make` how its schedule is made")

    def test_the_count_rises_by_one_in_exploring_rounds(self) -> None:
        schedule = self.make()
        assert schedule.count(0) == 0
        for t in [*range(1, 3000), *range(self.far - 300, self.far)]:
            rise = schedule.count(t) - schedule.count(t - 1)
            assert rise == schedule.explores(t), f"count rises by {rise} in round {t}"

    def test_when_is_the_round_of_the_nth_exploration(self) -> None:
        schedule = self.make()
        for n in (1, 2, 3, 5, 8, 100, max(schedule.count(self.far), 1)):
            t = schedule.when(n)
            if t == math.inf:
                assert schedule.count(self.far) < n, f"when({n}) is inf, but {self.far} rounds hold as many"
            else:
                assert schedule.explores(int(t)), f"round {t} = when({n}) does not explore"
                assert schedule.count(int(t)) == n, (
                    f"count({t}) is {schedule.count(int(t))}, when({n}) is {t}"
                )

    def test_growth_is_known_or_said_to_be_unknown(self) -> None:
        assert self.make().grows in (True, False, None)

    def test_it_reads_well(self) -> None:
        assert " object at 0x" not in repr(self.make()), "give it a __repr__, for logs and tables"
