"""Slow and obvious versions, to compare the fast ones with: every round solves from scratch."""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.policies import (
    EXP2,
    TSUCB,
    UCB1,
    AgnosticLassoBandit,
    EnsembleSampling,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedBonusUCB,
    GaussianTS,
    Greedy,
    GreedyFirst,
    HybridTS,
    Infex,
    LassoBandit,
    LinIDS,
    LinIMED,
    LinMED,
    LinPHE,
    LinTS,
    LinUCB,
    OLSBandit,
    OptimisticTS,
    PhasedElimination,
    Policy,
    RandLinUCB,
    RarelySwitchingUCB,
    Softened,
    SpannerIGW,
    SupLinUCB,
    Uniform,
    WeightedBootstrap,
    WeightedOFUL,
)
from infex.policies.design import optimal_design
from infex.policies.ensemble import semidefinite_root
from infex.policies.ucb import Confidence
from infex.streams import stream

Draws = Callable[[int], np.random.Generator]


class Pull(NamedTuple):
    """One round's arm, reward, and whether it explored."""

    arm: int
    reward: float
    explored: bool


@final
class SlowRidge:
    """Ridge regression of pulls, from the definition.

    `arms` is (K, d), `pulls` have an arm and a reward each, and `penalty` is lambda.
    """

    def __init__(self, arms: Floats, pulls: Sequence[Pull], penalty: float) -> None:
        chosen = arms[[pull.arm for pull in pulls]] if pulls else np.zeros((0, arms.shape[1]))
        rewards = np.array([pull.reward for pull in pulls])
        self.arms = arms
        self.penalty = penalty
        self.gram = penalty * np.eye(arms.shape[1]) + chosen.T @ chosen
        self.theta = np.linalg.solve(self.gram, chosen.T @ rewards)

    def estimates(self) -> Floats:
        """x'theta of every arm."""
        return self.arms @ self.theta

    def widths(self) -> Floats:
        """sqrt(x'V^-1 x) of every arm."""
        solved = np.linalg.solve(self.gram, self.arms.T)
        squares: Floats = np.sum(self.arms * solved.T, axis=1)
        return np.sqrt(squares)

    def log_det_ratio(self) -> float:
        """log(det V/det V_0)."""
        return float(np.linalg.slogdet(self.gram / self.penalty)[1])

    def sampled(self, beta: float, eta: Floats) -> Floats:
        """x'(theta + beta V^-1/2 eta) of every arm, with a fresh Cholesky factor."""
        root = np.linalg.inv(np.linalg.cholesky(self.gram)).T
        return self.arms @ (self.theta + beta * root @ eta)


def lowest(scores: Floats) -> int:
    """The tie rule: the lowest index within 1e-12 (1 + |max|) of the largest score."""
    top = max(scores)
    return next(k for k, score in enumerate(scores) if score >= top - 1e-12 * (1 + abs(top)))


def slow_choice(
    policy: Policy, t: int, arms: Floats, pulls: Sequence[Pull], penalty: float, draws: Draws
) -> tuple[int, bool]:
    """The arm a built-in policy with ties="lowest" must choose in round t after `pulls`; does it explore?"""
    ridge, rng, dim = SlowRidge(arms, pulls, penalty), draws(t), arms.shape[1]
    rewards = [[pull.reward for pull in pulls if pull.arm == k] for k in range(len(arms))]
    fresh = [k for k, own in enumerate(rewards) if not own]
    match policy:
        case Infex(base=base, schedule=schedule):
            if not schedule.explores(t):
                return lowest(ridge.estimates()), False
            if policy.data == "shared":
                return slow_choice(base, t, arms, pulls, penalty, draws)[0], True
            own = [pull for pull in pulls if pull.explored]
            return slow_choice(base, len(own) + 1, arms, own, penalty, lambda _: draws(t))[0], True
        case Greedy():
            return lowest(ridge.estimates()), False
        case Uniform():
            return int(rng.integers(len(arms))), True
        case EpsilonGreedy():
            explores = rng.random() < policy.eps(t)
            return (int(rng.integers(len(arms))), True) if explores else (lowest(ridge.estimates()), False)
        case LinUCB():
            return lowest(ridge.estimates() + slow_radius(policy, ridge) * ridge.widths()), True
        case LinTS():
            return lowest(slow_sample(policy, t, ridge, rng)), True
        case OptimisticTS():
            return lowest(np.maximum(ridge.estimates(), slow_sample(policy, t, ridge, rng))), True
        case RandLinUCB():
            values, weights = slow_degrees(policy.levels, policy.spread)
            degree = values[rng.choice(policy.levels, p=weights)]
            beta = degree * slow_radius(policy, ridge)
            return lowest(ridge.estimates() + beta * ridge.widths()), True
        case WeightedOFUL():
            return lowest(
                ridge.estimates() + slow_bernstein(policy, ridge, len(pulls)) * ridge.widths()
            ), True
        case PhasedElimination():
            return slow_phased(policy, arms, pulls), True
        case SupLinUCB():
            return slow_layered(policy, arms, pulls, penalty), True
        case EXP2():
            return int(rng.choice(len(arms), p=slow_exp2(policy, arms, pulls))), True
        case LinPHE() | WeightedBootstrap():
            first = [k for k in slow_spanning(arms) if not rewards[k]]
            return first[0] if first else lowest(slow_perturbed(policy, arms, rewards, penalty, rng)), True
        case TSUCB():
            etas = [rng.standard_normal((dim,)) for _ in range(policy.samples)]
            best = np.mean([max(ridge.sampled(policy.noise, each)) for each in etas])
            gaps = [best - estimate for estimate in ridge.estimates()]
            pairs = zip(gaps, ridge.widths(), strict=True)
            ratios = [gap / width if width > 0 else math.copysign(math.inf, gap) for gap, width in pairs]
            return lowest(-np.array(ratios)), True
        case EnsembleSampling():
            return slow_ensemble(policy, arms, pulls, penalty, draws, t), True
        case LinMED() | LinIDS() | SpannerIGW():
            return int(rng.choice(len(arms), p=slow_law(policy, ridge))), True
        case LinIMED():
            return lowest(-slow_imed(policy, ridge)), True
        case OLSBandit():
            if t in slow_forced(policy.rule, policy.scale_for(dim), t):
                return _forced(policy.forced_by, arms, rng), True
            forced, both = (arms @ slow_least_squares(arms, some) for some in (_explored(pulls), pulls))
            return _best_kept(forced, both, policy.keep), False
        case LassoBandit():
            if t in slow_forced("blocks", 2 * dim if policy.q is None else policy.q, t):
                return _forced(policy.forced_by, arms, rng), True
            n = max(len(pulls), 1)
            later = policy.later * math.sqrt((math.log(n) + math.log(dim)) / n)
            forced = arms @ slow_lasso(arms, _explored(pulls), policy.first)
            return _best_kept(forced, arms @ slow_lasso(arms, pulls, later), policy.keep), False
        case AgnosticLassoBandit():
            n = max(len(pulls), 1)
            strength = policy.strength * math.sqrt((4 * math.log(n) + 2 * math.log(dim)) / n)
            return lowest(arms @ slow_lasso(arms, pulls, strength)), False
        case ExploreThenCommit():
            if t <= policy.length(dim):
                if policy.order == "robin":
                    return (t - 1) % len(arms), True
                return _forced(policy.order, arms, rng), True
            seen = pulls if policy.then == "greedy" else _explored(pulls)
            return lowest(SlowRidge(arms, seen, penalty).estimates()), False
        case FixedBonusUCB():
            return lowest(ridge.estimates() + policy.bonus * ridge.widths()), True
        case RarelySwitchingUCB():
            return slow_rarely_switching(policy, arms, pulls, penalty), True
        case Softened():
            tries, uniform = rng.random() < policy.share, int(rng.integers(len(arms)))
            chosen, _ = slow_choice(policy.base, t, arms, pulls, penalty, lambda _: rng)
            return uniform if tries else chosen, True
        case GreedyFirst():
            if slow_has_switched(policy, arms, pulls):
                return slow_choice(policy.base, t, arms, pulls, penalty, draws)
            return lowest(ridge.estimates()), False
        case UCB1():
            if fresh:
                return fresh[0], True
            bonus = [policy.noise * math.sqrt(8 * math.log(len(pulls)) / len(own)) for own in rewards]
            return lowest(np.array([np.mean(own) for own in rewards]) + np.array(bonus)), True
        case GaussianTS():
            return lowest(_sampled_means(rewards, policy.noise, rng)), True
        case HybridTS(form="plain"):
            if fresh:
                return fresh[0], True
            if rng.random() < policy.p:
                return lowest(_sampled_means(rewards, policy.noise, rng)), True
            return lowest(np.array([np.mean(own) for own in rewards])), False
        case HybridTS():
            if rng.random() < policy.p:
                eta = rng.standard_normal((dim,))
                return lowest(ridge.sampled(slow_radius(policy, ridge), eta)), True
            return lowest(ridge.estimates()), False
    raise TypeError(f"no slow version of {policy!r}")


def slow_degrees(levels: int, spread: float) -> tuple[list[float], list[float]]:
    """The values of Z of RandLinUCB, and their probabilities."""
    degrees = [m / (levels - 1) for m in range(levels)]
    weights = [statistics.NormalDist(0, spread).pdf(z) for z in degrees[:-1]] + [1e-6]
    return degrees, [weight / sum(weights) for weight in weights]


def slow_law(policy: Policy, ridge: SlowRidge) -> Floats:
    """The probabilities of all arms by a policy that knows them."""
    estimates, arms = ridge.estimates(), ridge.arms
    greedy = lowest(estimates)
    match policy:
        case RandLinUCB():
            law = np.zeros(len(arms))
            for degree, weight in zip(*slow_degrees(policy.levels, policy.spread), strict=True):
                law[lowest(estimates + degree * slow_radius(policy, ridge) * ridge.widths())] += weight
            return law
        case LinMED():
            evidence, weights = [], []
            for k, x in enumerate(arms):
                apart = (arms[greedy] - x) @ np.linalg.solve(ridge.gram, arms[greedy] - x)
                gap, reach = (
                    max(estimates[greedy] - estimates[k], 0.0),
                    slow_radius(policy, ridge) * math.sqrt(apart),
                )
                evidence.append(math.exp(-((gap / reach) ** 2)) if gap * reach > 0 else float(gap < 1e-15))
            rest = 1 - policy.greedy_share
            design = optimal_design(arms * np.sqrt(evidence)[:, None], 1.0)
            for k in range(len(arms)):
                spread = (1 / len(arms) + design[k]) / 2 if policy.design else 1 / len(arms)
                weights.append(evidence[k] * (policy.greedy_share * (k == greedy) + rest * spread))
            return np.asarray(np.array(weights) / sum(weights))
        case SpannerIGW():
            costs = policy.rate_for(arms.shape[1]) / (4 * arms.shape[1]) * (max(estimates) - estimates)
            weights = optimal_design(arms / np.sqrt(1 + costs)[:, None]) / 2 + np.eye(len(arms))[greedy] / 2
            level = 1.0
            for _ in range(200):  # Newton's method, from the left of a convex function's root
                level += (np.sum(weights / (level + costs)) - 1) / np.sum(weights / (level + costs) ** 2)
            return np.asarray(weights / (level + costs))
        case LinIDS():
            beta, widths = slow_radius(policy, ridge), ridge.widths()
            regrets = max(estimates + beta * widths) - (estimates - beta * widths)
            if policy.gain == "variance":
                return slow_least_ratio(regrets, np.log(1 + widths**2) / 2)
            best = arms[lowest(estimates + beta * widths)]
            before = best @ np.linalg.solve(ridge.gram, best)
            after = [best @ np.linalg.solve(ridge.gram + np.outer(x, x), best) for x in arms]
            gains = [math.log(before / each) if before > 0 else 0.0 for each in after]
            return slow_least_ratio(regrets, np.array(gains))
    raise TypeError(f"no slow law of {policy!r}")


def slow_spanning(arms: Floats) -> list[int]:
    """Arms that span all others: each is the one that least squares by those before explains worst."""
    found: list[int] = []
    while len(found) < np.linalg.matrix_rank(arms):
        chosen = arms[found].T
        left = [x - chosen @ np.linalg.lstsq(chosen, x, rcond=None)[0] if found else x for x in arms]
        lengths = np.array([each @ each for each in left])
        found.append(int(np.argmax(lengths >= max(lengths) * (1 - 1e-9))))
    return found


def slow_perturbed(
    policy: LinPHE | WeightedBootstrap,
    arms: Floats,
    rewards: list[list[float]],
    penalty: float,
    rng: np.random.Generator,
) -> Floats:
    """Every arm's score by a ridge of perturbed rewards."""
    gram, moment = penalty * np.eye(arms.shape[1]), np.zeros(arms.shape[1])
    if isinstance(policy, LinPHE):
        gram *= 1 + policy.scale
        more = [math.ceil(policy.scale * len(own) - 1e-9) for own in rewards]
        heads = [rng.binomial(count, 0.5) for count in more]
        for x, own, count, head in zip(arms, rewards, more, heads, strict=True):
            drawn = [policy.noise] * head + [-policy.noise] * (count - head)
            for y in own + drawn:
                gram, moment = gram + np.outer(x, x), moment + y * x
    else:
        wins = [sum((1 + y / policy.noise) / 2 for y in own) for own in rewards]
        gains = [rng.standard_gamma(win) for win in wins]
        losses = [rng.standard_gamma(len(own) - win) for own, win in zip(rewards, wins, strict=True)]
        for x, gain, loss in zip(arms, gains, losses, strict=True):
            gram, moment = gram + (gain + loss) * np.outer(x, x), moment + policy.noise * (gain - loss) * x
    return arms @ np.linalg.solve(gram, moment)


def slow_ensemble(
    policy: EnsembleSampling, arms: Floats, pulls: Sequence[Pull], penalty: float, draws: Draws, t: int
) -> int:
    """The best arm of a member, whose perturbations are drawn through all rounds of the policy again."""
    decided = [n for n, pull in enumerate(pulls) if pull.explored] + [len(pulls)]
    first = draws(decided[0] + 1)
    seed, last = int(first.integers(2**53)), -penalty * np.eye(arms.shape[1])
    noises = np.zeros((policy.members, arms.shape[1]))
    for n in decided:
        rows, _ = _design(arms, pulls[:n])
        more = rows.T @ rows - last
        drawn = stream(seed, "ensemble", n).standard_normal(noises.shape)
        noises, last = noises + policy.noise * drawn @ semidefinite_root(more).T, rows.T @ rows
    member = int((first if len(decided) == 1 else draws(t)).integers(policy.members))
    ridge = SlowRidge(arms, pulls, penalty)
    return lowest(arms @ (ridge.theta + np.linalg.solve(ridge.gram, noises[member])))


def slow_bernstein(policy: WeightedOFUL, ridge: SlowRidge, rewards: int) -> float:
    """The radius of Zhou et al. (2021) where every weight is 1."""
    dim, n = ridge.theta.size, max(rewards, 1)
    least = policy.largest_noise / math.sqrt(dim) if policy.least_noise is None else policy.least_noise
    doubt = math.log(4 * n**2 / _delta(policy))
    spread = 8 * math.sqrt(dim * math.log(1 + n / (dim * ridge.penalty * least**2)) * doubt)
    return policy.scale * (
        spread + 4 * policy.largest_noise / least * doubt + math.sqrt(ridge.penalty) * policy.bound
    )


def slow_phased(policy: PhasedElimination, arms: Floats, pulls: Sequence[Pull]) -> int:
    """The next arm of the phase, found by going through all phases again."""
    left, delta, begun = list(range(len(arms))), _delta(policy), 0
    for phase in range(1, 60):
        doubt = math.log(len(arms) * phase * (phase + 1) / delta)
        shares = dict(zip(left, optimal_design(arms[left]), strict=True))
        quotas = {
            k: math.ceil(2 * arms.shape[1] * share * policy.noise**2 / (2.0**-phase) ** 2 * doubt)
            for k, share in shares.items()
        }
        played = dict.fromkeys(quotas, 0)
        for n in range(sum(quotas.values())):
            togo = [(-(quotas[k] - played[k]) / quotas[k], k) for k in left if played[k] < quotas[k]]
            arm = min(togo)[1]
            if begun + n == len(pulls):
                return arm
            played[arm] += 1
        end = begun + sum(quotas.values())
        scores = arms @ slow_least_squares(arms, pulls[begun:end])
        left, begun = [k for k in left if max(scores[left]) - scores[k] <= 2 * 2.0**-phase], end
    raise AssertionError("too many phases")


def slow_layered(policy: SupLinUCB, arms: Floats, pulls: Sequence[Pull], penalty: float) -> int:
    """The arm of SupLinUCB, found by going through all rounds again."""
    horizon, delta = policy.horizon or 0, _delta(policy)
    factor = policy.scale * policy.noise * math.sqrt(2 * math.log(2 * horizon * len(arms) / delta))
    layers: list[list[Pull]] = [[] for _ in range(max(math.ceil(math.log(horizon)), 1))]
    for n in range(len(pulls) + 1):
        kept, layer, chosen = list(range(len(arms))), 0, -1
        while chosen < 0:
            ridge = SlowRidge(arms, layers[min(layer, len(layers) - 1)], penalty)
            widths = factor * ridge.widths()
            uppers = ridge.estimates() + widths
            if layer == len(layers) or max(widths[kept]) <= 1 / math.sqrt(horizon):
                chosen, layer = kept[lowest(uppers[kept])], -1
            elif max(widths[kept]) > 0.5 ** (layer + 1):
                chosen = kept[lowest(widths[kept])]
            else:
                kept = [k for k in kept if uppers[k] >= max(uppers[kept]) - 2 * 0.5 ** (layer + 1)]
                layer += 1
        if n == len(pulls):
            return chosen
        if layer >= 0:
            layers[layer].append(pulls[n])
    raise AssertionError("there is always a next arm")


def slow_exp2(policy: EXP2, arms: Floats, pulls: Sequence[Pull]) -> Floats:
    """The law of EXP2, found by going through all rounds again."""
    dim, theta = arms.shape[1], np.zeros(arms.shape[1])
    rate = policy.rate or math.sqrt(math.log(max(len(arms), 2)) / (3 * dim * (policy.horizon or 0)))
    rate = min(rate, 1 / dim)
    for n in range(len(pulls) + 1):
        weights = np.exp(rate * arms @ theta)
        law = (1 - dim * rate) * weights / sum(weights) + dim * rate * optimal_design(arms)
        if n < len(pulls):
            gram = sum(chance * np.outer(x, x) for chance, x in zip(law, arms, strict=True))
            x = arms[pulls[n].arm]
            theta = theta + np.linalg.lstsq(gram, x, rcond=1e-10)[0] * pulls[n].reward / policy.bound
    return np.asarray(law / law.sum())


def slow_least_ratio(regrets: Floats, gains: Floats) -> Floats:
    """The law of one or two arms with the least squared regret over gain, among all pairs."""
    ratio = math.inf
    alike = [
        next(
            k
            for k in range(len(regrets))
            if np.allclose([r, g], [regrets[k], gains[k]], rtol=1e-12, atol=1e-12)
        )
        for r, g in zip(regrets, gains, strict=True)
    ]
    law: Floats = np.eye(len(regrets))[lowest(-regrets)]
    if min(regrets) <= 0 or max(gains) <= 0:
        return law
    for i in range(len(regrets)):
        for j in range(len(regrets)):
            chances = [0.0]
            if regrets[i] != regrets[j] and gains[i] != gains[j]:
                chances.append(regrets[i] / (regrets[j] - regrets[i]) - 2 * gains[i] / (gains[j] - gains[i]))
            for chance in chances:
                gain = gains[i] + chance * (gains[j] - gains[i])
                if 0 <= chance < 1 and gain > 0:
                    found = (regrets[i] + chance * (regrets[j] - regrets[i])) ** 2 / gain
                    if found < ratio * (1 - 1e-12):
                        ratio = found
                        law = np.zeros(len(regrets))
                        law[alike[i]] += 1 - chance
                        law[alike[j]] += chance
    return law


def slow_imed(policy: LinIMED, ridge: SlowRidge) -> Floats:
    """gap^2/B - log B with B = (beta |x|)^2, and what each variant changes of it."""
    beta, widths = slow_radius(policy, ridge), ridge.widths()
    scores = ridge.estimates() + (beta * widths if policy.variant == 3 else 0)
    found = []
    for score, width in zip(scores, widths, strict=True):
        reach = (beta * width) ** 2
        found.append((max(scores) - score) ** 2 / reach - math.log(reach) if reach > 0 else math.inf)
    if policy.variant == 2:
        best = lowest(ridge.estimates())
        found[best] = min(math.log(policy.horizon or 0), found[best])
    if policy.variant == 3 and max(scores) > min(scores):
        best = int(np.argmax(scores))
        found[best] = min(math.log(policy.cap / (max(scores) - min(scores)) ** 2), found[best])
    return np.array(found)


def slow_forced(rule: str, scale: float, last: int) -> set[int]:
    """The forced rounds up to `last`, from their definition."""
    if rule == "blocks":
        q = math.ceil(scale)
        return {(2**n - 1) * q + j for n in range(last.bit_length() + 1) for j in range(1, q + 1)}
    forced: set[int] = set()
    for t in range(1, last + 1):
        if len(forced) < scale * math.log(1 + t):
            forced.add(t)
    return forced


def slow_least_squares(arms: Floats, pulls: Sequence[Pull]) -> Floats:
    """Least squares on the list of all pulls; the shortest solution."""
    rows, rewards = _design(arms, pulls)
    return np.asarray(np.linalg.lstsq(rows, rewards, rcond=1e-10)[0]) if pulls else np.zeros(arms.shape[1])


def slow_lasso(arms: Floats, pulls: Sequence[Pull], strength: float) -> Floats:
    """LASSO on the list of all pulls, by proximal gradient steps until nothing moves."""
    theta = np.zeros(arms.shape[1])
    if not pulls:
        return theta
    rows, rewards = _design(arms, pulls)
    step = len(pulls) / max(float(np.linalg.norm(rows, 2)) ** 2, 1e-300)
    ahead, pace = theta, 1.0
    for _ in range(20_000):
        moved = ahead - step * rows.T @ (rows @ ahead - rewards) / len(pulls)
        after = np.sign(moved) * np.maximum(np.abs(moved) - step * strength, 0.0)
        faster = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        ahead = after + (pace - 1) / faster * (after - theta)
        still = float(np.max(np.abs(after - theta))) < 1e-15
        theta, pace = after, faster
        if still:
            break
    return theta


def slow_rarely_switching(
    policy: RarelySwitchingUCB, arms: Floats, pulls: Sequence[Pull], penalty: float
) -> int:
    """The arm of the last switch, found by going through all rounds of the policy again."""
    arm, log_det_ratio = -1, -math.inf
    for n in [n for n, pull in enumerate(pulls) if pull.explored] + [len(pulls)]:
        ridge = SlowRidge(arms, pulls[:n], penalty)
        if ridge.log_det_ratio() > log_det_ratio + math.log1p(policy.growth) + 1e-9:
            arm, log_det_ratio = (
                lowest(ridge.estimates() + slow_radius(policy, ridge) * ridge.widths()),
                ridge.log_det_ratio(),
            )
    return arm


def slow_has_switched(policy: GreedyFirst, arms: Floats, pulls: Sequence[Pull]) -> bool:
    """Has the smallest eigenvalue ever been too small?"""
    wait = 8 * arms.shape[1] if policy.wait is None else policy.wait
    level = policy.level
    for n in range(wait + 1, len(pulls) + 1):
        rows, _ = _design(arms, pulls[:n])
        least = float(np.linalg.eigvalsh(rows.T @ rows)[0])
        level = least / n / 2 if level is None else level
        if least < level * n / 4 or least <= 1e-12 * float(np.trace(rows.T @ rows)):
            return True
    return False


def _delta(policy: Confidence | PhasedElimination | SupLinUCB | WeightedOFUL) -> float:
    """The delta of a policy that need not say one."""
    return 0.01 if policy.delta is None else policy.delta


def _design(arms: Floats, pulls: Sequence[Pull]) -> tuple[Floats, Floats]:
    return arms[[pull.arm for pull in pulls] or np.zeros(0, int)], np.array([pull.reward for pull in pulls])


def _forced(by: str, arms: Floats, rng: np.random.Generator) -> int:
    if by == "uniform":
        return int(rng.integers(len(arms)))
    return int(rng.choice(len(arms), p=optimal_design(arms)))


def _explored(pulls: Sequence[Pull]) -> list[Pull]:
    return [pull for pull in pulls if pull.explored]


def _best_kept(forced: Floats, scores: Floats, keep: float) -> int:
    top = max(forced)
    kept = [k for k in range(len(scores)) if forced[k] >= top - keep / 2 - 1e-12 * (1 + abs(top))]
    return kept[lowest(scores[kept])]


def _sampled_means(rewards: list[list[float]], noise: float, rng: np.random.Generator) -> Floats:
    drawn = rng.standard_normal(len(rewards))
    return np.array(
        [
            sum(own) / (len(own) + 1) + noise / math.sqrt(len(own) + 1) * z
            for own, z in zip(rewards, drawn, strict=True)
        ]
    )


def slow_radius(policy: Confidence, ridge: SlowRidge) -> float:
    """scale (sigma sqrt(alpha + 2 log(1/delta)) + sqrt(lambda) S), or the root of the sum of both squares."""
    delta = _delta(policy)
    spread = policy.noise * math.sqrt(ridge.log_det_ratio() + 2 * math.log(1 / delta))
    shift = math.sqrt(ridge.penalty) * policy.bound
    return float(policy.scale * (math.hypot(spread, shift) if policy.radius == "mixture" else spread + shift))


def slow_sample(policy: LinTS | OptimisticTS, t: int, ridge: SlowRidge, rng: np.random.Generator) -> Floats:
    """x'(theta + v V^-1/2 eta) of every arm."""
    eta: Floats = rng.standard_normal((ridge.theta.size,))
    if policy.sampling == "spherical":
        eta *= math.sqrt(eta.size) / float(np.linalg.norm(eta))
    delta = _delta(policy)
    spreads = {
        "abeille": slow_radius(policy, ridge),
        "agrawal": policy.scale * policy.noise * math.sqrt(9 * eta.size * math.log(t / delta)),
        None: policy.scale * policy.noise,
    }
    return ridge.sampled(spreads[policy.inflation], eta)


def slow_play(
    policy: Policy,
    arms: Floats,
    reward: Callable[[int, int], float],
    draws: Draws,
    horizon: int,
    penalty: float = 1.0,
) -> list[int]:
    """The arms of rounds 1 to `horizon`.

    `policy`, `reward`, `draws` and `penalty` are those of `play`; every figure is computed from all pulls
    anew.
    """
    pulls: list[Pull] = []
    for t in range(1, horizon + 1):
        arm, explored = slow_choice(policy, t, arms, pulls, penalty, draws)
        pulls.append(Pull(arm, reward(t, arm), explored))
    return [pull.arm for pull in pulls]
