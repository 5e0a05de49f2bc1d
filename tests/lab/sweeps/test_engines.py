"""Where runs are played, and when workers end."""

import pytest

from infex.lab import Sweep, runner
from infex.lab.tasks import chunked


@pytest.mark.parametrize(("large", "ends"), [(3, 1), (4, 0)])
def test_workers_of_a_large_sweep_end_with_it(large: int, ends: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(runner, "RUNS_OF_A_LARGE_SWEEP", large)
    monkeypatch.setattr(runner, "_tried", lambda chunks, *_: iter(chunks))
    monkeypatch.setattr(runner, "_end_workers", lambda: ended.append(1))
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], seeds=3, horizon=5)
    chunks = chunked(sweep.tasks())
    assert list(runner.outcomes_of(chunks, runner.Engine.of("local", None, 2))) == chunks
    assert len(ended) == ends
