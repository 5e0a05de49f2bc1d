"""Published bases that compiled loops play: as if all were played in Python."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Infex, LinTS, LinUCB, Softened, every, guarded, jittered, until_certain
from infex.lab import play
from infex.lab.environments import changing, gaussian, late
from infex.lab.simulation.compiled import plan_of
from infex.models import Logistic
from infex.policies import GreedyFirst, LinIDS, LinIMED, LinMED, OptimisticTS, RandLinUCB, ledger
from tests.lab.simulation.in_python import assert_same, play_in_python

BASES: list[Any] = [
    RandLinUCB(),
    RandLinUCB(levels=3, spread=1.0, scale=0.3, ties="random", radius="mixture"),
    LinIMED(),
    LinIMED(variant=2, horizon=200, scale=0.2),
    LinIMED(variant=3, scale=0.5, ties="random"),
    LinIMED(variant=3, cap=0.1, radius="mixture"),
    LinMED(),
    LinMED(design=False, greedy_share=0.3, radius="mixture"),
    LinMED(greedy_share=0.0, scale=0.1),
    LinIDS(),
    LinIDS(gain="directed", scale=0.2),
    OptimisticTS(),
    OptimisticTS(inflation=None, sampling="spherical", ties="random"),
    LinTS(inflation=None, scale=0.7),
    LinUCB(radius="mixture"),
]
WRAPS: list[Any] = [
    lambda base: base,
    lambda base: Infex(base, every(3)),
    lambda base: Infex(base, jittered(4), data="own", ties="random"),
    lambda base: Infex(base, guarded(every(2), 2.0)),
    lambda base: Infex(base, until_certain(every(2), scale=0.1)),
    lambda base: Infex(base, ledger(0.3), data="own"),
    lambda base: Softened(base, 0.3),
    lambda base: GreedyFirst(base, wait=10, level=0.3),
]


@given(
    base=st.sampled_from(BASES), wrap=st.sampled_from(WRAPS), anew=st.booleans(), waits=st.booleans(),
    clicks=st.booleans(), dim=st.integers(1, 6), arms=st.integers(1, 12), seed=st.integers(0, 10**6),
    horizon=st.sampled_from([1, 40, 200]), penalty=st.sampled_from([1e-6, 1.0]),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_runs_are_those_of_the_python_loop(
    base: Any, wrap: Any, anew: bool, waits: bool, clicks: bool, dim: int, arms: int, seed: int, horizon: int,
    penalty: float,
) -> None:  # fmt: skip
    policy = wrap(base)
    more: dict[str, Any] = {"late": late(rounds=5)} if waits else {}
    if clicks:
        more |= {"rewards": "bernoulli", "link": "logistic"}
    instance = (changing if anew else gaussian)(dim=dim, arms=arms, seed=seed, **more)
    estimator = Logistic() if clicks and not isinstance(policy, GreedyFirst) else None
    plan = plan_of(policy, estimator)
    if isinstance(policy, Softened) and isinstance(base, LinTS | OptimisticTS):
        return  # which plays one of many samples, in Python
    assert plan is not None
    assert not plan.in_python
    asked: dict[str, Any] = {"penalty": penalty, "record": True, "estimator": estimator}
    slow = play_in_python(instance, policy, horizon, seed, **asked)
    assert_same(play(instance, policy, horizon, seed, **asked), slow)
