"""The algorithms that the paper names: what is special to each of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex
from infex import Bandit, Greedy, Infex, LinTS, LinUCB, every, registry
from infex.errors import InfexError, NotKept
from infex.lab import optimal_design, play
from infex.lab.environments import ChangingInstance, LinearInstance, changing, gaussian
from infex.lab.simulation.compiled import forced_rounds
from infex.models.ridge import RidgeModel
from infex.models.sums import Moments
from infex.policies import (
    EXP2,
    TSUCB,
    UCB1,
    ContextReduction,
    EnsembleSampling,
    ExploreThenCommit,
    FixedBonusUCB,
    GaussianTS,
    GreedyFirst,
    HybridTS,
    LassoBandit,
    LinIDS,
    LinIMED,
    LinMED,
    LinPHE,
    OLSBandit,
    PhasedElimination,
    RandLinUCB,
    RarelySwitchingUCB,
    SpannerIGW,
    SupLinUCB,
    WeightedBootstrap,
    WeightedOFUL,
)
from infex.policies.base import resolve_defaults
from infex.policies.forced_sampling import is_forced
from infex.registry import stream_name
from infex.testing.reference import Pull, slow_forced, slow_lasso, slow_least_squares
from tests.alike import unnamed

ROUNDS = 500


@pytest.mark.compiled
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 9), arms=st.integers(1, 12), told=st.integers(0, 40))
@settings(max_examples=200, deadline=None)
def test_least_squares_and_lasso_are_those_of_the_list_of_pulls(
    seed: int, dim: int, arms: int, told: int
) -> None:
    rng = np.random.default_rng(seed)
    board = rng.normal(size=(arms, dim)) / np.sqrt(dim)
    board[rng.integers(arms)] = board[0]
    pulls = [Pull(int(rng.integers(arms)), float(rng.normal()), True) for _ in range(told)]
    rows = board[[pull.arm for pull in pulls]] if pulls else np.zeros((0, dim))
    moments = Moments(rows.T @ rows, rows.T @ np.array([pull.reward for pull in pulls]), told)
    found, slow = moments.least_squares(), slow_least_squares(board, pulls)
    np.testing.assert_allclose(board @ found, board @ slow, atol=1e-6)
    np.testing.assert_allclose(found, slow, atol=1e-5)
    strength = float(rng.choice([0.0, 0.01, 0.3]))
    lasso = moments.lasso(strength)
    if strength > 0 and told:

        def loss(theta: Any) -> float:
            quadratic = theta @ moments.gram @ theta / 2 - moments.moment @ theta
            return float(quadratic / told + strength * np.abs(theta).sum())

        least = loss(slow_lasso(board, pulls, strength))
        assert loss(lasso) == pytest.approx(least, abs=1e-6)
        assert loss(moments.lasso(strength, start=rng.normal(size=dim))) == pytest.approx(least, abs=1e-5)
        if np.linalg.eigvalsh(moments.gram / told)[0] > 1e-3:  # then it is unique: the conditions hold
            slope = (moments.moment - moments.gram @ lasso) / told
            assert np.all(np.abs(slope) <= strength + 1e-7)
            np.testing.assert_allclose(slope[lasso != 0], strength * np.sign(lasso[lasso != 0]), atol=1e-7)


@pytest.mark.parametrize("rule", ["log", "blocks"])
@pytest.mark.parametrize("scale", [0.3, 1, 2.5, 7, 100])
def test_forced_rounds_are_those_of_the_definition(rule: Any, scale: float) -> None:
    slow = slow_forced(rule, scale, 2000)
    assert {t for t in range(1, 2001) if is_forced(rule, scale, t)} == {t for t in slow if t <= 2000}
    policy = OLSBandit(rule=rule, scale=scale)
    assert forced_rounds(policy, 3, 500, 600).tolist() == [t for t in range(500, 601) if t in slow]


def test_the_preset_of_the_paper_forces_most_rounds_and_knows_the_gap() -> None:
    instance = gaussian(dim=10, arms=20, seed=1)
    told = OLSBandit(preset="paper").for_problem(instance, 10_000)
    assert told.scale == 800
    assert told.keep == instance.gaps[instance.gaps > 0].min()
    run = play(instance, OLSBandit(preset="paper"), 1000)
    assert run.explored == 1000
    assert run.policy == OLSBandit(preset="paper")
    with pytest.raises(InfexError, match="simulation"):
        Bandit(np.eye(2), OLSBandit(preset="paper")).ask()
    with pytest.raises(InfexError, match="needs fixed arms with a gap"):
        play(changing(dim=2, arms=3, seed=0), OLSBandit(preset="paper"), 10)
    with pytest.raises(InfexError, match=r"names scale and keep; got 3 and 0\.5 too"):
        OLSBandit(preset="paper", scale=3)


def test_the_length_of_exploring_comes_from_the_horizon() -> None:
    instance = gaussian(dim=8, arms=5, seed=1)
    assert ExploreThenCommit(horizon=2000).length(dim=8) == 200
    for order in ("uniform", "robin"):
        run = play(instance, ExploreThenCommit(order=order), 2000, record=True)
        assert run.explored == 200
        assert run.policy == ExploreThenCommit(order=order)
    assert run.arms is not None
    assert run.arms[:7].tolist() == [0, 1, 2, 3, 4, 0, 1]
    committed = play(instance, ExploreThenCommit(rounds=50, then="commit"), 500, record=True)
    assert committed.arms is not None
    assert len(set(committed.arms[50:].tolist())) == 1
    with pytest.raises(InfexError, match="say rounds, or the horizon"):
        Bandit(np.eye(2), ExploreThenCommit()).ask()


def test_plain_policies_look_at_no_features() -> None:
    """On arms in any disguise the same rewards give the same arms."""
    rng = np.random.default_rng(3)
    boards = [np.eye(5), rng.normal(size=(5, 3)) / 4]
    for policy in (UCB1(), GaussianTS(), HybridTS(p=0.5, form="plain")):
        arms = []
        for board in boards:
            bandit = Bandit(board, policy, seed=4)
            rewards = np.random.default_rng(1)
            for _ in range(80):
                decision = bandit.ask()
                bandit.tell(decision, 0.3 * decision.arm + float(rewards.normal()))
            arms.append([bandit.ask().arm, *bandit.posterior().pulls.tolist()])
        assert arms[0] == arms[1]
    changing_arms = Bandit(dim=2, policy=UCB1())
    with pytest.raises(NotKept, match="arms that change every round have no pulls"):
        changing_arms.ask(np.eye(2))


def test_ucb1_is_that_of_the_textbook() -> None:
    """With rewards in [0, 1]: mean + sqrt(2 log n / n_k)."""
    bandit = Bandit(np.eye(3), UCB1(noise=0.5))
    for arm, rewards in enumerate(([1.0, 0.0, 1.0], [1.0], [0.0, 0.0])):
        for reward in rewards:
            bandit.learn(arms=[arm], rewards=[reward])
    n = 6
    by_hand = [2 / 3 + np.sqrt(2 * np.log(n) / 3), 1 + np.sqrt(2 * np.log(n)), np.sqrt(2 * np.log(n) / 2)]
    np.testing.assert_allclose(UCB1(noise=0.5).index(bandit.posterior()), by_hand)


def test_rarely_switching_changes_its_arm_rarely() -> None:
    instance = gaussian(dim=5, arms=40, seed=2)
    run = play(instance, RarelySwitchingUCB(delta=1e-3), 3000, record=True)
    usual = play(instance, LinUCB(delta=1e-3), 3000, record=True)
    assert run.arms is not None
    assert usual.arms is not None
    changes = np.count_nonzero(np.diff(run.arms))
    assert changes <= np.ceil(run.log_det_ratio / np.log(2))
    assert changes < np.count_nonzero(np.diff(usual.arms)) / 5
    still = changing(dim=4, arms=9, seed=1)
    assert play(still, RarelySwitchingUCB(), 300).regret < play(still, infex.policies.Uniform(), 300).regret


def test_greedy_first_stays_greedy_on_diverse_contexts_and_switches_on_fixed_arms() -> None:
    diverse = changing(dim=4, arms=10, seed=3)
    assert play(diverse, GreedyFirst(), 600).explored == 0
    fixed = gaussian(dim=6, arms=10, seed=5)
    run = play(fixed, GreedyFirst(LinUCB(scale=0.2, delta=0.01), level=0.02), 2000)
    assert 0 < run.explored < 2000
    assert play(fixed, Greedy(), 2000).regret > run.regret


@pytest.mark.compiled
def test_lasso_bandits_find_a_sparse_parameter() -> None:
    rng = np.random.default_rng(5)
    theta = np.zeros(60)
    theta[[3, 17]] = 0.6, -0.6
    arms = rng.normal(size=(50, 60))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    instance = LinearInstance(arms, theta, "gaussian", noise=0.3)
    sparse = [
        play(instance, LassoBandit(q=20, first=0.01, later=0.1), 1000, seed).regret for seed in range(4)
    ]
    dense = [play(instance, LinUCB(), 1000, seed).regret for seed in range(4)]
    assert np.mean(sparse) < np.mean(dense) * 0.6
    moving = ChangingInstance(theta=theta, arms=10, rewards="gaussian", noise=0.03)
    greedy = play(moving, infex.policies.AgnosticLassoBandit(strength=0.003), 600).regret
    assert greedy < play(moving, infex.policies.Uniform(), 600).regret / 3


@pytest.mark.compiled
def test_the_reduction_learns_on_actions_and_plays_towards_them() -> None:
    instance = changing(dim=3, arms=8, seed=4)
    reduced = ContextReduction(LinUCB(scale=0.1), directions=200)
    run = play(instance, reduced, 3000)
    assert run.policy == ContextReduction(LinUCB(scale=0.1, delta=1 / 3000), directions=200)
    assert run.regret < play(instance, infex.policies.Uniform(), 3000).regret / 3
    samples = np.array([columns.T for _, block in instance.blocks(9, 50) for columns in block])
    known = ContextReduction(LinUCB(), samples, directions=40)
    for place in (0, 39):  # g(w) by hand
        tops = [rows[np.argmax(rows @ known.towards[place])] for rows in samples]
        np.testing.assert_allclose(known.actions[:, place], np.mean(tops, axis=0))
    bandit = Bandit(dim=3, policy=known)
    for rows in samples:
        decision = bandit.ask(rows)
        action = next(
            k for k in range(40) if np.array_equal(known.actions[:, k], design_row(bandit, decision))
        )
        assert decision.arm == np.argmax(rows @ known.towards[action])
        bandit.tell(decision, 0.5)
    with pytest.raises(InfexError, match="give samples of them"):
        Bandit(dim=2, policy=ContextReduction()).ask(np.eye(2))
    with pytest.raises(InfexError, match=r"samples must be arm sets"):
        ContextReduction(samples=np.eye(3))
    with pytest.raises(InfexError, match="must not keep exploring rounds apart"):
        ContextReduction(OLSBandit())


def design_row(bandit: Bandit, decision: infex.Decision) -> Any:
    """What the reward of a pending decision will be learnt on."""
    pending = bandit._pending.find(decision.id)
    assert pending is not None
    return pending[1]


def test_notes_survive_a_file(tmp_path: Any) -> None:
    """Policies that remember their own choices go on after loading as if nothing had been."""
    rng = np.random.default_rng(2)
    board = rng.normal(size=(9, 4)) / 3
    for policy in (
        RarelySwitchingUCB(scale=0.3),
        GreedyFirst(RarelySwitchingUCB(), level=0.5, wait=5),
        Infex(RarelySwitchingUCB(), infex.guarded(every(3), 3.0), data="own"),
        OLSBandit(scale=3),
        UCB1(),
        EnsembleSampling(members=3),
        PhasedElimination(noise=0.1),
        Infex(PhasedElimination(noise=0.1), every(2), data="own"),
        SupLinUCB(horizon=200, noise=0.1),
        Infex(SupLinUCB(horizon=200), every(3), data="own"),
        EXP2(rate=0.1),
        Infex(EXP2(rate=0.1), every(3), data="own"),
    ):
        bandit, rewards = Bandit(board, policy, seed=3), np.random.default_rng(7)
        for _ in range(60):
            bandit.tell(bandit.ask(), float(rewards.normal()))
        bandit.save(tmp_path / "x.infex")
        loaded = Bandit.load(tmp_path / "x.infex")
        assert loaded.policy == bandit.policy
        for reward in rewards.normal(size=60).tolist():
            decision = bandit.ask()
            other = loaded.ask()
            assert unnamed(other) == unnamed(decision)
            bandit.tell(decision, reward)
            loaded.tell(other, reward)


@pytest.mark.parametrize("name", [*registry.POLICIES])
def test_every_policy_plays_by_its_bare_name_and_its_expression_comes_back(name: str) -> None:
    policy = registry.parse(
        {"Infex": "Infex(LinUCB, every(5))", "Softened": "Softened(LinUCB)"}.get(name, name)
    )
    assert registry.parse(registry.expression(policy)) == policy
    run = play(gaussian(dim=3, arms=6, seed=1), policy, 60)
    assert 0 < run.regret < 120
    again = play(gaussian(dim=3, arms=6, seed=1), policy, 60)
    assert again.regret == run.regret


@pytest.mark.parametrize(
    "text",
    [
        "OLSBandit(rule=blocks, scale=20, keep=0.1)",
        "GreedyFirst(base=OLSBandit(keep=0.1), level=0.5)",
        "ContextReduction(base=LinTS(delta=0.001), directions=50)",
        "HybridTS(delta=0.001, p=0.3)",
        "ExploreThenCommit(rounds=100, order=robin, then=commit)",
        "Infex(UCB1(noise=0.5), every(20))",
        "Infex(RarelySwitchingUCB(growth=2), until_certain(every(20), delta=0.1))",
    ],
)
def test_expressions_of_rivals_come_back(text: str) -> None:
    assert registry.expression(registry.parse(text)) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OLSBandit(rule="linear"), "rule must be 'log' or 'blocks', got 'linear'"),
        (lambda: OLSBandit(scale=0), "scale must be above 0, got 0"),
        (lambda: OLSBandit(keep=-1), "keep must be at least 0, got -1"),
        (lambda: OLSBandit(preset="mine"), "preset must be 'paper' or None, got 'mine'"),
        (lambda: LinTS(inflation="abeile"), "inflation must be 'abeille' or 'agrawal' or None, got 'abeile'"),
        (lambda: ExploreThenCommit(rounds=-1), "rounds must be at least 0, got -1"),
        (lambda: ExploreThenCommit(order="random"), "order must be 'uniform' or 'robin' or 'design', got"),
        (lambda: OLSBandit(forced_by="turn"), "forced_by must be 'uniform' or 'design', got 'turn'"),
        (lambda: RandLinUCB(levels=1), "levels must be at least 2, got 1"),
        (lambda: RandLinUCB(spread=0), "spread must be above 0, got 0"),
        (lambda: LinIMED(variant=4), "variant must be 1, 2 or 3, got 4"),
        (lambda: LinIMED(cap=0), "cap must be above 0, got 0"),
        (lambda: Bandit(np.eye(2), LinIMED(variant=2)).ask(), "variant 2 of LinIMED needs the horizon"),
        (lambda: LinMED(greedy_share=1.5), "greedy_share must be at most 1, got 1.5"),
        (lambda: LinMED(design=1), "design must be True or False, got 1"),
        (lambda: LinIDS(gain="most"), "gain must be 'variance' or 'directed', got 'most'"),
        (lambda: SpannerIGW(rate=-1), "rate must be at least 0, got -1"),
        (lambda: Bandit(np.eye(2), SpannerIGW()).ask(), "say rate, or the horizon"),
        (lambda: optimal_design([1.0, 2.0]), r"arms must have the shape \(K, d\), .* got \(2,\)"),
        (lambda: optimal_design(3), r"arms must have the shape \(K, d\), .* got \(\)"),
        (lambda: optimal_design([[1.0, np.nan]]), "arms must be finite; feature 1 of arm 0 is nan"),
        (lambda: optimal_design("arms"), r"arms must be a \(K, d\) array of numbers, got a str"),
        (lambda: optimal_design(np.eye(2), 0), "tolerance must be above 0, got 0"),
        (lambda: LinPHE(scale=0), "scale must be above 0, got 0"),
        (lambda: WeightedBootstrap(noise=0), "noise must be above 0, got 0"),
        (lambda: TSUCB(samples=0), "samples must be at least 1, got 0"),
        (lambda: EnsembleSampling(members=0), "members must be at least 1, got 0"),
        (lambda: PhasedElimination(delta=2), "delta must be at most 1, got 2"),
        (lambda: SupLinUCB(horizon=0), "horizon must be at least 1, got 0"),
        (lambda: Bandit(np.eye(2), SupLinUCB()).ask(), "SupLinUCB needs the horizon"),
        (lambda: EXP2(rate=0), "rate must be above 0, got 0"),
        (lambda: Bandit(np.eye(2), EXP2()).ask(), "say rate, or the horizon"),
        (lambda: WeightedOFUL(least_noise=0), "least_noise must be above 0, got 0"),
        (lambda: Infex(EXP2(), every(5)), r"EXP2\(.*learns from its own rounds alone.*say data=.own"),
        (lambda: Infex(SupLinUCB(), every(5)), r"SupLinUCB\(.*say data=.own"),
        (lambda: Infex(PhasedElimination(), every(5)), r"PhasedElimination\(.*say data=.own"),
        (lambda: infex.Softened(EXP2(rate=0.1)), r"EXP2\(.*learns by the law of its own arms"),
        (lambda: UCB1(noise=-1), "noise must be at least 0, got -1"),
        (lambda: HybridTS(p=1.5), "p must be at most 1, got 1.5"),
        (lambda: HybridTS(form="odd"), "form must be 'linear' or 'plain', got 'odd'"),
        (lambda: GreedyFirst(3), "base must be a policy"),
        (lambda: LassoBandit(q=0), "q must be at least 1, got 0"),
        (lambda: FixedBonusUCB(bonus="1"), "bonus must be a number, got '1'"),
        (lambda: RarelySwitchingUCB(growth=0), "growth must be above 0, got 0"),
        (lambda: ContextReduction(directions=0), "directions must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()


@pytest.mark.parametrize(
    "policy",
    [
        OLSBandit(),
        OLSBandit(rule="blocks", scale=5, keep=0.1),
        OLSBandit(scale=0.5, keep=0),
        FixedBonusUCB(bonus=0.7),
        FixedBonusUCB(bonus=0.7, ties="random"),
        HybridTS(p=0.3, delta=1e-3),
        ExploreThenCommit(rounds=100, order="robin"),
        ExploreThenCommit(rounds=100, ties="random"),
        Infex(FixedBonusUCB(), every(7), data="own"),
        Infex(HybridTS(p=0.5), every(7)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["fixed", "changing"])
def test_compiled_runs_are_those_of_python(policy: Any, kind: str) -> None:
    policy = resolve_defaults(policy, 1 / 500)

    class Plain:
        """The same choices, in the plain loop."""

        uses_explored = getattr(policy, "uses_explored", False)

        def choose(self, t: int, posterior: Any, rng: Any) -> Any:
            return policy.choose(t, posterior, rng)

    from infex.lab.simulation import simulator

    for seed in range(3):
        instance = gaussian(4, 15, seed) if kind == "fixed" else changing(4, 15, seed)
        fast = play(instance, policy, ROUNDS, seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulator, "stream_name", lambda _: stream_name(policy))
            slow = play(instance, Plain(), ROUNDS, seed)
        assert (fast.regret, fast.explored) == (slow.regret, slow.explored)
        np.testing.assert_array_equal(fast.curve()[1], slow.curve()[1])
        np.testing.assert_allclose(fast.log_det_ratio, slow.log_det_ratio, rtol=1e-13)


def test_infex_works_with_ols_bandit_and_lints_as_before() -> None:
    instance = gaussian(3, 6, 1)
    assert play(instance, Infex(OLSBandit(scale=2), every(2)), 100).explored < 50
    assert play(instance, Infex(LinTS(), every(2)), 100).explored == 50


@pytest.mark.compiled
def test_sums_keep_their_carry_so_that_a_plane_stays_a_plane() -> None:
    """After 10^5 additions one by one, least squares on arms in a plane is still that of the plane."""
    rng = np.random.default_rng(3)
    arms = rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4))
    arms /= 1.1 * np.linalg.norm(arms, axis=1, keepdims=True)
    ridge = RidgeModel(np.zeros((4, 0)))
    pulls = rng.integers(5, size=100_000)
    rewards = rng.normal(size=pulls.size)
    for arm, reward in zip(pulls.tolist(), rewards.tolist(), strict=True):
        ridge.update(arms[arm], reward)
    slow = np.linalg.lstsq(arms[pulls], rewards, rcond=1e-10)[0]
    np.testing.assert_allclose(
        infex.models.Posterior(ridge.posterior()).moments.least_squares(), slow, atol=1e-9
    )


def test_a_reduction_with_samples_is_played_saved_and_compared(tmp_path: Any) -> None:
    instance = changing(dim=3, arms=5, seed=1)
    samples = np.array([columns.T for _, block in instance.blocks(9, 20) for columns in block])
    known = ContextReduction(LinUCB(), samples, directions=20)
    assert known != ContextReduction(LinUCB(), samples[:5], directions=20)
    assert play(instance, known, 50).regret > 0
    bandit = Bandit(dim=3, policy=known)
    bandit.tell(bandit.ask(samples[0]), 1.0)
    bandit.save(tmp_path / "x.infex")
    assert unnamed(Bandit.load(tmp_path / "x.infex", known).ask(samples[1])) == unnamed(
        bandit.ask(samples[1])
    )
    assert play(instance, ContextReduction(ExploreThenCommit()), 50).explored > 0
    with pytest.raises(InfexError, match="samples have 3 features, the arms on offer 2"):
        Bandit(dim=2, policy=known).ask(np.eye(2))
    with pytest.raises(InfexError, match="numbers of one shape"):
        ContextReduction(samples=[[[1.0], [1.0, 2.0]]])
    with pytest.raises(InfexError, match="longer than 1"):
        ContextReduction(samples=3 * np.ones((1, 2, 2)))


def test_infex_of_a_reduction_learns_on_its_actions() -> None:
    samples = np.random.default_rng(0).normal(size=(10, 4, 3)) / 4
    known = ContextReduction(LinUCB(), samples, directions=15)
    bandit = Bandit(dim=3, policy=Infex(known, every(1)))
    decision = bandit.ask(samples[0])
    features = design_row(bandit, decision)
    assert any(np.array_equal(known.actions[:, k], features) for k in range(15))


class Listener:
    """A learner that counts what it is taught."""

    def __init__(self) -> None:
        self.taught = 0

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(0)

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.taught += 1


def test_learners_inside_other_policies_are_taught_once_and_only_what_is_accepted() -> None:
    for wrap in (
        lambda learner: GreedyFirst(learner),
        lambda learner: ContextReduction(learner, np.eye(2)[None] / 2),
        lambda learner: Infex(GreedyFirst(learner), every(1)),
    ):
        learner = Listener()
        bandit = Bandit(dim=2, policy=wrap(learner))
        for _ in range(5):
            bandit.tell(bandit.ask(np.eye(2) / 2), 1.0)
        assert learner.taught == 5
    learner = Listener()
    bandit = Bandit(np.eye(2), learner, estimator=infex.models.Logistic())
    decision = bandit.ask()
    for bad in ({"reward": 0.5}, {"reward": 1.0, "weight": -1}, {"reward": 1.0, "weight": 1e308}):
        with pytest.raises(InfexError):
            bandit.tell(decision, **bad)
    assert learner.taught == 0
    bandit.tell(decision, 1.0)
    assert learner.taught == 1


def test_a_base_that_does_not_explore_is_not_charged_for_it() -> None:
    bandit = Bandit(np.eye(3), Infex(OLSBandit(scale=2), infex.guarded(every(1), 1.0)), seed=1)
    rng = np.random.default_rng(1)
    for _ in range(200):
        decision = bandit.ask()
        bandit.tell(decision, 0.4 * decision.arm + float(rng.normal()))
    found = bandit.exploration()
    assert found.cost <= 1.0
    assert found.planned == found.done + found.skipped
    assert found.dropped == found.skipped > 0


def test_certainty_of_chances_takes_bounds_of_one_kind() -> None:
    """With logistic chances the lower bound is that of the odds too: no stop while intervals overlap."""
    certain = infex.until_certain(every(2), delta=0.1, scale=0.3)
    policy = Infex(LinUCB(), certain)
    bandit = Bandit(np.eye(2), policy, estimator=infex.models.Logistic(), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        posterior = bandit.posterior()
        decision = bandit.ask()
        if decision.reason == "skipped: certain":
            beta = certain._confidence().choosing_radius(posterior)
            other = 1 - posterior.greedy
            assert posterior.upper(-beta)[posterior.greedy] > posterior.upper(beta)[other]
            break
        bandit.tell(decision, float(rng.random() < (0.2, 0.9)[decision.arm]))
    else:
        pytest.fail("it never became certain")


def test_a_note_of_another_kind_of_policy_is_left_behind(tmp_path: Any) -> None:
    bandit = Bandit(np.eye(2), Infex(LinUCB(), infex.paused(every(2), lambda t: False)))
    for _ in range(5):
        bandit.tell(bandit.ask(), 1.0)
    bandit.save(tmp_path / "x.infex")
    other = Bandit.load(tmp_path / "x.infex", Infex(RarelySwitchingUCB(), every(2)), adopt=True)
    assert other.ask().t == 6
    same = Bandit.load(tmp_path / "x.infex", Infex(LinUCB(), infex.paused(every(2), lambda t: False)))
    assert same._agent.policy_state == bandit._agent.policy_state


def test_large_whole_settings_come_back() -> None:
    for policy in (ExploreThenCommit(rounds=10**15), ContextReduction(seed=10**16 + 1)):
        assert registry.parse(registry.expression(policy)) == policy
    assert is_forced("log", 1e308, 10**6)
