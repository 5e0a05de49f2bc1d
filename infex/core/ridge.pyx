"""Ridge regression over arms; `ridge.pxd` explains the algebra."""

import numpy as np

from libc.math cimport fabs, isfinite, log, sqrt
from libc.string cimport memcpy

from infex.core.pairs cimport Pair, add, exact_product, minus_product, quotient, root

cdef double REFRESH = 64.0   # runs, times d, after which everything is computed anew
cdef double FINE = 1e-6      # below this penalty sums and the factor have 32 digits
cdef double HEAVY = 8192.0   # n |x|^2 against the penalty from which on they are added with 32 digits
cdef double STEEP = 1e9      # trace V trace V^-1 from which on V is factored with 32 digits
cdef double LITTLE = 1e-6    # growth of a pivot, against the penalty, of which a plain log loses digits
cdef double LARGE = 2.0**12  # a reward beyond it is a run by itself


cdef double dot(const double *a, const double *b, int64_t n) noexcept nogil:
    """The sum of a_i b_i in four strands, which a compiler can vectorise."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    cdef int64_t i = 0
    while i + 4 <= n:
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        i += 4
    while i < n:
        s0 += a[i] * b[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


# The factor of V, from the sums alone

cdef double factor(State *s) noexcept nogil:
    """log(det V/det V_0), and in M the lower Cholesky factor of V, by columns."""
    cdef int64_t d = s.d, i, j
    cdef double ratio = 0.0, value, pivot
    cdef double *M = s.M
    for j in range(d):
        value = s.sums[j * d + j] + s.carries[j * d + j] - dot(M + j * d, M + j * d, j)
        pivot = M[j * d + j] = sqrt(value + s.penalty)
        if fabs(value) < LITTLE * s.penalty:
            ratio += log1p(value / s.penalty)
        else:
            ratio += log(pivot * pivot / s.penalty)
        for i in range(j + 1, d):
            M[i * d + j] = (s.sums[i * d + j] + s.carries[i * d + j] - dot(M + i * d, M + j * d, j)) / pivot
    return ratio


cdef void invert(State *s) noexcept nogil:
    """The lower triangular M becomes its inverse, row by row in its place."""
    cdef int64_t d = s.d, i, j, k
    cdef double *M = s.M
    cdef double *row = s.work
    cdef double pivot
    for i in range(d):
        for j in range(i):
            row[j] = 0.0
        for k in range(i):
            for j in range(k + 1):
                row[j] -= M[i * d + k] * M[k * d + j]
        pivot = 1.0 / M[i * d + i]
        row[i] = 1.0
        for j in range(i + 1):
            M[i * d + j] = pivot * row[j]


cdef void estimate(State *s) noexcept nogil:
    """theta = M'(M b)."""
    cdef int64_t d = s.d, i, j
    cdef double *b = s.work
    cdef double value
    for i in range(d):
        s.theta[i] = 0.0
        b[i] = s.sums[d * d + i] + s.carries[d * d + i]
    for i in range(d):
        value = dot(s.M + i * d, b, i + 1)
        for j in range(i + 1):
            s.theta[j] += value * s.M[i * d + j]


cdef double factor_finely(State *s) noexcept nogil:
    """As `factor` with 32 digits, and theta = L'^-1 L^-1 b.

    b stands below the sums as one row more, which the factorisation turns into L^-1 b. What a pivot has
    grown beyond the penalty is no less than 0, as V - penalty I is a sum of x x'.
    """
    cdef int64_t d = s.d, i, j, k
    cdef double ratio = 0.0, grown
    cdef double *L = s.M
    cdef double *rests = s.rests
    cdef Pair v
    for i in range(d + 1):
        for j in range(min(i + 1, d)):
            v = add(s.sums[i * d + j], 0.0, s.carries[i * d + j])
            for k in range(j):
                v = minus_product(
                    v, Pair(L[i * d + k], rests[i * d + k]), Pair(L[j * d + k], rests[j * d + k])
                )
            if i == j:
                grown = larger(v.value, 0.0)
                ratio += log1p(grown / s.penalty)
                v = root(add(grown, v.rest, s.penalty))
            else:
                v = quotient(v, Pair(L[j * d + j], rests[j * d + j]))
            L[i * d + j] = v.value
            rests[i * d + j] = v.rest
    for i in range(d - 1, -1, -1):
        v = quotient(Pair(L[d * d + i], rests[d * d + i]), Pair(L[i * d + i], rests[i * d + i]))
        L[d * d + i] = v.value
        rests[d * d + i] = v.rest
        for j in range(i):
            v = minus_product(
                Pair(L[d * d + j], rests[d * d + j]),
                Pair(L[i * d + j], rests[i * d + j]),
                Pair(L[d * d + i], rests[d * d + i]),
            )
            L[d * d + j] = v.value
            rests[d * d + j] = v.rest
    return ratio


cdef void score(State *s) noexcept nogil:
    """Scores and squared widths of all arms by their definitions."""
    if s.scored:
        product(s.columns, s.K, s.theta, s.d, s.scores)
        square_widths(s.columns, s.K, s.M, s.d, s.squares, s.along, s.floors)


cdef inline void end_run(State *s) noexcept nogil:
    s.run.arm = -1.0
    s.run.pulls = s.run.rewards = s.run.q = s.run.start = s.run.phi = s.run.psi = 0.0


cdef double trace(const State *s) noexcept nogil:
    """That of sum x x'."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(s.d):
        total += s.sums[i * s.d + i]
    return total


cdef bint may_be_steep(const State *s, double trace) noexcept nogil:
    """May V with that trace be as `is_steep` says? trace V^-1 is at most d/penalty."""
    return s.penalty < FINE or s.d * trace > STEEP * s.penalty


cdef bint factor_sums(State *s, double *ratio) noexcept nogil:
    """In M the factor of V, and log(det V/det V_0); was it found with 32 digits, and theta with it?"""
    cdef bint finely = may_be_steep(s, trace(s))
    ratio[0] = factor_finely(s) if finely else factor(s)
    return finely


cdef double solve_sums(State *s) noexcept nogil:
    """log(det V/det V_0), M and theta, from the sums alone."""
    cdef double ratio = 0.0
    cdef bint solved = factor_sums(s, &ratio)
    invert(s)
    if not solved:
        estimate(s)
    return 0.0 if ratio < 0.0 else ratio  # rounding may not go below 0


cdef void refresh(State *s) noexcept nogil:
    """Computes everything anew from the sums; no run is under way."""
    cdef double ratio = solve_sums(s)
    score(s)
    end_run(s)
    s.run.log_det_ratio = larger(ratio, 0.0)
    s.run.closed = 0.0


# Learning

cdef void add_exactly(State *s, int64_t at, double a, double b) noexcept nogil:
    """Adds a b to one of the sums, and all that rounding takes from it to its carry."""
    cdef Pair exact = exact_product(a, b)
    cdef Pair v = add(s.sums[at], s.carries[at] + exact.rest, exact.value)
    s.sums[at] = v.value
    s.carries[at] = v.rest


cdef void add_pulls(State *s, const double *x, double n, double rewards) noexcept nogil:
    """The sums after n pulls of x with that sum of rewards.

    A million plain additions would leave an error of 1e-10 in V relative to its largest entry, which
    nearly collinear arms blow up to 1e-5 in theta.
    """
    cdef int64_t d = s.d, i, j, at
    cdef Pair v, scaled
    if s.penalty < FINE or fabs(n) * dot(x, x, d) > HEAVY * s.penalty:
        for i in range(d):
            add_exactly(s, d * d + i, rewards, x[i])
            scaled = exact_product(n, x[i])
            for j in range(i + 1):
                add_exactly(s, i * d + j, scaled.value, x[j])
                s.carries[i * d + j] += scaled.rest * x[j]
        return
    for i in range(d):
        at = d * d + i
        v = add(s.sums[at], s.carries[at], rewards * x[i])
        s.sums[at] = v.value
        s.carries[at] = v.rest
        for j in range(i + 1):
            at = i * d + j
            v = add(s.sums[at], s.carries[at], n * x[i] * x[j])
            s.sums[at] = v.value
            s.carries[at] = v.rest


cdef void fade(State *s, double rate) noexcept nogil:
    """The sums times a rate. Where the penalty is small against them, V would be what rounding takes from them."""
    cdef int64_t i
    cdef Pair v
    cdef bint exactly = s.penalty < FINE or trace(s) > HEAVY * s.penalty
    for i in range((s.d + 1) * s.d):
        s.carries[i] *= rate
        if exactly:
            v = exact_product(s.sums[i], rate)
            s.sums[i] = v.value
            s.carries[i] += v.rest
        else:
            s.sums[i] *= rate


cdef void rank_one(double *M, const double *p, int64_t d, double n, double *before) noexcept nogil:
    """M becomes the factor of V + n x x', where p = M x; `before` has room for d numbers.

    With c_i = 1 + n (p_1^2 + ... + p_i^2), row m_i turns into
    sqrt(c_{i-1}/c_i) (m_i - n p_i/c_{i-1} (p_1 m_1 + ... + p_{i-1} m_{i-1})).
    """
    cdef int64_t i, j
    cdef double c = 1.0, here, grown, shrink, part, old
    cdef double *row
    for j in range(d):
        before[j] = 0.0
    for i in range(d):
        row = M + i * d
        here = p[i]
        grown = c + n * here * here
        shrink = sqrt(c / grown)
        part = n * here / c
        for j in range(i + 1):
            old = row[j]
            row[j] = shrink * (old - part * before[j])
            before[j] += here * old
        c = grown


cdef void close_run(State *s) noexcept nogil:
    """The state after the run under way, if there is one."""
    cdef Run *run = s.run
    cdef bint fallen
    cdef int64_t i
    if run.pulls == 0.0:
        return
    add_pulls(s, s.x, run.pulls, run.rewards)
    run.log_det_ratio = log_det_ratio(s)
    run.closed += 1.0
    fallen = s.scored and close_scores(s.scores, s.squares, s.along, s.floors, s.K, run.phi, run.psi)
    if run.closed > REFRESH * s.d:
        refresh(s)
        return
    for i in range(s.d):
        s.theta[i] += run.phi * s.u[i]
    rank_one(s.M, s.p, s.d, run.pulls, s.work)
    end_run(s)
    if fallen:
        score(s)


cdef void open_run(State *s) noexcept nogil:
    """Starts a run of x: p = M x, u = M'p and q = p'p."""
    cdef int64_t d = s.d, i, j
    cdef double part
    cdef const double *row
    for j in range(d):
        s.u[j] = 0.0
    for i in range(d):
        row = s.M + i * d
        part = dot(row, s.x, i + 1)
        s.p[i] = part
        for j in range(i + 1):
            s.u[j] += part * row[j]
    s.run.q = dot(s.p, s.p, d)
    s.run.start = dot(s.theta, s.x, d)
    if s.scored:
        product(s.columns, s.K, s.u, d, s.along)


cdef void learn(State *s, int64_t arm, double reward) noexcept nogil:
    """Takes in one reward of an arm; O(1) while the same arm goes on."""
    cdef int64_t i
    if arm != s.run.arm:
        close_run(s)
        for i in range(s.d):
            s.x[i] = s.columns[i * s.K + arm]
        s.run.arm = <double>arm
        open_run(s)
    add_to_run(s.run, 1.0, reward)
    if is_long(s.run):
        close_run(s)


cdef void whole_sums(const State *s) noexcept nogil:
    """In `whole` the sums and their carries with the run under way, which goes on."""
    cdef State other = s[0]
    cdef int64_t size = (s.d + 1) * s.d
    other.sums, other.carries = s.whole, s.whole + size
    memcpy(other.sums, s.sums, size * sizeof(double))
    memcpy(other.carries, s.carries, size * sizeof(double))
    add_pulls(&other, s.x, s.run.pulls, s.run.rewards)


cdef bint is_steep(const State *s) noexcept nogil:
    """Is V so much larger in some directions than in others that updates lose theta in the latter?

    trace V trace V^-1 is at least the condition number of V, and V^-1 = M'M. The diagonal of M does not tell: if V is
    the penalty along v and large elsewhere, the last pivot is |v_d|/sqrt(penalty), whatever little that is.
    """
    cdef double inverse = 0.0
    cdef int64_t i
    for i in range(s.d):
        inverse += dot(s.M + i * s.d, s.M + i * s.d, i + 1)
    return trace(s) * inverse > STEEP


cdef void absorb(State *s, const double *x, double reward, double weight) noexcept nogil:
    """Takes in one reward of any x, as `weight` pulls: sqrt(weight) x would not lie quite along x."""
    cdef int64_t i
    close_run(s)
    for i in range(s.d):
        s.x[i] = x[i]
    s.run.arm = -1.0
    open_run(s)
    add_to_run(s.run, weight, weight * reward)
    close_run(s)
    if s.run.closed > 0.0 and is_steep(s):
        refresh(s)


cdef void learn_counted(State *s, int64_t arm, const double *x, double reward, double weight) noexcept nogil:
    """Takes in and counts one reward of an arm or, if that is -1, of x.

    A LARGE one is a run by itself, so that it leaves no trace in a plain sum when it is taken out again.
    """
    cdef int64_t i
    s.told += 1.0
    if arm < 0:
        absorb(s, x, reward, weight)
        return
    s.pulls[arm] += 1.0
    s.rewards[arm] += reward
    if weight == 1.0:
        if arm == s.run.arm and (fabs(reward) > LARGE or fabs(s.run.rewards) > LARGE * s.run.pulls):
            close_run(s)
        learn(s, arm, reward)
        return
    for i in range(s.d):
        s.sample[i] = s.columns[i * s.K + arm]
    absorb(s, s.sample, reward, weight)


cdef void add_sparse(State *s, const double *x, const int64_t *places, int64_t count, double n,
                     double rewards) noexcept nogil:
    """`add_pulls` for an x that is 0 but at so many places."""
    cdef int64_t d = s.d, a, b, i, at
    cdef Pair v
    for a in range(count):
        i = places[a]
        at = d * d + i
        v = add(s.sums[at], s.carries[at], rewards * x[i])
        s.sums[at], s.carries[at] = v.value, v.rest
        for b in range(a + 1):
            at = i * d + places[b]
            v = add(s.sums[at], s.carries[at], n * x[i] * x[places[b]])
            s.sums[at], s.carries[at] = v.value, v.rest


# Reading

cdef double solve(const State *s, const double *x, double *out) noexcept nogil:
    """The width |x| in V^-1 of any x, and in `out` V^-1 x = M'M x - psi u u'x."""
    cdef int64_t d = s.d, i, j
    cdef double psi = s.run.psi, square = 0.0, along = 0.0, part
    cdef const double *row
    for j in range(d):
        out[j] = 0.0
        along += s.u[j] * x[j]
    for i in range(d):
        row = s.M + i * d
        part = dot(row, x, i + 1)
        square += part * part
        for j in range(i + 1):
            out[j] += part * row[j]
    if psi == 0.0:
        return sqrt(square)
    for j in range(d):
        out[j] -= psi * along * s.u[j]
    return width(square, along, psi)


cdef void covariances(const State *s, int64_t arm, const double *chances, double *room, double *out) noexcept nogil:
    """In `out` x_k'V^-1 x_arm of every arm; `room` is for 2 d numbers.

    Where estimates are `chances` p, (K,), an arm stands for p (1 - p) x; NULL: they are not.
    """
    cdef int64_t i, k
    cdef double other
    for i in range(s.d):
        room[i] = s.columns[i * s.K + arm]
    solve(s, room, room + s.d)
    product(s.columns, s.K, room + s.d, s.d, out)
    if chances is not NULL:
        other = chances[arm] * (1.0 - chances[arm])
        for k in range(s.K):
            out[k] *= other * (chances[k] * (1.0 - chances[k]))


cdef void distances(const State *s, int64_t arm, const double *chances, double *room, double *out) noexcept nogil:
    """In `out` the width |x_k - x_arm| in V^-1 of every arm's difference from `arm`; `room` is for 2 d numbers.

    Squared widths must be up to date; `chances` as in `covariances`. O(K d), and O(d^2) for each arm that is so near
    that its difference is taken by itself.
    """
    cdef int64_t d = s.d, K = s.K, i, k
    cdef double own = 1.0, other = 1.0
    covariances(s, arm, chances, room, out)
    subtract_arm(s.squares, s.along, K, s.run.psi, arm, chances, out)
    if chances is not NULL:
        other = chances[arm] * (1.0 - chances[arm])
    for k in range(K):
        if out[k] >= 0.0:
            continue
        if chances is not NULL:
            own = chances[k] * (1.0 - chances[k])
        for i in range(d):
            room[i] = own * s.columns[i * K + k] - other * s.columns[i * K + arm]
        out[k] = solve(s, room, room + d)


cdef void perturb(const State *s, double scale, const double *direction, double *out,
                  double *sums) noexcept nogil:
    """theta + scale M'direction after the run, which stays as it is.

    M after n pulls is R^-1 M with R R' = I + n p p', so only the direction changes: R^-T direction, by
    one sweep from its last entry up. `sums` has room for d numbers.
    """
    cdef int64_t d = s.d, i, j
    cdef double n = s.run.pulls, total = 1.0, later = 0.0, before, span, part
    cdef const double *p = s.p
    cdef const double *row
    for i in range(d):
        out[i] = s.theta[i] + s.run.phi * s.u[i]
        total += n * p[i] * p[i]
        sums[i] = total
    for i in range(d - 1, -1, -1):
        before = sums[i - 1] if i > 0 else 1.0
        span = sqrt(before * sums[i])
        part = scale * (before / span * direction[i] - n * p[i] * later)
        later += p[i] * direction[i] / span
        row = s.M + i * d
        for j in range(i + 1):
            out[j] += part * row[j]


cdef int check_penalty(double penalty) except -1:
    """Refuses a penalty with which V could not be factored."""
    if not 1e-10 <= penalty < float("inf"):
        raise ValueError(f"penalty must be a number of at least 1e-10, got {penalty}")
    return 0


def _aligned(*shapes):
    """Zeros of these shapes, each at the start of a cache line."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    room = np.zeros(sum(sizes) + 8 * len(sizes))
    place = -room.__array_interface__["data"][0] // 8 % 8
    arrays = []
    for shape, size in zip(shapes, sizes):
        arrays.append(room[place : place + size].reshape(shape))
        place += -(-size // 8) * 8
    return arrays


def finite_array(name, given, shape):
    """Finite numbers of that shape, contiguous: the array itself where it is so already."""
    array = np.asarray(given)
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers of the shape {shape}, got {array.dtype} of {array.shape}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


cdef int fill(double *out, array) except -1:
    """Copies the numbers of an array that `finite_array` gave."""
    cdef const double[::1] numbers = array.reshape(-1)
    if numbers.shape[0]:
        memcpy(out, &numbers[0], numbers.shape[0] * sizeof(double))
    return 0


def add_rewards(sums, double penalty, x, double pulls, double rewards):
    """Adds so many pulls of x with that sum of rewards to `sums`, (2, d + 1, d), which the caller owns.

    Either may be below 0: what was added comes out again as the very same products.
    """
    cdef double[:, :, ::1] truth = sums
    cdef int64_t d = truth.shape[2]
    cdef const double[::1] row = finite_array("x", x, (d,))
    cdef State s
    if d < 1 or truth.shape[0] != 2 or truth.shape[1] != d + 1:
        raise ValueError(f"sums must have the shape (2, d + 1, d), got {np.shape(sums)}")
    if not (penalty >= 0.0 and isfinite(pulls) and isfinite(rewards)):
        raise ValueError(f"penalty, pulls and rewards must be finite, got {penalty}, {pulls} and {rewards}")
    s.d, s.penalty, s.sums, s.carries = d, penalty, &truth[0, 0, 0], &truth[1, 0, 0]
    add_pulls(&s, &row[0], pulls, rewards)


cdef class Ridge:
    """The statistics of one ridge regression over fixed arms, and how it takes in rewards.

    `columns` are the arms, (d, K), of which there may be none, and `penalty` is above 0. `sums`, (2, d + 1, d),
    are what was seen before: sum x x' and below it b, each as a sum and a carry; nothing if they are None. Without
    `scored`, scores and squared widths are not kept up, for who only samples parameters.

    A reward has a weight above 0: it counts as so many.
    """

    def __cinit__(self, columns, double penalty=1.0, sums=None, bint scored=True):
        cdef double[:, ::1] arms
        cdef double[:, :, ::1] truth, whole
        cdef double[:, ::1] solved, scores, vectors, rests, rooms, counts
        cdef double[::1] run, sample
        check_penalty(penalty)
        given = np.asarray(columns)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"columns must be real numbers, got {given.dtype}")
        if given.ndim != 2 or given.shape[0] == 0:
            raise ValueError(f"columns must be a matrix of features by arms, got the shape {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError("columns must be finite")
        d, K = given.shape
        room = max(K, 1)
        arms_array, self.sums, self.solved, scores_array, self.vectors, self.run, *self._rooms = _aligned(
            (d, room), (2, d + 1, d), (d + 1, d), (4, room), (4, d), (sizeof(Run) // sizeof(double),), (d + 1, d),
            (2, room), (3 * d,), (2, d + 1, d), (2, room),
        )
        arms, truth, solved, scores = arms_array, self.sums, self.solved, scores_array
        vectors, run, (rests, rooms, sample, whole, counts) = self.vectors, self.run, self._rooms
        arms_array[:, :K] = given
        self.columns, self.scores, self.counts = arms_array[:, :K], scores_array[:, :K], self._rooms[4][:, :K]
        s = &self.state
        s.d, s.K, s.scored, s.penalty = d, K, scored, penalty
        s.columns, s.sums, s.carries = &arms[0, 0], &truth[0, 0, 0], &truth[1, 0, 0]
        s.M, s.theta = &solved[0, 0], &solved[d, 0]
        s.scores, s.squares, s.along, s.floors = &scores[0, 0], &scores[1, 0], &scores[2, 0], &scores[3, 0]
        s.x, s.p, s.u, s.work = &vectors[0, 0], &vectors[1, 0], &vectors[2, 0], &vectors[3, 0]
        s.run, s.rests = <Run *>&run[0], &rests[0, 0]
        s.room, s.places, s.sample = &rooms[0, 0], <int64_t *>&rooms[1, 0], &sample[0]
        s.whole, s.pulls, s.rewards = &whole[0, 0, 0], &counts[0, 0], &counts[1, 0]
        for each in (self.columns, self.sums, self.solved, self.scores, self.vectors, self.run, self.counts):
            each.flags.writeable = False  # for Python
        if sums is None:
            refresh(s)
        else:
            self.begin(sums)

    @property
    def penalty(self):
        """The ridge penalty: V_0 = penalty I."""
        return self.state.penalty

    @property
    def told(self):
        """How many rewards were learnt, as far as Python told them."""
        return <int64_t>self.state.told

    @property
    def log_det_ratio(self):
        """log(det V/det V_0)."""
        return log_det_ratio(&self.state)

    @property
    def theta(self):
        """The estimate V^-1 b, as an array of its own."""
        return self.solved[self.state.d] + self.state.run.phi * self.vectors[2]

    # Learning

    cdef const double *row_of(self, on, int64_t *arm) except NULL:
        """The features of what a reward is learnt on, an arm or any x, in room of its own; the arm, -1 for an x."""
        cdef const double[::1] row
        cdef int64_t i
        s = &self.state
        if isinstance(on, int):
            arm[0] = on
            if not 0 <= arm[0] < s.K:
                raise IndexError(f"arm must be from 0 to {s.K - 1}, got {on}")
            for i in range(s.d):
                s.sample[i] = s.columns[i * s.K + arm[0]]
            return s.sample
        arm[0] = -1
        given = np.ascontiguousarray(on, dtype=np.float64)
        if given.ndim != 1 or given.size != s.d:
            raise ValueError(f"x must have the shape ({s.d},), got {given.shape}")
        row = given
        for i in range(s.d):
            if not isfinite(row[i]):
                raise ValueError(f"x must be finite, got {row[i]} for feature {i}")
            s.sample[i] = row[i]
        return s.sample

    def learn(self, int64_t arm, double reward, double weight=1.0):
        """Takes in one reward of an arm; O(1) while the same arm goes on with a weight of 1."""
        if not 0 <= arm < self.state.K:
            raise IndexError(f"arm must be from 0 to {self.state.K - 1}, got {arm}")
        if not (isfinite(reward) and isfinite(weight) and weight > 0.0):
            raise ValueError(f"a reward must be finite, and its weight above 0, got {reward} and {weight}")
        self.version += 1
        learn_counted(&self.state, arm, NULL, reward, weight)

    def absorb(self, x, double reward, double weight=1.0):
        """Takes in one reward of any x, (d,)."""
        cdef int64_t arm
        cdef const double *row = self.row_of(np.asarray(x), &arm)
        if not (isfinite(reward) and isfinite(weight) and weight > 0.0):
            raise ValueError(f"a reward must be finite, and its weight above 0, got {reward} and {weight}")
        self.version += 1
        learn_counted(&self.state, -1, row, reward, weight)

    def _many(self, arms, row, rows, rewards, weights):
        """What `learn_many` and `gather` take, checked."""
        rewards = finite_array("rewards", rewards, np.shape(rewards))
        count = rewards.size
        if rewards.ndim != 1:
            raise ValueError(f"rewards must be a list of numbers, got the shape {rewards.shape}")
        weights = finite_array("weights", weights, (count,))
        arms, row = (np.ascontiguousarray(each, dtype=np.int64) for each in (arms, row))
        if arms.shape != (count,) or row.shape != (count,):
            raise ValueError(f"there must be an arm and a row for each of {count} rewards")
        used = row[arms < 0]
        rows = finite_array("rows", rows, np.shape(rows)) if used.size else np.zeros((0, self.state.d))
        if rows.ndim != 2 or rows.shape[1] != self.state.d:
            raise ValueError(f"rows must have {self.state.d} features each, got the shape {rows.shape}")
        if count and not (arms.max() < self.state.K and arms.min() >= -1):
            raise IndexError(f"arms must be from -1 to {self.state.K - 1}, got {arms.min()} to {arms.max()}")
        if used.size and not 0 <= used.min() <= used.max() < len(rows):
            raise IndexError(f"there are {len(rows)} rows, got {used.min()} to {used.max()}")
        if count and not weights.min() > 0.0:
            raise ValueError(f"a weight must be above 0, got {weights.min()}")
        return arms, row, rows, rewards, weights

    def learn_many(self, arms, row, rows, rewards, weights):
        """Takes in rewards in their order: of an arm or, where that is -1, of rows[row]."""
        cdef const int64_t[::1] places, which
        cdef const double[:, ::1] x
        cdef const double[::1] y, w
        cdef int64_t n
        places, which, x, y, w = self._many(arms, row, rows, rewards, weights)
        if y.shape[0] == 0:
            return
        self.version += 1
        with nogil:
            for n in range(y.shape[0]):
                learn_counted(&self.state, places[n], &x[which[n], 0] if places[n] < 0 else NULL, y[n], w[n])

    def gather(self, arms, row, rows, rewards, weights):
        """The same as sums, from which everything is computed anew once: the order of rewards does not count."""
        cdef const int64_t[::1] places, which
        cdef const double[:, ::1] x
        cdef const double[::1] y, w
        cdef double[:, :, ::1] total
        cdef int64_t[::1] there = np.empty(self.state.d, dtype=np.int64)
        cdef int64_t n, k, part, count, i, d = self.state.d, K = self.state.K
        cdef double value
        cdef Pair v
        cdef State *s = &self.state
        places, which, x, y, w = self._many(arms, row, rows, rewards, weights)
        if y.shape[0] == 0:
            return
        total = np.zeros((3, 2, max(K, 1)))  # weights, weighted rewards, rewards; each as a sum and a carry
        self.version += 1
        with nogil:
            close_run(s)
            for n in range(y.shape[0]):
                k = places[n]
                if k < 0:
                    continue
                s.pulls[k] += 1.0
                for part in range(3):
                    value = w[n] if part == 0 else w[n] * y[n] if part == 1 else y[n]
                    v = add(total[part, 0, k], total[part, 1, k], value)
                    total[part, 0, k], total[part, 1, k] = v.value, v.rest
            for k in range(K):
                value = total[0, 0, k] + total[0, 1, k]
                if value > 0.0:
                    for i in range(d):
                        s.sample[i] = s.columns[i * K + k]
                    add_pulls(s, s.sample, value, total[1, 0, k] + total[1, 1, k])
                    s.rewards[k] += total[2, 0, k] + total[2, 1, k]
            for n in range(y.shape[0]):
                if places[n] >= 0:
                    continue
                count = 0  # features that are 0 cost next to nothing
                for i in range(d):
                    if x[which[n], i] != 0.0:
                        there[count] = i
                        count += 1
                if s.penalty < FINE or w[n] * dot(&x[which[n], 0], &x[which[n], 0], d) > HEAVY * s.penalty:
                    add_pulls(s, &x[which[n], 0], w[n], w[n] * y[n])
                else:
                    add_sparse(s, &x[which[n], 0], &there[0], count, w[n], w[n] * y[n])
            s.told += y.shape[0]
            refresh(s)

    def revise(self, on, double before, after, double weight=1.0):
        """Gives a reward of an arm, or of x, that was learnt another value; None takes it out. O(d^3 + d^2 K).

        What went in comes out again as the very same products, so that nothing of it stays; where the reward only
        gets another value, sum x x' does not change at all. The summed rewards of an arm in `counts`, which no
        estimate of a ridge reads, are plain sums: they lose what the largest reward ever told takes by rounding.
        """
        cdef int64_t arm
        cdef const double *x = self.row_of(on, &arm)
        cdef double value = 0.0 if after is None else after
        s = &self.state
        if not (isfinite(before) and isfinite(value) and isfinite(weight) and weight > 0.0):
            raise ValueError(f"rewards must be finite, and weights above 0, got {before}, {after} and {weight}")
        self.version += 1
        close_run(s)  # which leaves `x` alone
        if after is None:
            add_pulls(s, x, -weight, -weight * before)
            s.told -= 1.0
        else:
            add_pulls(s, x, 0.0, -weight * before)
            add_pulls(s, x, 0.0, weight * value)
        if arm >= 0:
            s.pulls[arm] -= 1.0 if after is None else 0.0
            s.rewards[arm] += value - before
        refresh(s)

    # Sums

    def whole_sums(self):
        """The sums and their carries with the run under way, (2, d + 1, d), as an array of its own."""
        whole_sums(&self.state)
        return self._rooms[3].copy()

    cdef int begin(self, sums) except -1:
        """Starts from these sums, with no run under way; refuses sums from which no theta follows."""
        before = self.arrays()
        fill(self.state.sums, finite_array("sums", sums, self.sums.shape))
        refresh(&self.state)
        if not np.isfinite(self.solved).all():
            self.restore(before)
            raise ValueError("sums of x x' and y x must be those of rewards: no theta follows from them")
        return 0

    def restart(self, sums, counts=None, int64_t told=0):
        """Takes sums of so many rewards in the place of all that was learnt; `counts` are pulls and rewards, (2, K)."""
        kept = np.zeros(self.counts.shape) if counts is None else finite_array("counts", counts, self.counts.shape)
        self.begin(sums)
        self.version += 1
        fill(self.state.pulls, kept)
        self.state.told = told

    def add(self, sums, counts, int64_t told):
        """Takes in sums that were learnt elsewhere, of so many rewards over these arms; O(d^3 + d^2 K)."""
        more, counted = finite_array("sums", sums, self.sums.shape), finite_array("counts", counts, self.counts.shape)
        mine = self.whole_sums()
        total = mine[0] + more[0]
        part = total - mine[0]
        lost = (mine[0] - (total - part)) + (more[0] - part)
        self.restart(np.array([total, (mine[1] + more[1]) + lost]), self.counts + counted, self.told + told)

    def arrays(self):
        """All of its state, verbatim; `truth` are the sums with the run under way, for who knows of no runs."""
        kept = {
            "truth": self.whole_sums(), "closed": self.sums, "solved": self.solved, "vectors": self.vectors,
            "run": self.run, "board": self.scores, "counts": self.counts,
        }
        return {name: array.copy() for name, array in kept.items()} | {"told": np.array(self.told)}

    def restore(self, arrays):
        """Takes the place of all that is here with what `arrays` gave: it goes on bit for bit."""
        shapes = {
            "closed": self.sums, "solved": self.solved, "vectors": self.vectors, "run": self.run,
            "board": self.scores, "counts": self.counts,
        }
        try:
            found = {name: finite_array(name, arrays[name], mine.shape) for name, mine in shapes.items()}
            told = finite_array("told", arrays["told"], ()).item()
        except KeyError as missing:
            raise ValueError(f"there must be an array {missing}") from None
        arm = found["run"][0]
        if not (arm == int(arm) and -1 <= arm < self.state.K):
            raise ValueError(f"there are {self.state.K} arms, and the run under way is of arm {arm:g}")
        if not 0 <= told < 2.0**53:
            raise ValueError(f"the number of rewards cannot be {told:g}")
        for name, array in found.items():
            check_sizes(name, array)
        check_factor(found["solved"][: self.state.d], self.state.penalty)
        check_run(found["run"])
        s = &self.state
        self.version += 1
        fill(s.sums, found["closed"])
        fill(s.M, found["solved"])
        fill(s.x, found["vectors"])
        fill(<double *>s.run, found["run"])
        fill(s.scores, found["board"])
        fill(s.pulls, found["counts"])
        s.told = told

    def copy(self):
        """The same, which goes on by itself."""
        return _restored(self.columns, self.state.penalty, self.state.scored, self.arrays())

    def __reduce__(self):
        return _restored, (np.array(self.columns), self.state.penalty, self.state.scored, self.arrays())


def check_sizes(name, array):
    """Refuses numbers so large that no rewards lead to them, and that products of them overflow."""
    if np.abs(array).max(initial=0.0) > 1e140:
        raise ValueError(f"{name} must be at most 1e140 in size")


def check_factor(factor, double penalty):
    """Refuses a factor M that cannot be one of V^-1, whose eigenvalues are at most 1/penalty."""
    if np.abs(factor).max(initial=0.0) > 1e3 / sqrt(penalty):
        raise ValueError(f"with a penalty of {penalty:g} no factor can be as large")


def check_run(run):
    """Refuses a run, or the rows of several, with pulls, a square, a log det or a count below 0."""
    if (np.asarray(run)[..., [1, 3, 6, 8]] < 0.0).any() or (np.asarray(run)[..., 7] < -1e-9).any():
        raise ValueError("a run cannot have pulls, squares or a log det below 0")


def _restored(columns, penalty, scored, arrays):
    """A ridge from what was kept of it."""
    ridge = Ridge(columns, penalty, None, scored)
    ridge.restore(arrays)
    return ridge
