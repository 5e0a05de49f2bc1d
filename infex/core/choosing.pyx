"""The built-in bases that read one ridge: which arm each plays."""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport M_SQRT1_2, erfc, exp, fabs, hypot, log, log1p, sqrt
from numpy.random.c_distributions cimport random_bounded_uint64, random_standard_normal

from infex.core.design cimport design_size
from infex.core.laws cimport divergence_law, drawn_arm, information_law
from infex.core.ridge cimport (
    best, best_upper, covariances, distances, dot, estimates, larger, log_det_ratio, perturb, product, solve, tied_arm,
    tied_count, upper, whole_sums, width,
)

cdef extern from "<math.h>" nogil:
    double pow(double x, double y)
    double INFINITY

cdef double INVERSE_ROOT = 0.3989422804014327  # 1/sqrt(2 pi)
cdef double SINGULAR = 1e-12           # of the trace: an eigenvalue below it is rounding
cdef double FAR_FROM_SINGULAR = 1e-11
cdef double ROUNDED = 1e-12            # of n: more than rounding changes of an eigenvalue of n rewards
cdef double ROUNDED_BAR = 1e-6         # more than rounding changes of where a gain cannot be the largest
cdef double ROUNDED_GROWTH = 1e-9      # an arm of length 1 makes det V grow by exactly 2 at first


cdef bitgen_t *bits_of(generator) except NULL:
    """The C functions that `generator`, a `numpy.random.Generator`, draws by."""
    return <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule, "BitGenerator")


cdef int64_t uniform_arm(int64_t count, bitgen_t *rng) noexcept nogil:
    """As `Generator.integers(count)`."""
    return <int64_t>random_bounded_uint64(rng, 0, count - 1, 0, False)


cdef int64_t pick(const double *scores, int64_t K, bint random_ties, bitgen_t *rng) noexcept nogil:
    """The best arm: among ties the lowest index, or one drawn uniformly; -1 if no score is a number."""
    cdef int64_t tied
    if not random_ties:
        return best(scores, K)
    tied = tied_count(scores, K)
    return tied_arm(scores, K, uniform_arm(tied, rng) if tied > 1 else 0)


cdef void to_probabilities(double *odds, int64_t K) noexcept nogil:
    """1/(1 + exp(-z)) of every z, in its place."""
    cdef double small
    cdef int64_t k
    for k in range(K):
        small = exp(-fabs(odds[k]))
        odds[k] = 1.0 / (1.0 + small) if odds[k] >= 0.0 else small / (1.0 + small)


cdef double radius_at(const Radius *radius, double log_det_ratio, double penalty) noexcept nogil:
    """scale (noise sqrt(log(det V/det V_0) + 2 log(1/delta)) + sqrt(penalty) bound) (Abbasi-Yadkori et al., 2011).

    As a `mixture`, the root of the sum of both squares in the place of their sum (Flynn et al., 2023).
    """
    cdef double spread = log_det_ratio - 2.0 * log(radius.delta)
    if radius.mixture:
        return radius.scale * sqrt(radius.noise * radius.noise * spread + penalty * radius.bound * radius.bound)
    return radius.scale * (radius.noise * sqrt(spread) + sqrt(penalty) * radius.bound)


def confidence_radius(double log_det_ratio, double penalty, double noise, double bound, double delta, bint mixture):
    """`radius_at` at a scale of 1."""
    cdef Radius radius = Radius(noise, bound, delta, 1.0, mixture)
    return radius_at(&radius, log_det_ratio, penalty)


cdef inline double radius(const Settings *base, const State *s) noexcept nogil:
    return radius_at(&base.radius, log_det_ratio(s), s.penalty) + base.bonus


cdef int64_t greedy_arm(State *s, bint logistic, bint random_ties, bitgen_t *rng) noexcept nogil:
    """The arm of the largest estimate, and all estimates in `room`; if `logistic`, scores are log-odds."""
    cdef int64_t arm = estimates(s.scores, s.along, s.K, s.run.phi, s.room)
    if logistic:
        to_probabilities(s.room, s.K)
    elif not random_ties:
        return arm
    return pick(s.room, s.K, random_ties, rng)


cdef int64_t optimistic_arm(const Settings *base, State *s, bint logistic, double beta,
                            bitgen_t *rng) noexcept nogil:
    """The arm of the largest upper bound."""
    cdef Run *run = s.run
    if logistic or base.random_ties:
        upper(s.scores, s.squares, s.along, s.K, run.phi, run.psi, beta, s.room)
        if logistic:
            to_probabilities(s.room, s.K)
        return pick(s.room, s.K, base.random_ties, rng)
    return best_upper(
        s.scores, s.squares, s.along, s.K, run.phi, run.psi, beta, max(<int64_t>run.arm, 0), s.room, s.places
    )


cdef double drawn_degree(const Settings *base, bitgen_t *rng) noexcept nogil:
    """One of the degrees, as `Generator.choice` draws it by their probabilities."""
    cdef double share = rng.next_double(rng.state)
    cdef int64_t m
    for m in range(base.levels - 1):
        if share < base.degrees[m]:
            return base.degrees[base.levels + m]
    return base.degrees[2 * base.levels - 1] if base.levels else 1.0


cdef inline double divergence_index(double gap, double reach) noexcept nogil:
    """log(reach^2) - gap^2/reach^2; -infinity for a reach of 0."""
    cdef double square = reach * reach
    return log(square) - gap * gap / square if square > 0.0 else -INFINITY


def divergence_indices(const double[::1] gaps, const double[::1] reaches):
    """log(reach^2) - gap^2/reach^2 of every arm, (K,); -infinity for a reach of 0."""
    cdef int64_t K = gaps.shape[0], k
    if reaches.shape[0] != K:
        raise ValueError(f"there must be {K} reaches, got {reaches.shape[0]}")
    cdef double[::1] out = np.empty(K)
    for k in range(K):
        out[k] = divergence_index(gaps[k], reaches[k])
    return np.asarray(out)


cdef double expected_improvement(double gap, double reach) noexcept nogil:
    """The mean of max(X, 0) of a normal X with mean -gap and deviation reach: reach psi(gap/reach).

    Here psi(z) = phi(z) - z Phi(-z). From z = 3 on, as its terms nearly cancel, psi = phi c/(z + c) with
    c = 1/(z + 2/(z + 3/(z + ...))).
    """
    cdef double z, c = 0.0, density
    cdef int64_t n
    if reach <= 0.0:
        return 0.0
    z = gap / reach
    density = INVERSE_ROOT * exp(-0.5 * z * z)
    if z < 3.0:
        return reach * (density - 0.5 * z * erfc(z * M_SQRT1_2))
    if density == 0.0:
        return 0.0
    for n in range(40, 0, -1):
        c = n / (z + c)
    return reach * (density * c / (z + c))


cdef double largest_improvement(const double *gaps, const double *distances, int64_t K, double noise) noexcept nogil:
    """The largest `expected_improvement` of all arms, with reaches noise distance; 0 without arms.

    As psi(z) <= phi(z), an arm cannot improve most if phi(z) times the longest reach is less than the improvement by
    the arm of the least z = gap/reach: so few improvements are computed.
    """
    cdef double most = 0.0, longest = 0.0, least = INFINITY, reach, z, bar
    cdef int64_t k, nearest = -1
    for k in range(K):
        reach = noise * distances[k]
        longest = larger(reach, longest)
        z = gaps[k] / reach if reach > 0.0 else INFINITY
        if z < least:
            least, nearest = z, k
    if nearest < 0:
        return 0.0
    most = expected_improvement(gaps[nearest], noise * distances[nearest])
    bar = sqrt(larger(2.0 * log(longest * INVERSE_ROOT / most), 0.0)) + ROUNDED_BAR if most > 0.0 else INFINITY
    for k in range(K):
        reach = noise * distances[k]
        if gaps[k] <= bar * reach:
            most = larger(expected_improvement(gaps[k], reach), most)
    return most


def largest_expected_improvement(const double[::1] gaps, const double[::1] distances, double noise):
    """The largest expected improvement by arms with such gaps and reaches noise distance; 0 without arms.

    It is what a greedy round is expected to lose.
    """
    cdef int64_t K = gaps.shape[0]
    if distances.shape[0] != K:
        raise ValueError(f"there must be {K} distances, got {distances.shape[0]}")
    return largest_improvement(&gaps[0], &distances[0], K, noise) if K else 0.0


cdef int64_t imed_arm(const Settings *base, State *s, bint logistic, bitgen_t *rng) noexcept nogil:
    """The arm of the least divergence (LinIMED; Bian and Tan, 2024)."""
    cdef double beta = radius(base, s), top = -INFINITY, least, reach, p
    cdef double *out = s.room
    cdef int64_t top_arm, k
    if base.kind == LINIMED:
        top_arm, least = greedy_arm(s, logistic, False, rng), base.rate
        for k in range(s.K):
            top = larger(top, out[k])
    else:
        upper(s.scores, s.squares, s.along, s.K, s.run.phi, s.run.psi, beta, out)
        if logistic:
            to_probabilities(out, s.K)
        top_arm, least = 0, INFINITY
        for k in range(s.K):
            if out[k] > top:
                top_arm, top = k, out[k]
            if out[k] < least:
                least = out[k]
        least = -log(base.rate / ((top - least) * (top - least))) if top > least else -INFINITY
    for k in range(s.K):
        reach = width(s.squares[k], s.along[k], s.run.psi)
        if logistic:
            p = s.scores[k] + s.run.phi * s.along[k]
            to_probabilities(&p, 1)
            reach *= p * (1.0 - p)
        out[k] = divergence_index(top - out[k], beta * reach)
    if top_arm >= 0:
        out[top_arm] = larger(least, out[top_arm])
    return pick(out, s.K, base.random_ties, rng)


cdef int64_t law_size(const Settings *base, int64_t d, int64_t K) noexcept nogil:
    """How much room a base needs that draws its arm from a law; 0 for others."""
    if base.kind == LINMED_BY_DESIGN:
        return 4 * K + design_size(d, K)
    return 7 * K if LINMED <= base.kind <= LINIDS_DIRECTED else 0


cdef int64_t med_arm(const Settings *base, State *s, bint logistic, bitgen_t *rng) noexcept nogil:
    """An arm drawn by minimum empirical divergence (LinMED)."""
    cdef int64_t greedy = greedy_arm(s, logistic, False, rng), k
    cdef double beta = radius(base, s)
    cdef double *law = s.law
    cdef double *reaches = law + s.K
    if greedy < 0:
        return -1
    distances(s, greedy, s.room if logistic else NULL, s.sample, reaches)
    for k in range(s.K):
        reaches[k] *= beta
    divergence_law(
        s.room, reaches, s.columns if base.kind == LINMED_BY_DESIGN else NULL, s.d, s.K, greedy, base.rate,
        reaches + s.K, law,
    )
    return drawn_arm(law, s.K, rng)


cdef int64_t ids_arm(const Settings *base, State *s, bint logistic, bitgen_t *rng) noexcept nogil:
    """An arm drawn by the least ratio of squared regret and information (LinIDS)."""
    cdef int64_t K = s.K, top, k
    cdef double beta = radius(base, s)
    cdef double *law = s.law
    cdef double *uppers = law + K
    cdef double *lowers = law + 2 * K
    cdef double *widths = law + 3 * K
    cdef double *joint = law + 4 * K
    upper(s.scores, s.squares, s.along, K, s.run.phi, s.run.psi, beta, uppers)
    upper(s.scores, s.squares, s.along, K, s.run.phi, s.run.psi, -beta, lowers)
    for k in range(K):
        widths[k] = width(s.squares[k], s.along[k], s.run.psi)
    if logistic:
        to_probabilities(uppers, K)
        to_probabilities(lowers, K)
        greedy_arm(s, True, False, rng)
        for k in range(K):
            widths[k] *= s.room[k] * (1.0 - s.room[k])
    top = best(uppers, K)
    if top < 0:
        return -1
    if base.kind == LINIDS_DIRECTED:
        covariances(s, top, s.room if logistic else NULL, s.sample, joint)
    information_law(
        uppers, lowers, widths, joint if base.kind == LINIDS_DIRECTED else NULL, K, top, law + 5 * K, law
    )
    return drawn_arm(law, K, rng)


cdef int64_t sampled_arm(const Settings *base, State *s, bint logistic, bitgen_t *rng) noexcept nogil:
    """The best arm of one sampled parameter theta + beta V^-1/2 eta."""
    cdef double beta = radius(base, s), length
    cdef double *eta = s.sample
    cdef int64_t i
    for i in range(s.d):
        eta[i] = random_standard_normal(rng)
    if base.kind == LINTS_SPHERICAL or base.kind == OPTIMISTIC_TS_SPHERICAL:
        length = sqrt(s.d / dot(eta, eta, s.d))
        for i in range(s.d):
            eta[i] *= length
    perturb(s, beta, eta, s.sample + s.d, s.sample + 2 * s.d)
    product(s.columns, s.K, s.sample + s.d, s.d, s.room)
    if base.kind >= OPTIMISTIC_TS:
        for i in range(s.K):  # as log-odds, chances are as large
            s.room[i] = larger(s.room[i], s.scores[i] + s.run.phi * s.along[i])
    if logistic:
        to_probabilities(s.room, s.K)
    return pick(s.room, s.K, base.random_ties, rng)


cdef int64_t switching_arm(const Settings *base, State *s, bint logistic, double *policy_state,
                           bitgen_t *rng) noexcept nogil:
    """The best arm of an optimistic parameter that is found anew when det V has grown enough."""
    cdef double ratio = log_det_ratio(s), beta, length, share
    cdef double *theta = policy_state + STATE_SIZE
    cdef double *x = s.sample
    cdef int64_t arm, i
    if policy_state[FOUND] > 0.0 and not ratio > policy_state[AT_LOG_DET] + log1p(base.rate) + ROUNDED_GROWTH:
        product(s.columns, s.K, theta, s.d, s.room)
        return pick(s.room, s.K, base.random_ties, rng)
    beta = radius(base, s)
    arm = optimistic_arm(base, s, logistic, beta, rng)
    if arm >= 0:
        for i in range(s.d):
            x[i] = s.columns[i * s.K + arm]
        length = solve(s, x, theta)
        share = beta / length if length > 0.0 else 0.0
        for i in range(s.d):
            theta[i] = s.theta[i] + s.run.phi * s.u[i] + (share * theta[i] if length > 0.0 else 0.0)
        policy_state[FOUND], policy_state[AT_LOG_DET] = 1.0, ratio
    return arm


cdef int64_t arm_by_pulls(const Settings *base, State *s, bitgen_t *rng, bint *explored) noexcept nogil:
    """The arm of a policy that looks at pulls and rewards alone."""
    cdef double total = 0.0, bonus, played
    cdef double *out = s.room
    cdef int64_t k
    if base.kind == UCB1:  # mean + noise sqrt(8 log n / n_k)
        for k in range(s.K):
            total += s.pulls[k]
        bonus = 8.0 * log(max(total, 1.0))
        for k in range(s.K):
            played = max(s.pulls[k], 1.0)
            out[k] = s.rewards[k] / played + base.radius.noise * sqrt(bonus / played)
            if s.pulls[k] == 0.0:
                out[k] = INFINITY
        return pick(out, s.K, base.random_ties, rng)
    if base.kind == PLAIN_HYBRID_TS:
        for k in range(s.K):
            if s.pulls[k] == 0.0:
                return k
        if rng.next_double(rng.state) >= base.rate:
            explored[0] = False
            for k in range(s.K):
                out[k] = s.rewards[k] / s.pulls[k]
            return pick(out, s.K, base.random_ties, rng)
    for k in range(s.K):  # S_k/(n_k + 1) + noise/sqrt(n_k + 1) eta_k, all draws first
        out[k] = random_standard_normal(rng)
    for k in range(s.K):
        played = s.pulls[k] + 1.0
        out[k] = s.rewards[k] / played + base.radius.noise / sqrt(played) * out[k]
    return pick(out, s.K, base.random_ties, rng)


cdef bint is_plain(const Settings *base) noexcept nogil:
    """Can the loop over fixed arms play it? It plays kinds up to HYBRID_TS, with nothing around them."""
    return base.kind <= HYBRID_TS and base.wrap == NOTHING


cdef Kind kind_at(const Settings *base, int64_t t, bitgen_t *rng) noexcept nogil:
    """What a base does in round t: some draw whether they explore, and are GREEDY if not."""
    cdef double rate = base.rate
    if base.kind == EPSILON_GREEDY:
        if rate < 0.0:
            rate = min(1.0, pow(<double>t, -1.0 / 3.0))
        return UNIFORM if rng.next_double(rng.state) < rate else GREEDY
    if base.kind == HYBRID_TS:
        return LINTS if rng.next_double(rng.state) < rate else GREEDY
    return base.kind


cdef int64_t base_arm(const Settings *base, State *s, bint logistic, double *policy_state, int64_t t, bitgen_t *rng,
                     bint *explored) noexcept nogil:
    """The arm of the base without what is wrapped around it."""
    cdef Kind kind = kind_at(base, t, rng)
    if kind == LINUCB:
        return optimistic_arm(base, s, logistic, radius(base, s), rng)
    if kind == RAND_LINUCB:
        return optimistic_arm(base, s, logistic, drawn_degree(base, rng) * radius(base, s), rng)
    if kind == LINIMED or kind == LINIMED_BY_UPPER:
        return imed_arm(base, s, logistic, rng)
    if kind == LINMED or kind == LINMED_BY_DESIGN:
        return med_arm(base, s, logistic, rng)
    if kind == LINIDS or kind == LINIDS_DIRECTED:
        return ids_arm(base, s, logistic, rng)
    if kind == LINTS or kind == LINTS_SPHERICAL or kind >= OPTIMISTIC_TS:
        return sampled_arm(base, s, logistic, rng)
    if kind == GREEDY:
        explored[0] = False
        return greedy_arm(s, logistic, base.random_ties, rng)
    if kind == UNIFORM:
        return uniform_arm(s.K, rng)
    if kind == ROUND_ROBIN:
        return (t - 1) % s.K
    if kind == RARELY_SWITCHING:
        return switching_arm(base, s, logistic, policy_state, rng)
    return arm_by_pulls(base, s, rng, explored)


cdef int64_t choose(const Settings *base, State *s, bint logistic, double *policy_state, int64_t t, bitgen_t *rng,
                    bint *explored) noexcept nogil:
    """The arm of round t, -1 if no score is a number, and whether it was chosen to explore.

    If `logistic`, scores are log-odds. `policy_state`, (STATE_SIZE + d,), is that of a base or wrap that keeps one.
    """
    cdef bint committed = base.wrap == COMMITS and t > base.second, tries
    cdef int64_t arm, other
    explored[0] = True
    if committed or (base.wrap == GREEDY_FIRST and not has_switched(base, s, policy_state)):
        explored[0] = False
        return greedy_arm(s, logistic, committed and base.wrap_random_ties, rng)
    if base.wrap == SOFTENED:
        tries = rng.next_double(rng.state) < base.first
        other = uniform_arm(s.K, rng)
        arm = base_arm(base, s, logistic, policy_state, t, rng, explored)
        explored[0] = True
        return other if tries else arm
    return base_arm(base, s, logistic, policy_state, t, rng, explored)


# Greedy-First

cdef bint has_switched(const Settings *base, State *s, double *policy_state) noexcept nogil:
    """Has Greedy-First gone over to its base (Bastani, Bayati and Khosravi, 2021)?

    The least eigenvalue of sum x x' is computed only where it may decide: it never falls as rewards come in,
    so one that was seen before bounds it from below.
    """
    cdef double told = s.told, level, least, trace = 0.0
    cdef int64_t d = s.d, size = (d + 1) * d, i, j
    if policy_state[SWITCHED] > 0.0:
        return True
    if told <= (base.second if base.second >= 0.0 else 8.0 * d):
        return False
    level = policy_state[LEVEL] if policy_state[LEVEL_KNOWN] > 0.0 else base.first
    if level >= 0.0 and policy_state[LEAST_SEEN] > told * (max(level / 4.0, FAR_FROM_SINGULAR) + ROUNDED):
        return False
    whole_sums(s)
    for i in range(d):
        for j in range(i + 1):
            s.whole[i * d + j] += s.whole[size + i * d + j]
    for i in range(d):
        trace += s.whole[i * d + i]
        for j in range(i):
            s.whole[j * d + i] = s.whole[i * d + j]
    least = least_eigenvalue(s.whole, d, trace)
    if level < 0.0:
        level = least / told / 2.0
    policy_state[LEVEL_KNOWN], policy_state[LEVEL], policy_state[LEAST_SEEN] = 1.0, level, least
    if least < level * told / 4.0 or least <= SINGULAR * trace:
        policy_state[SWITCHED] = 1.0
    return policy_state[SWITCHED] > 0.0


cdef double least_eigenvalue(double *a, int64_t d, double trace) noexcept nogil:
    """The least eigenvalue of a symmetric matrix, which is overwritten, by Jacobi's rotations."""
    cdef double beside = INFINITY, limit = (1e-16 * trace) * (1e-16 * trace), least
    cdef int64_t i, j, sweeps = 0
    while sweeps < 60:
        beside = 0.0
        for i in range(1, d):
            for j in range(i):
                beside += a[i * d + j] * a[i * d + j]
                if fabs(a[i * d + j]) > 1e-300 * fabs(a[i * d + i] - a[j * d + j]):
                    rotate(a, d, i, j)
        if not beside > limit:
            break
        sweeps += 1
    least = a[0]
    for i in range(1, d):
        least = min(least, a[i * d + i])
    return least


cdef bint are_numbers(const double[::1] scores) noexcept nogil:
    """Is there a score, and is none of them NaN?"""
    cdef int64_t k
    for k in range(scores.shape[0]):
        if scores[k] != scores[k]:
            return False
    return scores.shape[0] > 0


def best_arm(const double[::1] scores):
    """The lowest index among the arms tied for the largest score; -1 if a score is no number."""
    return best(&scores[0], scores.shape[0]) if are_numbers(scores) else -1


def tied_arms(const double[::1] scores):
    """All arms tied for the largest score, in their order; none if a score is no number."""
    cdef int64_t K = scores.shape[0], place, count = tied_count(&scores[0], K) if are_numbers(scores) else 0
    return [tied_arm(&scores[0], K, place) for place in range(count)]


def smallest_eigenvalue(gram):
    """The smallest eigenvalue of a symmetric matrix, of which the lower triangle is read; and its trace."""
    given = np.asarray(gram, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.size:
        raise ValueError(f"gram must be a square matrix, got the shape {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("gram must be finite")
    cdef double[:, ::1] a = np.tril(given) + np.tril(given, -1).T
    cdef double trace = np.trace(given)
    return least_eigenvalue(&a[0, 0], a.shape[0], trace), trace


cdef void rotate(double *a, int64_t d, int64_t p, int64_t q) noexcept nogil:
    """Turns the plane of p and q until a_pq is 0 (Golub and Van Loan, section 8.5)."""
    cdef double ratio = (a[q * d + q] - a[p * d + p]) / (2.0 * a[p * d + q])
    cdef double tangent = 1.0 / (fabs(ratio) + hypot(1.0, ratio)), cosine, sine, left, old, other
    cdef int64_t i
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    left = a[p * d + q]
    a[p * d + p] -= tangent * left
    a[q * d + q] += tangent * left
    a[p * d + q] = a[q * d + p] = 0.0
    for i in range(d):
        if i != p and i != q:
            old, other = a[i * d + p], a[i * d + q]
            a[i * d + p] = a[p * d + i] = cosine * old - sine * other
            a[i * d + q] = a[q * d + i] = sine * old + cosine * other


cdef class Base:
    """What a compiled loop plays in exploring rounds, by its kind and its numbers.

    The confidence radius is that of `radius_at` + bonus; `rate` is what `Kind` says of each kind. `reads` says what it
    reads of the arms. A `wrap` with its two numbers may stand around it. `degrees` of optimism are their distribution
    function and their values, (2, levels).
    """

    def __cinit__(self, Kind kind, Reads reads=READS_WIDTHS, *, double noise=1.0, double bound=1.0,
                  double delta=1.0, double scale=1.0, double bonus=0.0, double rate=0.0,
                  bint random_ties=False, bint mixture=False, Wrap wrap=NOTHING, double first=0.0, double second=0.0,
                  bint wrap_random_ties=False, degrees=((), ())):
        if not (GREEDY <= kind <= OPTIMISTIC_TS_SPHERICAL and NOTHING <= wrap <= COMMITS):
            raise ValueError(f"there is no base of kind {<int>kind} with wrap {<int>wrap}")
        self.settings = Settings(
            kind, reads, Radius(noise, bound, delta, scale, mixture), bonus, rate, random_ties, wrap, first, second,
            wrap_random_ties, NULL, 0,
        )
        self.degrees = np.array(degrees, dtype=np.float64).reshape(2, -1)
        if self.degrees.shape[1]:
            self.settings.degrees, self.settings.levels = &self.degrees[0, 0], self.degrees.shape[1]
