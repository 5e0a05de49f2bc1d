"""A log that a study exports is one that infex reads."""

from pathlib import Path

import pytest

import infex
from infex.evaluation import read
from infex.study.exporting import export
from tests.study.studies import ARMS, shop


@pytest.mark.parametrize("chooses", [False, True], ids=["all on offer", "some on offer"])
def test_an_export_is_read_as_a_log(tmp_path: Path, chooses: bool) -> None:
    with shop(tmp_path, policy=infex.Infex(infex.LinTS(), infex.every(3)), rewards=(0.0, 1.0)) as study:
        words = [{"offered": [0, 2]} if chooses and n % 4 == 0 else {} for n in range(40)]
        decisions = [study.ask(f"k{n}", unit=f"u{n % 5}", **each) for n, each in enumerate(words)]
        study.tell_many([f"k{n}" for n in range(30)], [n % 2 for n in range(30)])
        study.flush()
        assert export(study._desk.store, "shop", {}, tmp_path / "log.parquet") == 40
    log = read(tmp_path / "log.parquet")
    assert log.arm.tolist() == [each.arm for each in decisions]
    assert log.explored is not None
    assert log.explored.tolist() == [each.explored for each in decisions]
    if chooses:
        assert log.offered is not None
        assert log.offered.tolist() == [[True, not each, True] for each in words]
    else:
        assert log.offered is None
    assert len(ARMS) == log.count
