"""What tests of studies share: a clock that is set by hand, and small studies."""

from pathlib import Path
from typing import Any

import infex
from infex.study.opening import replayed
from infex.study.study import Study

POLICY = infex.Infex(infex.LinUCB(), infex.every(5))
ARMS = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]


class Clock:
    """Tells the time that it is set to."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/shop.db"


def shop(folder: Path, name: str = "shop", clock: Clock | None = None, **settings: Any) -> Study:
    """A study of three fixed arms, unless settings say otherwise; opened again, if it is there."""
    if name not in infex.studies(url_in(folder)):
        settings = {"policy": POLICY, "seed": 7, **settings}
        if not {"arms", "dim", "features"} & settings.keys():
            settings["arms"] = ARMS
    return Study.open(url_in(folder), name, clock=Clock() if clock is None else clock, **settings)


def state_of(study: Study) -> tuple[str, Any]:
    """All of a state, to be compared."""
    standing = study._desk.standing
    return standing.bandit.digest(), standing.record()


def replayed_state(study: Study, **given: object) -> tuple[str, Any]:
    """What the journal alone comes to."""
    study.flush()
    standing, _ = replayed(study._desk.store, study.name, given, snapshots=False)
    return standing.bandit.digest(), standing.record()


def pulls(study: Study) -> int:
    """How many rewards were learnt."""
    found = study._desk.standing.bandit.pulls
    assert found is not None
    return int(found.sum())
