"""Where runs are played, and when workers end."""

import pytest

from infex.experiments import Sweep, engines
from infex.experiments.chunks import chunked


@pytest.mark.parametrize(("large", "ends"), [(3, 1), (4, 0)])
def test_workers_of_a_large_sweep_end_with_it(large: int, ends: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(engines, "RUNS_OF_A_LARGE_SWEEP", large)
    monkeypatch.setattr(engines, "_tried", lambda chunks, *_: iter(chunks))
    monkeypatch.setattr(engines, "_end_workers", lambda: ended.append(1))
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], seeds=3, horizon=5)
    chunks = chunked(sweep.tasks())
    assert list(engines.outcomes_of(chunks, engines.Engine.of("local", None, 2))) == chunks
    assert len(ended) == ends
