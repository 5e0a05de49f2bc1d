"""What tests of studies share: a clock that is set by hand, small studies, and their journals."""

from pathlib import Path
from typing import Any

import infex
from infex.study.journal import Entry
from infex.study.snapshot import replay_journal
from infex.study.stores.base import reading
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


def replayed(study: Study, **given: object) -> str:
    """The digest of what the journal alone comes to."""
    study.flush()
    with reading(study.url, study.name) as store:
        state, _ = replay_journal(store, study.name, given)
    return state.digest()


def entries_of(study: Study) -> list[Entry]:
    """All entries of its journal."""
    study.flush()
    with reading(study.url, study.name) as store:
        return list(store.read(study.name))


def pulls(study: Study) -> int:
    """How many rewards were learnt."""
    found = study.bandit().pulls
    assert found is not None
    return int(found.sum())
