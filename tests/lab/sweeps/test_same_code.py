"""Workers play the code by which runs are named, or leave them to others."""

import importlib
import sys
from pathlib import Path

import pytest

from infex.lab import Sweep

POLICY = """
import infex
from dataclasses import dataclass

@dataclass(frozen=True)
class Fixed:
    def choose(self, t, posterior, rng):
        return infex.Choice({arm})
"""


def test_workers_that_outlive_an_edit_do_not_play_the_old_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_policy.py"
    file.write_text(POLICY.format(arm=0))
    module = importlib.import_module("edited_policy")

    def regret(workers: int) -> list[float]:
        played = Sweep(
            environments=["gaussian(dim=3, arms=5)"], policies=[module.Fixed(), "Greedy"], horizon=20, seeds=3
        ).run(workers=workers)
        found: list[float] = played.regret(played.cells[0], "Fixed").tolist()
        return found

    before = regret(workers=2)
    file.write_text(POLICY.format(arm=1))
    importlib.invalidate_caches()
    importlib.reload(module)
    assert regret(workers=2) == regret(workers=1) != before
