import numpy as np
import pytest

from infex import Bandit
from tests import golden_table as golden
from tests.golden_table import Row


def test_the_instance_is_the_one_described() -> None:
    problem = golden.instance()
    means = np.sort(problem.arms @ problem.theta)
    assert means[-1] == pytest.approx(golden.BEST_MEAN, abs=1e-12)
    assert means[-1] - means[-2] == pytest.approx(golden.GAP, abs=1e-12)
    assert np.argmax(problem.arms @ problem.theta) == golden.BEST_ARM


@pytest.mark.compiled
@pytest.mark.parametrize("row", golden.ROWS, ids=lambda row: row.name)
def test_ask_and_tell_meet_every_column_of_the_golden_table(row: Row) -> None:
    problem = golden.instance()
    means = problem.arms @ problem.theta
    bandit = Bandit(problem.arms, row.policy)
    arms = []
    for t in range(1, golden.HORIZON + 1):
        decision = bandit.ask()
        bandit.tell(decision, problem.reward(t, decision.arm))
        arms.append(decision.arm)
    regret = np.cumsum(means.max() - means[arms])
    assert tuple(arms[:12]) == row.first
    assert arms.count(golden.BEST_ARM) == row.optimal
    assert bandit.posterior().log_det_ratio == pytest.approx(row.log_det_ratio, abs=5e-7)
    for t, expected in zip((10, 100, 1000, 10_000), row.regret, strict=True):
        assert regret[t - 1] == pytest.approx(expected, abs=5e-7)
