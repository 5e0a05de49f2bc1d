"""Probabilities of arms, by policies that know them."""

import numpy as np

from libc.math cimport exp, fabs, log1p, sqrt

from infex.core.design cimport design_size, find_design
from infex.core.ridge cimport best, larger

cdef extern from "<math.h>" nogil:
    double INFINITY

cdef extern from "loops.h" nogil:
    double largest(const double *scores, int64_t K)
    double tie_bar(double top)

cdef double DESIGN_TOLERANCE = 1.0  # the theory asks for a design within a constant factor of the best
cdef double GAP_TOLERANCE = 0.01    # of the design that is weighted by gaps
cdef int64_t HALVINGS = 54          # after which an interval of length 1/2 has no number inside
cdef double ALIKE = 1e-12           # regrets and gains that differ by less are the same, but for rounding


cdef int64_t drawn_arm(const double *law, int64_t K, bitgen_t *rng) noexcept nogil:
    """An arm by the probabilities of all, as `Generator.choice` draws it."""
    cdef double total = 0.0, below = 0.0, share = rng.next_double(rng.state)
    cdef int64_t k
    for k in range(K):
        total += law[k]
    for k in range(K - 1):
        below += law[k]
        if share < below / total:
            return k
    return K - 1


cdef void divergence_law(const double *estimates, const double *reaches, const double *columns, int64_t d, int64_t K,
                         int64_t greedy, double share, double *work, double *law) noexcept nogil:
    """Writes the probabilities q f/sum q f into `law`, f = exp(-(gap/reach)^2) (LinMED; Balagopalan and Jun, 2025).

    q is `share` for the greedy arm, and of the rest one half uniform, one half by an optimal design of the arms times
    sqrt(f). Without arms, where `columns` are NULL, all of the rest is uniform. `work` has room for K numbers more than
    a design needs, or for K.
    """
    cdef double *evidence = work
    cdef double bar = tie_bar(largest(estimates, K)), even = (1.0 - share) / K, ratio, total = 0.0
    cdef int64_t k
    for k in range(K):
        if k == greedy or estimates[k] >= bar:  # ties, as everywhere, but for rounding
            evidence[k] = 1.0
        elif reaches[k] > 0.0:
            ratio = (estimates[greedy] - estimates[k]) / reaches[k]
            evidence[k] = exp(-ratio * ratio)
        else:
            evidence[k] = 0.0
    if columns is not NULL:
        for k in range(K):
            work[K + k] = sqrt(evidence[k])
        find_design(columns, work + K, d, K, DESIGN_TOLERANCE, work + 2 * K, law)
    for k in range(K):
        law[k] = 0.5 * (even + (1.0 - share) * law[k]) if columns is not NULL else even
        if k == greedy:
            law[k] += share
        law[k] *= evidence[k]
        total += law[k]
    for k in range(K):
        law[k] /= total


cdef int64_t first_alike(const double *regrets, const double *gains, int64_t K, int64_t arm) noexcept nogil:
    """The lowest index of the arms with the regret and the gain of `arm`, but for rounding."""
    cdef int64_t k
    for k in range(arm):
        if (fabs(regrets[k] - regrets[arm]) <= ALIKE * (1.0 + regrets[arm])
                and fabs(gains[k] - gains[arm]) <= ALIKE * (1.0 + gains[arm])):
            return k
    return arm


cdef int64_t next_on_hull(const double *regrets, const double *gains, int64_t K, int64_t arm) noexcept nogil:
    """The next arm on the upper hull of (regret, gain) after `arm`; -1 if no arm gains more."""
    cdef double up, right, height = 0.0, length = 0.0
    cdef int64_t k, found = -1
    for k in range(K):
        up = gains[k] - gains[arm]
        if not up > 0.0:
            continue
        right = regrets[k] - regrets[arm]
        if found < 0 or up * length > height * right or (up * length == height * right and up > height):
            found, height, length = k, up, right
    return found


cdef void find_least_ratio(const double *regrets, const double *gains, int64_t K, double *law) noexcept nogil:
    """Writes the probabilities of the least E[regret]^2/E[gain] into `law`.

    Without any gain, the arm of least regret has probability 1. Else there are at most two arms, neighbours on the
    upper hull of (regret, gain). With i before j, the chance of j is r_i/(r_j - r_i) - 2 g_i/(g_j - g_i) if that lies
    between 0 and 1; else the ratio is least at one end, and a chance that is clipped would be the wrong one.
    """
    cdef double least = INFINITY, ratio, chance, share = 0.0, more, further
    cdef int64_t k, arm = 0, other, first, second
    for k in range(K):
        law[k] = -regrets[k]
        if regrets[k] < regrets[arm] or (regrets[k] == regrets[arm] and gains[k] > gains[arm]):
            arm = k
    first = second = max(best(law, K), 0)
    if regrets[arm] > 0.0 and largest(gains, K) > 0.0:
        while arm >= 0:
            if gains[arm] > 0.0:
                ratio = regrets[arm] * regrets[arm] / gains[arm]
                if ratio < least:
                    least, first, second, share = ratio, arm, arm, 0.0
            other = next_on_hull(regrets, gains, K, arm)
            if other >= 0:
                more, further = regrets[other] - regrets[arm], gains[other] - gains[arm]
                chance = regrets[arm] / more - 2.0 * gains[arm] / further
                if 0.0 < chance < 1.0:
                    ratio = regrets[arm] + chance * more
                    ratio = ratio * ratio / (gains[arm] + chance * further)
                    if ratio < least:
                        least, first, second, share = ratio, arm, other, chance
            arm = other
        first, second = first_alike(regrets, gains, K, first), first_alike(regrets, gains, K, second)
    for k in range(K):
        law[k] = 0.0
    law[first] = 1.0 - share
    law[second] += share


cdef void information_law(const double *uppers, const double *lowers, const double *widths, const double *covariances,
                          int64_t K, int64_t best_arm, double *work, double *law) noexcept nogil:
    """Writes the probabilities of the least E[regret]^2/E[gain] into `law` (LinIDS; Kirschner and Krause, 2018).

    Regrets are bounded by the largest upper bound minus an arm's lower one. Gains are log(1 + w^2)/2, or, by
    `covariances` with `best_arm`, how much log w_best^2 falls if the arm is played. `work` has room for 2 K numbers.
    """
    cdef double *regrets = work
    cdef double *gains = work + K
    cdef double top = largest(uppers, K), square, at_best = widths[best_arm] * widths[best_arm], share
    cdef int64_t k
    for k in range(K):
        regrets[k] = larger(top - lowers[k], 0.0)
        square = widths[k] * widths[k]
        if covariances is NULL:
            gains[k] = 0.5 * log1p(square)
        elif at_best > 0.0:
            share = covariances[k] * covariances[k] / (at_best * (1.0 + square))
            gains[k] = -log1p(-min(share, 1.0 - 1e-16))
        else:
            gains[k] = 0.0
    find_least_ratio(regrets, gains, K, law)


cdef void gap_law(const double *costs, int64_t K, double *law) noexcept nogil:
    """Replaces q in `law` by q/(l + cost), with the l that makes them add up to 1 (SpannerIGW; Zhu et al., 2022).

    l is from 1/2 to 1 if the arm of no cost has half of q, and is found by halving.
    """
    cdef double low = 0.5, high = 1.0, middle, total
    cdef int64_t k, step
    for step in range(HALVINGS):
        middle, total = 0.5 * (low + high), 0.0
        for k in range(K):
            total += law[k] / (middle + costs[k])
        if total > 1.0:
            low = middle
        else:
            high = middle
    total = 0.0
    for k in range(K):
        law[k] /= high + costs[k]
        total += law[k]
    for k in range(K):
        law[k] /= total


cdef const double[::1] _numbers(str name, given, int64_t K):
    """One number for each arm, none of them NaN."""
    found = np.ascontiguousarray(given, dtype=np.float64)
    if found.shape != (K,) or np.isnan(found).any() or K == 0:
        raise ValueError(f"{name} must be a number for each of {K} arms, got the shape {found.shape}")
    return found


cdef const double[:, ::1] _columns(given, int64_t K):
    """The arms, (d, K)."""
    found = np.ascontiguousarray(given, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] < 1 or found.shape[1] != K or not np.isfinite(found).all():
        raise ValueError(f"columns must be finite numbers, (d, {K}), got the shape {found.shape}")
    return found


def minimum_divergence(estimates, reaches, columns, int64_t greedy, double share):
    """`divergence_law` of arms with such estimates and reaches, (K,); `columns` are (d, K), or None."""
    cdef int64_t K = len(estimates), d = 0
    cdef const double[::1] means = _numbers("estimates", estimates, K), far = _numbers("reaches", reaches, K)
    cdef const double[:, ::1] arms = np.zeros((1, K))
    cdef double[::1] law = np.empty(K)
    if columns is not None:
        arms = _columns(columns, K)
        d = arms.shape[0]
    if not 0 <= greedy < K:
        raise IndexError(f"greedy must be from 0 to {K - 1}, got {greedy}")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be from 0 to 1, got {share}")
    cdef double[::1] work = np.empty(2 * K + design_size(d, K))
    with nogil:
        divergence_law(
            &means[0], &far[0], &arms[0, 0] if d > 0 else NULL, d, K, greedy, share, &work[0], &law[0]
        )
    return np.asarray(law)


def information_directed(uppers, lowers, widths, covariances, int64_t best_arm):
    """`information_law` of arms with such bounds and widths, (K,); `covariances` are (K,), or None."""
    cdef int64_t K = len(uppers)
    cdef const double[::1] high = _numbers("uppers", uppers, K), low = _numbers("lowers", lowers, K)
    cdef const double[::1] wide = _numbers("widths", widths, K)
    cdef const double[::1] joint = wide if covariances is None else _numbers("covariances", covariances, K)
    cdef double[::1] law = np.empty(K), work = np.empty(2 * K)
    if not 0 <= best_arm < K:
        raise IndexError(f"best_arm must be from 0 to {K - 1}, got {best_arm}")
    information_law(
        &high[0], &low[0], &wide[0], &joint[0] if covariances is not None else NULL, K, best_arm, &work[0], &law[0]
    )
    return np.asarray(law)


def inverse_gap(costs, columns, int64_t greedy):
    """`gap_law` of arms, (d, K), by what their gaps cost, (K,): q is half the greedy arm, half an optimal design.

    The design is of x/sqrt(1 + cost).
    """
    cdef int64_t K = len(costs), k
    cdef const double[::1] prices = _numbers("costs", costs, K)
    cdef const double[:, ::1] arms = _columns(columns, K)
    cdef double[::1] law = np.empty(K), work = np.empty(K + design_size(arms.shape[0], K))
    if not 0 <= greedy < K:
        raise IndexError(f"greedy must be from 0 to {K - 1}, got {greedy}")
    if not np.greater_equal(prices, 0.0).all():
        raise ValueError(f"costs must be at least 0, got {np.min(prices)}")
    with nogil:
        for k in range(K):
            work[k] = 1.0 / sqrt(1.0 + prices[k])
        find_design(&arms[0, 0], &work[0], arms.shape[0], K, GAP_TOLERANCE, &work[K], &law[0])
        for k in range(K):
            law[k] *= 0.5
        law[greedy] += 0.5
        gap_law(&prices[0], K, &law[0])
    return np.asarray(law)


def least_ratio(regrets, gains):
    """`find_least_ratio` of arms with such regrets and gains, (K,)."""
    cdef int64_t K = len(regrets)
    cdef const double[::1] worse = _numbers("regrets", regrets, K), better = _numbers("gains", gains, K)
    cdef double[::1] law = np.empty(K)
    find_least_ratio(&worse[0], &better[0], K, &law[0])
    return np.asarray(law)
