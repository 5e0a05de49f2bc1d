"""The chooser of infex's own policies that need more than the hot loop has: see `calling`.

Its settings are numbers in the order below; what a policy notes of its own choices stands in `state`.
"""

import math

import numpy as np

from infex import kernels
from infex.kernels.bases import (
    EPSILON,
    GAUSSIAN_TS,
    GREEDY,
    HYBRID,
    LINTS,
    LINTS_SPHERICAL,
    LINUCB,
    PLAIN_HYBRID,
    PLAIN_UCB,
    ROBIN,
    SWITCHING,
    UNIFORM,
    Base,
    NoSuchKind,
    any_arm,
    greedy_arm,
    optimistic_arm,
    pick,
    radius,
    sample_scores,
)
from infex.kernels.compiling import inner, within, woven
from infex.kernels.eigenvalues import least_eigenvalue
from infex.kernels.plain_arms import draw_means, first_fresh, plain_means, ucb1_indices
from infex.kernels.view import View

# The settings: of the base, of what wraps it, and whether scores are log-odds.
OF_KIND, OF_NOISE, OF_BOUND, OF_DELTA, OF_SCALE, OF_RATE, OF_BONUS, OF_TIES = range(8)
WRAP, FIRST, SECOND, WRAP_TIES, LINKED, CHOOSER_SETTINGS = range(8, 14)

# What wraps the base: nothing; greedy until `FIRST` n/4 proves too much; a uniform arm with probability
# `FIRST`; greedy after `SECOND` rounds.
UNWRAPPED, GREEDY_FIRST, SOFTENED, COMMITS = range(4)

# The notes: of Greedy-First (has it switched, is its level known, the level, an eigenvalue seen before),
# and of rare switches (was there one, the volume at the last, and the parameter that it found).
SWITCHED, LEVELLED, LEVEL, SEEN_LEAST, FOUND, AT_VOLUME, NOTE_ROOM = range(7)

SINGULAR = 1e-12  # of the trace, below which rounding would decide
FAR_FROM_SINGULAR = 1e-11
ROUNDED = 1e-12  # of n, more than rounding changes of an eigenvalue of n rewards
ROUNDED_GROWTH = 1e-9  # an arm of length 1 makes det V grow by exactly 2 at first: rounding may not decide


@inner
def choose_built_in(t: int, seen: View, rng: np.random.Generator) -> int:
    """The arm of one of infex's own policies; -2 - arm in a round that does not count as exploring."""
    settings, count = seen.settings, seen.arms.shape[1]
    wrap, linked = int(settings[WRAP]), settings[LINKED] > 0.0
    base = Base(
        int(settings[OF_KIND]), 0, settings[OF_NOISE], settings[OF_BOUND], settings[OF_DELTA],
        settings[OF_SCALE], settings[OF_RATE], settings[OF_BONUS], settings[OF_TIES] > 0.0, 0,
    )  # fmt: skip
    committed = wrap == COMMITS and t > settings[SECOND]
    if committed or (wrap == GREEDY_FIRST and not has_switched(seen)):
        return -2 - linked_greedy(seen, linked, committed and settings[WRAP_TIES] > 0.0, rng)
    if wrap == SOFTENED:
        tries, uniform = rng.random() < settings[FIRST], any_arm(count, rng)
        arm, _ = own_arm(base, t, seen, linked, rng)
        return uniform if tries else arm
    arm, explores = own_arm(base, t, seen, linked, rng)
    return arm if explores else -2 - arm


@woven
def own_arm(base: Base, t: int, seen: View, linked: bool, rng: np.random.Generator) -> tuple[int, bool]:
    """The arm of the base, and whether it calls that exploring."""
    kind, count = base.kind, seen.arms.shape[1]
    if kind in (PLAIN_UCB, GAUSSIAN_TS, PLAIN_HYBRID):
        return plain_arm(base, seen, rng)
    if kind == SWITCHING:
        return switching_arm(base, seen, linked, rng), True
    if kind == EPSILON:
        rate = min(1.0, t ** (-1.0 / 3.0)) if base.rate < 0.0 else base.rate
        kind = GREEDY if rng.random() >= rate else UNIFORM
    if kind == HYBRID:
        kind = GREEDY if rng.random() >= base.rate else LINTS
    if kind == GREEDY:
        return linked_greedy(seen, linked, base.random_ties, rng), False
    if kind == ROBIN:
        return (t - 1) % count, True
    if kind == UNIFORM:
        return any_arm(count, rng), True
    if kind == LINUCB:
        return linked_optimist(base, seen, linked, rng), True
    if kind != LINTS and kind != LINTS_SPHERICAL:
        raise NoSuchKind(kind)
    return linked_sample(base, seen, linked, rng), True


@woven
def linked_greedy(seen: View, linked: bool, random_ties: bool, rng: np.random.Generator) -> int:
    """The greedy arm."""
    scores = seen.scores[2]
    if not linked:
        return greedy_arm(seen.board, seen.run, random_ties, rng, scores)
    kernels.estimates(seen.board, seen.run, scores)
    kernels.to_chances(scores)
    return pick(scores, random_ties, rng)


@woven
def linked_optimist(base: Base, seen: View, linked: bool, rng: np.random.Generator) -> int:
    """The arm of the largest upper bound."""
    scores = seen.scores[2]
    if not linked:
        return optimistic_arm(base, seen.penalty, seen.board, seen.run, rng, scores, seen.places)
    kernels.upper(seen.board, seen.run, radius(base, seen.penalty, seen.run), scores)
    kernels.to_chances(scores)
    return pick(scores, base.random_ties, rng)


@woven
def linked_sample(base: Base, seen: View, linked: bool, rng: np.random.Generator) -> int:
    """The best arm under one sampled parameter."""
    spherical, beta, scores = (
        base.kind == LINTS_SPHERICAL,
        radius(base, seen.penalty, seen.run),
        seen.scores[2],
    )
    sample_scores(spherical, beta, seen.arms, seen.solved, seen.vectors, seen.run, rng, seen.sample, scores)
    if linked:
        kernels.to_chances(scores)
    return pick(scores, base.random_ties, rng)


@woven
def plain_arm(base: Base, seen: View, rng: np.random.Generator) -> tuple[int, bool]:
    """The arm of a policy that looks at pulls and rewards alone, and whether it calls that exploring."""
    pulls, sums, scores = seen.counts[0], seen.counts[1], seen.scores[2]
    if base.kind == PLAIN_UCB:
        ucb1_indices(pulls, sums, base.noise, scores)
        return pick(scores, base.random_ties, rng), True
    if base.kind == PLAIN_HYBRID:
        fresh = first_fresh(pulls)
        if fresh >= 0:
            return fresh, True
        if rng.random() >= base.rate:
            plain_means(pulls, sums, scores)
            return pick(scores, base.random_ties, rng), False
    draw_means(pulls, sums, base.noise, scores, rng)
    return pick(scores, base.random_ties, rng), True


@within
def switching_arm(base: Base, seen: View, linked: bool, rng: np.random.Generator) -> int:
    """The best arm of an optimistic parameter that is found anew when det V has grown enough."""
    notes, scores = seen.state, seen.scores[2]
    volume = kernels.volume(seen.run)
    if notes[FOUND] > 0.0 and not volume > notes[AT_VOLUME] + math.log1p(base.rate) + ROUNDED_GROWTH:
        kernels.product(seen.arms, notes[NOTE_ROOM:], scores)
        return pick(scores, base.random_ties, rng)
    arm = linked_optimist(base, seen, linked, rng)
    if arm >= 0:
        x, beta = seen.arms[:, arm].copy(), radius(base, seen.penalty, seen.run)
        kernels.optimistic(seen.solved, seen.vectors, seen.run, x, beta, notes[NOTE_ROOM:])
        notes[FOUND], notes[AT_VOLUME] = 1.0, volume
    return arm


@within
def has_switched(seen: View) -> bool:
    """Has Greedy-First gone over to its base? The least eigenvalue is computed only where it may decide.

    It never falls as rewards come in, so one that was seen before bounds it from below.
    """
    notes, settings, d = seen.state, seen.settings, seen.arms.shape[0]
    if notes[SWITCHED] > 0.0:
        return True
    told = np.sum(seen.counts[0])
    if told <= (settings[SECOND] if settings[SECOND] >= 0.0 else 8.0 * d):
        return False
    level = notes[LEVEL] if notes[LEVELLED] > 0.0 else settings[FIRST]
    if level >= 0.0 and notes[SEEN_LEAST] > told * (max(level / 4.0, FAR_FROM_SINGULAR) + ROUNDED):
        return False
    whole = seen.truth.copy()
    kernels.add_pulls(whole, seen.penalty, seen.vectors[0], seen.run[kernels.N], seen.run[kernels.SUM])
    least, trace = least_eigenvalue((whole[0] + whole[1])[:d])
    if level < 0.0:
        level = least / told / 2.0
    notes[LEVELLED], notes[LEVEL], notes[SEEN_LEAST] = 1.0, level, least
    if least < level * told / 4.0 or least <= SINGULAR * trace:
        notes[SWITCHED] = 1.0
    return bool(notes[SWITCHED] > 0.0)
