import math

import pytest

from infex import Schedule, always, budget, every, jittered, listed, logarithmic, never, power, stretched
from infex.schedules import from_count
from infex.testing import ScheduleContract

SCHEDULES = [
    every(1),
    every(7),
    every(7, offset=3),
    always(),
    never(),
    stretched(0),
    stretched(0.3),
    stretched(1),
    stretched(2),
    stretched(3),
    power(1),
    power(0.9),
    power(0.75),
    power(0.5),
    power(1 / 3),
    logarithmic(0.5),
    logarithmic(1),
    logarithmic(1.5),
    logarithmic(2),
    logarithmic(3),
    logarithmic(7.5),
    logarithmic(400),
    listed([5, 3, 900]),
    from_count(lambda t: math.sqrt(t) + 3),
    from_count(lambda t: t),
    jittered(6, seed=4),
    jittered(1, seed=4),
    budget(every(20), 30),
    budget(stretched(1), 0),
    budget(jittered(20, 1), 10**9),
    every(20) | every(30, offset=7),
    every(6) | every(10) | every(15),
    every(20) | listed([1, 2, 3, 40]),
    every(20) | logarithmic(2),
    budget(every(50), 40) | logarithmic(3) | listed([17]),
]


@pytest.fixture(params=SCHEDULES, ids=repr)
def schedule(request: pytest.FixtureRequest) -> Schedule:
    found: Schedule = request.param
    return found


class TestBuiltIn(ScheduleContract):
    @pytest.fixture(autouse=True)
    def _use(self, schedule: Schedule) -> None:
        self.schedule = schedule

    def make(self) -> Schedule:
        return self.schedule
