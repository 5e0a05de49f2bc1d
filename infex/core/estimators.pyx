"""Estimators other than plain ridge regression; `estimators.pxd` says what a `Fit` is.

Logistic regression is fitted over all rows at doubling times, and kept up in O(d^2) a reward in between. Between
two fits a reward y of x brings theta to the minimum of its own loss and the quadratic about the present
estimate: theta + a H^-1 x with a = y - p(s), s = x'theta + a q and q = x'H^-1 x, a search for one number. Then
H grows by p(1-p) x x'. This leaves out how the curvature of earlier rewards changes as theta moves. Where theta
has moved by D in the norm of H, the slope is off by at most sum p(1-p) (x'D)^2 |x|/2, and a probability by
|D|^2 max(q)/8. Steps add up like a random walk, |D|^2 to the sum of a^2 q: all is fitted anew when that sum times
the largest q is above MOVED_FAR, when rewards have doubled, and with every reward while rows or rewards are few.
"""

import operator

import numpy as np

from infex.core.ridge import finite_array
from infex.errors import InvalidReward

from libc.math cimport INFINITY, copysign, exp, fabs, isfinite, log1p, sqrt
from libc.string cimport memcpy, memset

from infex.core.ridge cimport (
    HEAVY, Run, add_exactly, add_pulls, check_penalty, dot, estimate, factor, factor_sums, fade, invert, larger,
    may_be_steep, open_run, rank_one, solve_sums,
)

cdef extern from "loops.h" nogil:
    void weighted_gram(const double *rows, const double *weights, int64_t n, int64_t d, double *sums)

cdef double LEAST_PIVOT = 1e-300     # rounding may not make a root of nothing

cdef double CLEAR = 1e-6             # a pivot that is no smaller, against its diagonal, is no work of rounding
cdef double RANK = 1e-13             # how small, against the largest, a pivot counts as nothing
cdef double WORK = 1e7               # numbers that descent may read: few sweeps of many coefficients
cdef double SMALLEST_CHANGE = 1e-10  # of a coefficient, against the largest, at which descent stops
cdef int64_t POLISH = 10             # sweeps between two solutions for the signs
cdef double SLOPE_SHARE = 1e-6
cdef double SLOPE_ROUNDING = 1e-10   # of moments: what rounding leaves of slopes that should be 0

cdef int64_t NEWTON_STEPS = 100
cdef double SHORTEST_STEP = 1e-26    # the squared length of a step in H, for each reward, that ends the search
cdef int64_t FEW_ROWS = 4            # different x that are fitted anew with every reward
cdef double FEW_REWARDS = 256.0
cdef double MOVED_FAR = 0.01
cdef int64_t HALVINGS = 120

cdef enum:  # numbers that a window keeps before its sums and rewards
    HELD
    NEXT
    DROPPED
    WINDOW_HEAD

cdef enum:  # numbers that logistic regression keeps before its rows; the last three are its progress
    COUNT
    REWARDS
    RATIO
    PROGRESS
    LOGISTIC_HEAD = 6

cdef enum:  # rewards at the next fit over all rows; the sum of a^2 q since the last, and the largest q
    FIT_DUE
    WALKED
    WIDEST
    PROGRESS_SIZE

LOGISTIC_PROGRESS = PROGRESS_SIZE


# What is given from Python

cdef double *_matrix(name, double[:, ::1] array, int64_t rows, int64_t columns) except NULL:
    if array is None or array.shape[0] != rows or array.shape[1] != columns:
        given = None if array is None else (array.shape[0], array.shape[1])
        raise ValueError(f"{name} must have the shape {(rows, columns)}, got {given}")
    return &array[0, 0]


cdef int _read_sums(State *s, name, double[:, :, ::1] sums) except -1:
    """Points at sums, (2, d + 1, d), and takes d from them."""
    cdef int64_t d = 0 if sums is None else sums.shape[2]
    if d == 0 or sums.shape[0] != 2 or sums.shape[1] != d + 1:
        given = None if sums is None else (sums.shape[0], sums.shape[1], d)
        raise ValueError(f"{name} must have a shape (2, d + 1, d) with d of at least 1, got {given}")
    s.d, s.sums, s.carries = d, &sums[0, 0, 0], &sums[1, 0, 0]
    return 0


cdef object room_for(State *s, int64_t d, double penalty):
    """Prepares a state for sums of d features; what it returns must live as long as the state is used."""
    check_penalty(penalty)
    cdef double[::1] room = np.zeros((d + 1) * d + 4 * d + sizeof(Run) // sizeof(double))
    s.d, s.K, s.scored, s.penalty = d, 0, False, penalty
    s.work, s.x, s.p, s.u, s.rests = &room[0], &room[d], &room[2 * d], &room[3 * d], &room[4 * d]
    s.run = <Run *>&room[4 * d + (d + 1) * d]
    return room.base


cdef inline void solve_into(State *s, double *solved) noexcept nogil:
    """Has M and theta written into `solved`."""
    s.M, s.theta = solved, solved + s.d * s.d


# Ridge regression by its sums

def solve_ridge(double[:, :, ::1] sums, double penalty, double[:, ::1] solved):
    """log(det V/det V_0), and in `solved`, (d + 1, d), M and theta, by sums of (2, d + 1, d)."""
    cdef State s
    _read_sums(&s, "sums", sums)
    room = room_for(&s, s.d, penalty)
    solve_into(&s, _matrix("solved", solved, s.d + 1, s.d))
    return solve_sums(&s)


def block_estimates(table, which, rewards, rewarded, starts, renewed, double penalty):
    """Ridge estimates, a row for each block, from all rounds before the first of the block, `starts[b]`.

    In round t the arm with the features of row `which[t]` of the table was played, and brought a reward where
    `rewarded[t]`. A block that is not `renewed` has the estimate of the block before.
    """
    cdef const double[:, ::1] features = np.ascontiguousarray(table)
    cdef const int64_t[::1] places = np.ascontiguousarray(which), firsts = np.ascontiguousarray(starts)
    cdef const double[::1] gains = np.ascontiguousarray(rewards)
    cdef const unsigned char[::1] counted = np.ascontiguousarray(rewarded, dtype=np.bool_).view(np.uint8)
    cdef const unsigned char[::1] anew = np.ascontiguousarray(renewed, dtype=np.bool_).view(np.uint8)
    cdef int64_t n = places.shape[0], d = features.shape[1], blocks = firsts.shape[0], b, t, i, j, first = 0
    if d == 0 or gains.shape[0] != n or counted.shape[0] != n or anew.shape[0] != blocks:
        raise ValueError("a block needs features, each round a row, a reward and whether it has one")
    for t in range(n):
        if not 0 <= places[t] < features.shape[0]:
            raise IndexError(f"the table has {features.shape[0]} rows, got row {places[t]}")
    for b in range(blocks):
        if not first <= firsts[b] <= n:
            raise ValueError(f"blocks must start in rising rounds up to {n}, got {firsts[b]}")
        first = firsts[b]
    cdef State s
    cdef const double *row
    room = room_for(&s, d, penalty)
    cdef double[:, :, ::1] sums = np.zeros((2, d + 1, d))
    cdef double[:, ::1] solved = np.zeros((d + 1, d)), thetas = np.empty((blocks, d))
    _read_sums(&s, "sums", sums)
    solve_into(&s, &solved[0, 0])
    with nogil:
        t = 0
        for b in range(blocks):
            while t < firsts[b]:
                if counted[t]:
                    row = &features[places[t], 0]
                    for i in range(d):
                        s.sums[d * d + i] += gains[t] * row[i]
                        for j in range(i + 1):
                            s.sums[i * d + j] += row[i] * row[j]
                t += 1
            if anew[b]:
                factor(&s)
                invert(&s)
                estimate(&s)
            for i in range(d):
                thetas[b, i] = s.theta[i]
    return thetas.base


# Discounted ridge regression

def fade_sums(double[:, :, ::1] sums, double penalty, double rate):
    """Multiplies sums, (2, d + 1, d), by a rate from 0 to 1, in their place."""
    cdef State s
    _read_sums(&s, "sums", sums)
    check_penalty(penalty)
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be from 0 to 1, got {rate}")
    s.penalty = penalty
    fade(&s, rate)


cdef double spread(State *s, double *squares, double *room) noexcept nogil:
    """log(det W/det V_0), and in M the factor of V^-1 W V^-1; W has the sums `squares`, of squared weights.

    With V^-1 = M'M, W = L L' and K = M L, the covariance is M'(K K')M. So it is F'F with F = T M, where T is
    the lower triangular root K K' = T'T, found from its last row up; K K' is at most I, as weights are.
    `room` has room for 2 (d + 1) d numbers.
    """
    cdef int64_t d = s.d, i, j, k
    cdef double *M = s.M
    cdef double *root = room
    cdef double *inner = room + (d + 1) * d
    cdef double *row = s.work
    cdef double ratio, part, pivot
    cdef State w = s[0]
    solve_sums(s)
    w.sums, w.carries = squares, squares + (d + 1) * d
    solve_into(&w, root)
    factor_sums(&w, &ratio)
    memset(inner, 0, d * d * sizeof(double))
    for i in range(d):  # K; sums go along memory, each in the order of k
        for k in range(i + 1):
            part = M[i * d + k]
            for j in range(k + 1):
                inner[i * d + j] += part * root[k * d + j]
    for i in range(d):
        for j in range(i + 1):
            root[i * d + j] = dot(inner + i * d, inner + j * d, j + 1)
    for i in range(d - 1, -1, -1):  # T, in the lower triangle of `inner`
        for j in range(i + 1):
            row[j] = root[i * d + j]
        for k in range(i + 1, d):
            part = inner[k * d + i]
            for j in range(i + 1):
                row[j] -= part * inner[k * d + j]
        pivot = sqrt(larger(row[i], LEAST_PIVOT))
        inner[i * d + i] = pivot
        for j in range(i):
            inner[i * d + j] = row[j] / pivot
    for i in range(d - 1, -1, -1):
        for j in range(i + 1):
            row[j] = 0.0
        for k in range(i + 1):
            part = inner[i * d + k]
            for j in range(k + 1):
                row[j] += part * M[k * d + j]
        for j in range(i + 1):
            M[i * d + j] = row[j]
    return 0.0 if ratio < 0.0 else ratio


def solve_discounted(double[:, :, ::1] sums, double[:, :, ::1] squares, double penalty, double[:, ::1] solved):
    """log(det W/det V_0), and in `solved`, (d + 1, d), theta by `sums` and the factor of V^-1 W V^-1.

    V = penalty I + sum w x x' has the weights of rewards, W = penalty I + sum w^2 x x' their squares.
    """
    cdef State s, w
    _read_sums(&s, "sums", sums)
    _read_sums(&w, "squares", squares)
    if w.d != s.d:
        raise ValueError(f"squares must be of {s.d} features as sums are, got {w.d}")
    work = room_for(&s, s.d, penalty)
    cdef double[::1] room = np.empty(2 * (s.d + 1) * s.d)
    solve_into(&s, _matrix("solved", solved, s.d + 1, s.d))
    return spread(&s, w.sums, &room[0])


# Least squares and LASSO from sums, without a penalty

cdef void lay_out(SparseRoom *room, double *memory, int64_t d) noexcept nogil:
    """Divides `sparse_size(d)` numbers."""
    room.factor, room.root, room.inner = memory, memory + d * d, memory + 2 * d * d
    room.equations = memory + 3 * d * d
    memory += 4 * d * d
    room.left, room.right, room.slopes, room.solution = memory, memory + d, memory + 2 * d, memory + 3 * d
    room.active = <int64_t *>(memory + 4 * d)


cdef inline int64_t place_of_largest(const double *values, int64_t n) noexcept nogil:
    """The place of the largest number, the first of equal ones."""
    cdef int64_t place = 0, i
    for i in range(1, n):
        if values[i] > values[place]:
            place = i
    return place


cdef int64_t pivoted(const double *gram, int64_t d, double *factor, double *left) noexcept nogil:
    """gram = F F' by Cholesky with pivoting; the rank r, and F in the first r columns of `factor`."""
    cdef int64_t rank = 0, i, j, pivot
    cdef double limit, root, value
    for i in range(d):
        left[i] = gram[i * d + i]
        for j in range(d):
            factor[i * d + j] = 0.0
    value = left[place_of_largest(left, d)]
    limit = RANK * d * (0.0 if value < 0.0 else value)
    while rank < d:
        pivot = place_of_largest(left, d)
        if not left[pivot] > limit:
            break
        root = sqrt(left[pivot])
        for i in range(d):
            value = gram[max(i, pivot) * d + min(i, pivot)]
            for j in range(rank):
                value -= factor[i * d + j] * factor[pivot * d + j]
            factor[i * d + rank] = value / root
            left[i] -= factor[i * d + rank] * factor[i * d + rank]
        left[pivot] = -1.0
        rank += 1
    return rank


cdef bint cholesky(const double *matrix, int64_t n, double *root, double clear) noexcept nogil:
    """The lower factor of a matrix, from its lower triangle; is every pivot above `clear` of its diagonal?

    Without pivoting, rounding may leave a pivot that should be 0 well above it. Four rows at a time: the sum of
    one would wait for each of its own additions.
    """
    cdef int64_t i, j, k
    cdef double left, pivot, here, v0, v1, v2, v3
    cdef const double *pivot_row
    cdef double *row
    for j in range(n):
        pivot_row = root + j * n
        left = matrix[j * n + j]
        for k in range(j):
            left -= pivot_row[k] * pivot_row[k]
        if not left > clear * matrix[j * n + j]:
            return False
        pivot = root[j * n + j] = sqrt(left)
        i = j + 1
        while i + 4 <= n:
            row = root + i * n
            v0, v1 = matrix[i * n + j], matrix[(i + 1) * n + j]
            v2, v3 = matrix[(i + 2) * n + j], matrix[(i + 3) * n + j]
            for k in range(j):
                here = pivot_row[k]
                v0 -= row[k] * here
                v1 -= row[n + k] * here
                v2 -= row[2 * n + k] * here
                v3 -= row[3 * n + k] * here
            row[j], row[n + j] = v0 / pivot, v1 / pivot
            row[2 * n + j], row[3 * n + j] = v2 / pivot, v3 / pivot
            i += 4
        while i < n:
            row = root + i * n
            left = matrix[i * n + j]
            for k in range(j):
                left -= row[k] * pivot_row[k]
            row[j] = left / pivot
            i += 1
    return True


cdef void solve_factored(const double *root, int64_t n, double *right) noexcept nogil:
    """right becomes (root root')^-1 right."""
    cdef int64_t i, k
    for k in range(n):
        right[k] /= root[k * n + k]
        for i in range(k + 1, n):
            right[i] -= root[i * n + k] * right[k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= root[k * n + i] * right[k]
        right[i] /= root[i * n + i]


cdef void solve_least_squares(const double *gram, const double *moment, int64_t d, double *theta,
                              SparseRoom *room) noexcept nogil:
    """theta = gram^+ moment; reads the lower triangle of gram.

    With gram = F F' and F of full column rank, gram^+ = F (F'F)^-2 F'.
    """
    cdef int64_t rank, a, b, i
    cdef double *factor = room.factor
    cdef double *inner = room.inner
    cdef double *right = room.right
    memcpy(theta, moment, d * sizeof(double))
    if cholesky(gram, d, factor, CLEAR):
        solve_factored(factor, d, theta)
        return
    rank = pivoted(gram, d, factor, room.left)
    memset(theta, 0, d * sizeof(double))
    if rank == 0:
        return
    for a in range(rank):
        right[a] = 0.0
        for i in range(d):
            right[a] += factor[i * d + a] * moment[i]
        for b in range(a + 1):
            inner[a * rank + b] = 0.0
            for i in range(d):
                inner[a * rank + b] += factor[i * d + a] * factor[i * d + b]
    cholesky(inner, rank, room.root, 0.0)
    solve_factored(room.root, rank, right)
    solve_factored(room.root, rank, right)
    for i in range(d):
        for a in range(rank):
            theta[i] += factor[i * d + a] * right[a]


cdef double slope_rounding(const double *moment, double strength, int64_t d) noexcept nogil:
    """What rounding leaves of slopes that should be 0: the one limit, so that what is solved is a minimum."""
    cdef double largest = 0.0
    cdef int64_t i
    for i in range(d):
        largest = larger(largest, fabs(moment[i]))
    return SLOPE_ROUNDING * (largest + strength)


cdef enum Step:
    REACHED_ZERO
    AT_MINIMUM
    LOST


cdef Step advance(const double *gram, const double *moment, double strength, double *theta, int64_t d,
                  int64_t n, double share, SparseRoom *room) noexcept nogil:
    """One step of the n active coefficients, with their signs, up to the first that reaches 0.

    It goes to the solution for these signs. Where there is none, because columns depend on one another, it goes
    where the fit stays as it is and the sum of sizes shrinks: along what is left of the equations.
    """
    cdef const int64_t *active = room.active
    cdef double *slopes = room.slopes
    cdef const double *solution = room.solution
    cdef double limit, largest = 0.0, reach, old, way
    cdef int64_t first = -1, a, b
    cdef bint solvable
    for a in range(n):  # equations x = slopes is where all slopes are 0 for x with the signs of theta
        slopes[a] = moment[active[a]] - copysign(strength, theta[active[a]])
        for b in range(n):
            room.equations[a * n + b] = gram[active[a] * d + active[b]]
    solve_least_squares(room.equations, slopes, n, room.solution, room)
    limit = larger(slope_rounding(moment, strength, d), share * strength)
    for a in range(n):
        for b in range(n):
            slopes[a] -= room.equations[a * n + b] * solution[b]
        largest = larger(fabs(slopes[a]), largest)
    solvable = largest <= limit
    reach = 1.0 if solvable else INFINITY
    for a in range(n):
        old = theta[active[a]]
        way = solution[a] - old if solvable else slopes[a]
        if old * way < 0.0 and -old / way <= reach:
            reach, first = -old / way, a
    if first < 0 and not solvable:
        return LOST
    for a in range(n):
        old = theta[active[a]]
        way = solution[a] - old if solvable else slopes[a]
        theta[active[a]] = solution[a] if first < 0 else old + reach * way
    if first < 0:
        return AT_MINIMUM
    theta[active[first]] = 0.0
    return REACHED_ZERO


cdef bint is_minimum(const double *gram, const double *moment, double strength, const double *theta,
                     int64_t d) noexcept nogil:
    """Is the slope of the squares nowhere above the strength, but for rounding?"""
    cdef double limit = strength + slope_rounding(moment, strength, d), slope
    cdef int64_t i, j
    for i in range(d):
        slope = moment[i]
        for j in range(d):
            slope -= gram[i * d + j] * theta[j]
        if fabs(slope) > limit:
            return False
    return True


cdef bint polish(const double *gram, const double *moment, double strength, double *theta, int64_t d,
                 double share, SparseRoom *room) noexcept nogil:
    """Goes to the minimum among parameters with the signs of theta; is that the minimum of all?

    Coefficients that reach 0 on the way there stay 0, and the others go on. The objective never grows. Equations
    count as solved up to this share of the strength: of columns that agree to four digits some are solved only by
    such a wide limit, and of those that agree to seven some only by rounding alone.
    """
    cdef Step outcome = REACHED_ZERO
    cdef int64_t n, i
    while outcome == REACHED_ZERO:
        n = 0
        for i in range(d):
            if theta[i] != 0.0:
                room.active[n] = i
                n += 1
        if n == 0:
            return False
        outcome = advance(gram, moment, strength, theta, d, n, share, room)
    return outcome == AT_MINIMUM and is_minimum(gram, moment, strength, theta, d)


cdef void descend(const double *gram, const double *moment, double strength, double *theta, int64_t d,
                  SparseRoom *room) noexcept nogil:
    """Coordinate descent on theta'gram theta/2 - moment'theta + strength |theta|_1, from theta on.

    Where columns are nearly alike it would creep, so now and then the signs it has found are solved for.
    """
    cdef int64_t sweeps = <int64_t>(WORK / (d * d)) + 1, sweep, i
    cdef double change, largest, old, pull, size, share, diagonal
    for sweep in range(sweeps):
        change = largest = 0.0
        for i in range(d):
            old, diagonal = theta[i], gram[i * d + i]
            pull = moment[i] + diagonal * old - dot(gram + i * d, theta, d)
            size = larger(0.0, fabs(pull) - strength)
            theta[i] = copysign(size / diagonal, pull) if diagonal > 0.0 else 0.0
            change = larger(fabs(theta[i] - old), change)
            largest = larger(fabs(theta[i]), largest)
        if change <= SMALLEST_CHANGE * largest:
            return
        share = SLOPE_SHARE if sweep // POLISH % 2 == 0 else 0.0
        if sweep % POLISH == POLISH - 1 and polish(gram, moment, strength, theta, d, share, room):
            return


def least_squares(gram, moment):
    """gram^+ moment, which minimises theta'gram theta/2 - moment'theta; of the least length if many do.

    gram, (d, d), is symmetric and positive semidefinite: its lower triangle is read.
    """
    cdef int64_t d = np.size(moment)
    cdef const double[::1] right = finite_array("moment", moment, (d,))
    cdef const double[:, ::1] matrix = finite_array("gram", gram, (d, d))
    cdef double[::1] theta = np.empty(d), memory = np.empty(sparse_size(d))
    cdef SparseRoom room
    if d > 0:
        lay_out(&room, &memory[0], d)
        with nogil:
            solve_least_squares(&matrix[0, 0], &right[0], d, &theta[0], &room)
    return theta.base


def lasso(gram, moment, double strength, start=None):
    """The minimum of theta'gram theta/2 - moment'theta + strength |theta|_1, searched for from `start` on.

    gram, (d, d), is symmetric and positive semidefinite; the search starts from 0 if no start is given.
    """
    cdef int64_t d = np.size(moment)
    cdef const double[::1] right = finite_array("moment", moment, (d,))
    cdef const double[:, ::1] matrix = finite_array("gram", gram, (d, d))
    cdef double[::1] theta = np.zeros(d) if start is None else np.array(finite_array("start", start, (d,)))
    cdef double[::1] memory = np.empty(sparse_size(d))
    cdef SparseRoom room
    if not 0.0 <= strength < INFINITY:
        raise ValueError(f"strength must be a number of at least 0, got {strength}")
    if d > 0:
        lay_out(&room, &memory[0], d)
        with nogil:
            descend(&matrix[0, 0], &right[0], strength, &theta[0], d, &room)
    return theta.base


# Logistic regression

cdef inline double probability(double odds) noexcept nogil:
    """1/(1 + exp(-odds)), for log-odds of any size."""
    cdef double small = exp(-fabs(odds))
    return 1.0 / (1.0 + small) if odds >= 0.0 else small / (1.0 + small)


cdef inline bint fit_is_due(int64_t rows, double rewards, double weight, const double *progress) noexcept nogil:
    """Is all fitted anew with this reward? By a heavy one, `follow` would lose theta where little is known."""
    if rows <= FEW_ROWS or rewards <= FEW_REWARDS or weight > HEAVY:
        return True
    return rewards >= progress[FIT_DUE] or progress[WALKED] * progress[WIDEST] > MOVED_FAR


cdef inline void begin_progress(double *progress, double rewards) noexcept nogil:
    """All was fitted anew with so many rewards."""
    progress[FIT_DUE], progress[WALKED], progress[WIDEST] = 2.0 * rewards, 0.0, 0.0


cdef double odds_after(double start, double reach, double reward) noexcept nogil:
    """The log-odds s = start + reach (reward - p(s)), by Newton's method, which halving keeps within bounds."""
    cdef double low = start - reach if reward < 0.5 else start
    cdef double high = start if reward < 0.5 else start + reach
    cdef double odds = start, before = INFINITY, chance, off, step
    cdef int64_t i
    for i in range(HALVINGS):
        chance = probability(odds)
        off = odds - start - reach * (reward - chance)
        if off == 0.0:
            break
        if off > 0.0:
            high = odds
        else:
            low = odds
        step = off / (1.0 + reach * chance * (1.0 - chance))
        if fabs(step) <= 1e-15 * (1.0 + fabs(odds)):
            break
        odds -= step
        if not low <= odds <= high or fabs(off) > 0.5 * before:
            odds = 0.5 * (low + high)
        before = fabs(off)
    return odds


cdef double follow(State *s, const double *x, double reward, double weight, double *progress) noexcept nogil:
    """How much log det H grows with one reward more, and the estimate and the factor of H after it."""
    cdef int64_t d = s.d, i
    cdef double q, odds, chance, left, curvature
    for i in range(d):
        s.x[i] = x[i]
    open_run(s)
    q = s.run.q
    odds = odds_after(s.run.start, q * weight, reward)
    chance = probability(odds)
    left = weight * (reward - chance)
    for i in range(d):
        s.theta[i] += left * s.u[i]
    curvature = weight * chance * (1.0 - chance)
    rank_one(s.M, s.p, d, curvature, s.work)
    progress[WALKED] += left * left * q
    progress[WIDEST] = larger(progress[WIDEST], q)
    return log1p(curvature * q)


cdef double newton(State *s, const double *rows, const double *losses, const double *wins, int64_t n,
                   double *theta, double *weights, double *slope) noexcept nogil:
    """log(det H/det H_0), the estimate and the factor of H after so many losses and wins of each of n rows.

    With r the largest change of any x'theta, log(1 + r)/r of a step never goes too far: along it the third
    derivative is at most r times the second (Bach, 2010), and this minimises the bound that follows from that.
    Near the end it is a whole step. The search starts from `theta`, and leaves the estimate there too. Where H may be
    steep, it and the slope have 32 digits. `weights` has room for n numbers and `slope` for d.
    """
    cdef int64_t d = s.d, step, i, k
    cdef double ratio = 0.0, played = 0.0, largest = 0.0, odds, chance, rest, plays, left, gained, reach, change, share
    cdef const double *row
    cdef State exact = s[0]
    cdef bint finely, reached = False
    for k in range(n):
        played += losses[k] + wins[k]
        largest += (losses[k] + wins[k]) * dot(rows + k * d, rows + k * d, d)
    finely = may_be_steep(s, largest)
    exact.penalty = 0.0  # adds all with 32 digits
    for step in range(NEWTON_STEPS):
        memset(s.sums, 0, (d + 1) * d * sizeof(double))
        memset(s.carries, 0, (d + 1) * d * sizeof(double))
        for i in range(d):
            slope[i] = -s.penalty * theta[i]
            add_exactly(s, d * d + i, -s.penalty, theta[i])
        for k in range(n):
            row = rows + k * d
            odds = 0.0
            for i in range(d):
                odds += row[i] * theta[i]
            chance = probability(odds)
            plays = losses[k] + wins[k]
            if finely:
                rest = probability(-odds)  # 1 - chance would lose its digits
                add_pulls(&exact, row, plays * chance * rest, wins[k] * rest - losses[k] * chance)
            else:
                weights[k] = plays * chance * (1.0 - chance)
                left = wins[k] - plays * chance
                for i in range(d):
                    slope[i] += left * row[i]
        if finely:
            for i in range(d):
                slope[i] = s.sums[d * d + i] + s.carries[d * d + i]
        else:
            weighted_gram(rows, weights, n, d, s.sums)
            memcpy(s.sums + d * d, slope, d * sizeof(double))
            memset(s.carries + d * d, 0, d * sizeof(double))
        ratio = solve_sums(s)
        gained = reach = 0.0
        for i in range(d):
            gained += slope[i] * s.theta[i]
        if gained <= SHORTEST_STEP * (1.0 + played):
            if reached or not finely:
                break
            reached = True  # one step more, for rows that weigh far less than others
        for k in range(n):
            row = rows + k * d
            change = 0.0
            for i in range(d):
                change += row[i] * s.theta[i]
            reach = larger(reach, fabs(change))
        share = log1p(reach) / reach if reach > 0.0 else 1.0
        for i in range(d):
            theta[i] += share * s.theta[i]
    memcpy(s.theta, theta, d * sizeof(double))
    return ratio


def solve_logistic(rows, losses, wins, double penalty, start, double[:, ::1] solved):
    """log(det H/det H_0), and in `solved`, (d + 1, d), the factor M'M = H^-1 and the estimate.

    Row k of `rows`, (n, d), was followed so often by 0 and by 1; H = penalty I + sum p(1-p) x x'. The search
    starts from the estimate `start`.
    """
    cdef int64_t n = len(rows), d = np.size(start)
    if d == 0:
        raise ValueError("start must have at least one number")
    cdef const double[:, ::1] features = finite_array("rows", rows, (n, d))
    cdef const double[::1] lost = finite_array("losses", losses, (n,)), won = finite_array("wins", wins, (n,))
    cdef double[::1] theta = np.array(finite_array("start", start, (d,))), weights = np.empty(n), slope = np.empty(d)
    cdef double[:, :, ::1] sums = np.zeros((2, d + 1, d))
    cdef State s
    _read_sums(&s, "sums", sums)
    room = room_for(&s, d, penalty)
    solve_into(&s, _matrix("solved", solved, d + 1, d))
    if n == 0:
        return newton(&s, NULL, NULL, NULL, 0, &theta[0], NULL, &slope[0])
    with nogil:
        ratio = newton(&s, &features[0, 0], &lost[0], &won[0], n, &theta[0], &weights[0], &slope[0])
    return ratio


def update_logistic(x, double reward, double weight, double[:, ::1] solved, double[::1] progress):
    """How much log det H grows with one reward of x more; `solved` and `progress` are brought up to date."""
    cdef int64_t d = np.size(x)
    if d == 0:
        raise ValueError("x must have at least one number")
    if progress is None or progress.shape[0] != PROGRESS_SIZE:
        raise ValueError(f"progress must have {PROGRESS_SIZE} numbers")
    cdef const double[::1] row = finite_array("x", x, (d,))
    cdef State s
    room = room_for(&s, d, 1.0)
    solve_into(&s, _matrix("solved", solved, d + 1, d))
    return follow(&s, &row[0], reward, weight, &progress[0])


def logistic_fit_is_due(int64_t rows, double rewards, double weight, const double[::1] progress):
    """Are all rows fitted anew with this reward, of this weight? `rewards` counts it."""
    if progress is None or progress.shape[0] != PROGRESS_SIZE:
        raise ValueError(f"progress must have {PROGRESS_SIZE} numbers")
    return bool(fit_is_due(rows, rewards, weight, &progress[0]))


def begin_logistic_progress(double[::1] progress, double rewards):
    """Notes that all rows were fitted anew with so many rewards."""
    if progress is None or progress.shape[0] != PROGRESS_SIZE:
        raise ValueError(f"progress must have {PROGRESS_SIZE} numbers")
    begin_progress(&progress[0], rewards)


# What loops call

cdef class Fit:
    """What an estimator has learnt, in `memory`; a subclass takes in rewards and solves.

    `dim` is d and `penalty` at least 1e-10, as that of a ridge. `search_at` is where in `memory` the estimate
    stands from which the next search starts, None where nothing is searched for.
    """

    cdef int allocate(self, dim, double penalty, size) except -1:
        """Gets `size` numbers of memory, all 0, and room for solving."""
        cdef double[::1] numbers
        if dim < 1:
            raise ValueError(f"dim must be at least 1, got {dim}")
        check_penalty(penalty)
        numbers = np.zeros(max(size, 1))
        self._owner = numbers.base
        self.memory = self._owner[:size]
        self.memory.flags.writeable = False
        self.dim, self.penalty, self.size, self.numbers, self.search_start = dim, penalty, size, &numbers[0], -1
        self._room = [room_for(&self.state, dim, penalty)]
        return 0

    cdef double *more_room(self, size) except NULL:
        """So many numbers more, all 0, for working."""
        cdef double[::1] room = np.zeros(max(size, 1))
        self._room.append(room.base)
        return &room[0]

    cdef void use_sums(self, double *sums) noexcept nogil:
        self.state.sums, self.state.carries = sums, sums + (self.dim + 1) * self.dim

    @property
    def search_at(self):
        """Where in `memory` the estimate stands from which the next search starts; None if there is none."""
        return None if self.search_start < 0 else self.search_start

    def update(self, x, double reward, double weight, double[:, ::1] solved):
        """The log det ratio after one more reward of x; with the weight 0, that of the rewards before.

        M and theta are written into `solved`, (d + 1, d), which is to come back unchanged with the next reward.
        """
        if self.dim == 0:
            raise NotImplementedError("an estimator is a subclass of Fit")
        cdef const double[::1] row = finite_array("x", x, (self.dim,))
        if not isfinite(reward):
            raise InvalidReward(f"a reward must be a finite number, got {reward}")
        if not 0.0 <= weight < INFINITY:
            raise ValueError(f"weight must be a number of at least 0, got {weight}")
        return self.take(&row[0], reward, weight, _matrix("solved", solved, self.dim + 1, self.dim))

    def restore(self, memory):
        """Takes over what another of the same settings has learnt, from its `memory`."""
        cdef const double[::1] numbers = finite_array("memory", memory, (self.size,))
        if self.size > 0:
            self.check_memory(&numbers[0])
            memcpy(self.numbers, &numbers[0], self.size * sizeof(double))

    cdef int check_memory(self, const double *numbers) except -1:
        """Refuses memory by whose numbers others would be found where there are none."""
        return 0

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        """As `update`, with nothing checked but what an estimator alone can tell."""
        with gil:
            raise NotImplementedError("an estimator is a subclass of Fit")


cdef class WeightedFit(Fit):
    """Ridge regression by weights."""

    def __cinit__(self, dim, double penalty):
        dim = operator.index(dim)
        self.allocate(dim, penalty, 2 * (dim + 1) * dim)
        self.use_sums(self.numbers)

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        cdef State *s = &self.state
        if weight > 0.0:
            add_pulls(s, x, weight, weight * reward)
        solve_into(s, solved)
        return solve_sums(s)


cdef int64_t whole_number(name, double value, int64_t most) except -1:
    """A number of `memory` that counts something."""
    if not 0.0 <= value <= most or value != <double><int64_t>value:
        raise ValueError(f"{name} in memory must be a whole number from 0 to {most}, got {value}")
    return <int64_t>value


cdef class WindowedFit(Fit):
    """Ridge regression of the last `window` rewards, whose sums are taken anew when all have changed.

    `rows` is how many rewards there is room for, if there will be fewer than the window holds.
    """

    def __cinit__(self, dim, double penalty, window, rows=None):
        dim, window = operator.index(dim), operator.index(window)
        if not 1 <= window <= 2**53:
            raise ValueError(f"window must be from 1 to 2^53, got {window}")
        rows = window if rows is None else min(operator.index(rows), window)
        if rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}")
        sums = 2 * (dim + 1) * dim
        self.allocate(dim, penalty, WINDOW_HEAD + sums + rows * (dim + 2))
        self.window, self.rows = window, rows
        self.use_sums(self.numbers + WINDOW_HEAD)
        self.last = self.numbers + WINDOW_HEAD + <int64_t>sums

    cdef int check_memory(self, const double *numbers) except -1:
        cdef int64_t held = whole_number("the number of rewards", numbers[HELD], self.rows)
        cdef int64_t place = whole_number("the place of the next", numbers[NEXT], self.rows)
        cdef int64_t dropped = whole_number("the number of those dropped", numbers[DROPPED], self.window - 1)
        if (place != held or dropped > 0) if held < self.window else place == self.window:
            raise ValueError(f"memory has {held} rewards of {self.window}, the next at {place}, {dropped} dropped")
        return 0

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        cdef State *s = &self.state
        cdef double *memory = self.numbers
        cdef int64_t d = self.dim, place = <int64_t>memory[NEXT]
        cdef double *row = self.last + place * (d + 2)
        if weight > 0.0:
            if place == self.rows:
                with gil:
                    raise ValueError(f"there is room for {self.rows} rewards alone")
            add_pulls(s, x, weight, weight * reward)
            if memory[HELD] < self.window:
                memory[HELD] += 1.0
            else:
                add_pulls(s, row, -row[d + 1], -row[d + 1] * row[d])
                memory[DROPPED] += 1.0
            memcpy(row, x, d * sizeof(double))
            row[d], row[d + 1] = reward, weight
            memory[NEXT] = 0.0 if place + 1 == self.window else <double>(place + 1)
            if memory[DROPPED] == self.window:
                self.sum_anew()
                memory[DROPPED] = 0.0
        solve_into(s, solved)
        return solve_sums(s)

    cdef void sum_anew(self) noexcept nogil:
        """The sums of a full window, from its oldest reward on."""
        cdef State *s = &self.state
        cdef int64_t d = self.dim, first = <int64_t>self.numbers[NEXT], back
        cdef const double *row
        memset(s.sums, 0, 2 * (d + 1) * d * sizeof(double))
        for back in range(self.window):
            row = self.last + (first + back) % self.window * (d + 2)
            add_pulls(s, row, row[d + 1], row[d + 1] * row[d])


cdef class DiscountedFit(Fit):
    """Ridge regression in which a reward weighs rate^age; the age is how many rewards came after it."""

    def __cinit__(self, dim, double penalty, rate):
        dim, rate = operator.index(dim), float(rate)
        if not 0.0 < rate <= 1.0:
            raise ValueError(f"rate must be above 0 and at most 1, got {rate}")
        self.rate, self.squared_rate = rate, rate**2
        self.allocate(dim, penalty, 4 * (dim + 1) * dim)
        self.use_sums(self.numbers)
        self.state.sample = self.more_room(2 * (dim + 1) * dim)

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        cdef State *s = &self.state
        cdef State w = s[0]
        cdef int64_t size = 2 * (self.dim + 1) * self.dim
        w.sums, w.carries = s.sums + size, s.carries + size
        if weight > 0.0:
            fade(s, self.rate)
            fade(&w, self.squared_rate)
            add_pulls(s, x, weight, weight * reward)
            add_pulls(&w, x, weight, 0.0)
        solve_into(s, solved)
        return spread(s, w.sums, s.sample)


cdef class LassoFit(Fit):
    """LASSO of a strength, from its last estimate on, with the factor of ridge regression.

    theta minimises sum (y - x'theta)^2/(2n) + strength |theta|_1.
    """

    def __cinit__(self, dim, double penalty, double strength):
        dim = operator.index(dim)
        if not 0.0 < strength < INFINITY:
            raise ValueError(f"strength must be a number above 0, got {strength}")
        self.allocate(dim, penalty, 1 + dim + 2 * (dim + 1) * dim)
        cdef int64_t d = dim
        self.strength, self.search_start = strength, 1
        self.use_sums(self.numbers + 1 + d)
        self.gram = self.more_room((d + 1) * d)
        self.moment = self.gram + d * d
        lay_out(&self.sparse, self.more_room(sparse_size(d)), d)

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        cdef State *s = &self.state
        cdef int64_t d = self.dim, i, j
        cdef double *theta = self.numbers + 1
        cdef double ratio, told
        if weight > 0.0:
            add_pulls(s, x, weight, weight * reward)
            self.numbers[0] += 1.0
        told = self.numbers[0]
        solve_into(s, solved)
        ratio = solve_sums(s)
        if told != 0.0:
            for i in range(d):
                self.moment[i] = (s.sums[d * d + i] + s.carries[d * d + i]) / told
                for j in range(i + 1):
                    self.gram[i * d + j] = (s.sums[i * d + j] + s.carries[i * d + j]) / told
                    self.gram[j * d + i] = self.gram[i * d + j]
            descend(self.gram, self.moment, self.strength, theta, d, &self.sparse)
        memcpy(s.theta, theta, d * sizeof(double))
        return ratio


cdef class LogisticFit(Fit):
    """Logistic regression by how often each x was followed by 0 and by 1.

    `rows` is how many different x there is room for.
    """

    def __cinit__(self, dim, double penalty, rows):
        dim, rows = operator.index(dim), operator.index(rows)
        if rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}")
        self.allocate(dim, penalty, LOGISTIC_HEAD + rows * (dim + 2))
        cdef int64_t d = dim, room = rows
        self.rows = room
        self.features = self.numbers + LOGISTIC_HEAD
        self.losses = self.features + room * d
        self.wins = self.losses + room
        self.use_sums(self.more_room(2 * (d + 1) * d))
        self.weights = self.more_room(room)
        self.slope = self.more_room(2 * d)
        self.theta = self.slope + d

    cdef int check_memory(self, const double *numbers) except -1:
        whole_number("the number of rows", numbers[COUNT], self.rows)
        return 0

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        cdef State *s = &self.state
        cdef double *memory = self.numbers
        cdef double *progress = memory + PROGRESS
        cdef int64_t d = self.dim, count
        if weight > 0.0:
            self.count(x, reward, weight)
        count = <int64_t>memory[COUNT]
        solve_into(s, solved)
        if weight == 0.0 or fit_is_due(count, memory[REWARDS], weight, progress):
            begin_progress(progress, memory[REWARDS])
            if weight > 0.0:
                memcpy(self.theta, s.theta, d * sizeof(double))
            else:
                memset(self.theta, 0, d * sizeof(double))
            memory[RATIO] = newton(s, self.features, self.losses, self.wins, count, self.theta, self.weights,
                                   self.slope)
        else:
            memory[RATIO] += follow(s, x, reward, weight, progress)
        return memory[RATIO]

    cdef int count(self, const double *x, double reward, double weight) except -1 nogil:
        """Takes a reward into the losses or wins of its x."""
        cdef int64_t d = self.dim, count = <int64_t>self.numbers[COUNT], place = 0, i
        cdef double *row = self.features
        if reward != 0.0 and reward != 1.0:
            with gil:
                raise InvalidReward(f"a reward for Logistic must be 0 or 1, got {reward}")
        while place < count:
            i = 0
            while i < d and row[i] == x[i]:
                i += 1
            if i == d:
                break
            row += d
            place += 1
        if place == count:
            if place == self.rows:
                with gil:
                    raise ValueError(f"there is room for {self.rows} different x alone")
            memcpy(row, x, d * sizeof(double))
            self.numbers[COUNT] += 1.0
        if reward == 1.0:
            self.wins[place] += weight
        else:
            self.losses[place] += weight
        self.numbers[REWARDS] += 1.0
        return 0


cdef class PythonFit(Fit):
    """An estimator that is a Python function `fit(x, reward, weight, penalty, memory, solved)`.

    It is given arrays of its own: x, a `memory` of so many numbers that it may change, and `solved`, (d + 1, d),
    as it left it, where it writes M and theta. It returns the log det ratio. A weight of 0 asks it to solve with
    nothing new. Exceptions arrive as they are; then `solved` stays as it was.
    """

    def __cinit__(self, dim, double penalty, function, size):
        dim, size = operator.index(dim), operator.index(size)
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}")
        if size < 0:
            raise ValueError(f"size must be at least 0, got {size}")
        self.allocate(dim, penalty, size)
        self.function, self._writable = function, self._owner[:size]

    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil:
        with gil:
            return self.call(x, reward, weight, solved)

    cdef double call(self, const double *x, double reward, double weight, double *solved) except? -1.0:
        cdef int64_t d = self.dim
        cdef double[::1] row = np.empty(d)
        cdef double[:, ::1] found = np.empty((d + 1, d))
        cdef double ratio
        memcpy(&row[0], x, d * sizeof(double))
        memcpy(&found[0, 0], solved, (d + 1) * d * sizeof(double))
        answer = self.function(row.base, reward, weight, self.penalty, self._writable, found.base)
        try:
            ratio = answer
        except TypeError:
            raise TypeError(f"an estimator must return the log det ratio, a number, got {answer!r}") from None
        if not isfinite(ratio):
            raise ValueError(f"an estimator must return a finite log det ratio, got {ratio}")
        memcpy(solved, &found[0, 0], (d + 1) * d * sizeof(double))
        return ratio
