"""Time passes in plans as rounds are played, and not otherwise."""

import pytest

from infex.lab.planner import evaluation, planner, race
from tests.lab.planner.pace import Pace


@pytest.fixture(autouse=True)
def pace(monkeypatch: pytest.MonkeyPatch) -> Pace:
    found = Pace()
    monkeypatch.setattr(race, "play_many", found.play_many)
    for module in (race, evaluation, planner):
        monkeypatch.setattr(module, "time", found.clock)
    return found
