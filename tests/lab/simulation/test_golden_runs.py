"""Runs of every kind are the ones they were: a rebuilt engine may change neither arms nor numbers."""

import json

import pytest

from tests.lab.simulation.golden_runs import FILE, cases, digests

KEPT = json.loads(FILE.read_text())


def test_every_run_is_kept() -> None:
    assert KEPT.keys() == cases().keys()
    assert len(KEPT) >= 60


@pytest.mark.parametrize("name", cases())
def test_a_run_is_the_one_that_it_was(name: str) -> None:
    assert digests(name) == KEPT[name]
