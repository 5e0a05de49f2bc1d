"""Ridges of arms, tied by features that all arms share; `hybrid.pxd` explains the algebra."""

import numpy as np

from infex.core.ridge import finite_array
from infex.errors import InvalidReward

from libc.math cimport isfinite, sqrt
from libc.string cimport memcpy, memset

from infex.core.bank cimport add_sums, array_of, refuse_many, row_of
from infex.core.pairs cimport add, exact_product, minus_product, quotient, root
from infex.core.pending cimport SMALL_UNITS, UNITS, narrow, pending_sum
from infex.core.ridge cimport State, absorb, add_pulls, dot, is_steep, larger, perturb, product, refresh, square_widths

cdef extern from "loops.h" nogil:
    void untold(const double *G, const double *x, const double *z, int64_t K, int64_t c, int64_t s, double *u,
                double *out)


cdef inline Pair pair_of(const int64_t *sums, int64_t size, int64_t at) noexcept nogil:
    """One of the pending sums."""
    return add(sums[at] / UNITS, 0.0, sums[size + at] / SMALL_UNITS)


cdef class Hybrid:
    """`arms` arms with `features` of their own and `shared` ones that have one parameter for all, with one `penalty`.

    `own` is the bank of arms by themselves and `shared` a bank of one ridge, of what arms' own features do not tell of
    shared ones. `ties`, (K, c, s), `cross`, (K, 2, c, s), and `common`, (2, s + 1, s), are views, as all numbers of
    the banks: they change with what is learnt. Every change raises `version`. A row is an arm's own features, and
    behind them the shared ones.
    """

    def __cinit__(self, int64_t arms, int64_t features, int64_t shared, double penalty=1.0):
        cdef double[:, :, ::1] ties, common, before
        cdef double[:, :, :, ::1] cross
        cdef double[::1] low, half, vectors
        cdef double[:, ::1] arms_room
        if shared < 1:
            raise ValueError(f"there must be a feature that arms share, got {shared}")
        self.own, self.shared = RidgeBank(arms, features, penalty), RidgeBank(1, shared, penalty)
        K, c, s = arms, features, shared
        self.K, self.c, self.s = K, c, s
        self.ties, self.cross, self.common = np.zeros((K, c, s)), np.zeros((K, 2, c, s)), np.zeros((2, s + 1, s))
        self._rooms = (
            np.zeros(2 * c * c), np.zeros(2 * (s + 1) * c), np.zeros((2, s + 1, s)), np.zeros(s + c),
            np.zeros((s + 4, K)),
        )
        ties, cross, common, (low, half, before, vectors, arms_room) = self.ties, self.cross, self.common, self._rooms
        self.all_ties, self.all_cross, self.all_common = &ties[0, 0, 0], &cross[0, 0, 0, 0], &common[0, 0, 0]
        self.low, self.half, self.before = <Pair *>&low[0], <Pair *>&half[0], &before[0, 0, 0]
        self.u, self.along = &vectors[0], &vectors[self.s]
        self.columns, self.work = &arms_room[0, 0], &arms_room[self.s, 0]
        for each in (self.ties, self.cross, self.common):
            each.flags.writeable = False  # for Python

    def __reduce__(self):
        return _restored, (
            (self.K, self.c, self.s, self.own.penalty), self.own, self.shared, np.array(self.ties),
            np.array(self.cross), np.array(self.common), self.gone, self.told,
        )

    @property
    def log_det_ratio(self):
        """log(det V/det V_0), with that of arms that were removed."""
        return self.own.log_det_ratio + self.shared.log_det_ratio + self.gone

    # Learning

    def update(self, int64_t arm, row, double reward, double weight=1.0):
        """Takes in a reward of an arm on a row, (c + s,); O(c^2 + c s + s^2)."""
        cdef const double[::1] x = row_of(row, self.c + self.s)
        self.own.refuse_arm(arm)
        if not (isfinite(reward) and isfinite(weight)):
            raise InvalidReward(f"a reward and its weight must be finite, got {reward} and {weight}")
        self._learn(arm, &x[0], reward, weight)

    def update_many(self, const int64_t[::1] arms, const int64_t[::1] places, const double[:, ::1] rows,
                    const double[::1] rewards, const double[::1] weights):
        """Takes in rewards in their order, of `arms[n]` on `rows[places[n]]`; an arm of -1 learns nothing."""
        cdef int64_t n
        refuse_many(arms, places, rows, rewards, weights, self.K, self.c + self.s)
        for n in range(arms.shape[0]):
            if arms[n] >= 0:
                self._learn(arms[n], &rows[places[n], 0], rewards[n], weights[n])

    def gather(self, const int64_t[::1] arms, const int64_t[::1] places, const double[:, ::1] rows,
               const double[::1] rewards, const double[::1] weights):
        """Takes in the same rewards as sums, from which all is computed anew once: their order does not count."""
        cdef int64_t n
        refuse_many(arms, places, rows, rewards, weights, self.K, self.c + self.s)
        if arms.shape[0] == 0:
            return
        self.own.gather(arms, places, np.ascontiguousarray(np.asarray(rows)[:, : self.c]), rewards, weights)
        for n in range(arms.shape[0]):
            if arms[n] >= 0:
                self._add_cross(arms[n], &rows[places[n], 0], weights[n])
                self._add_common(self.all_common, &rows[places[n], self.c], weights[n], weights[n] * rewards[n])
                self.told += 1
        self._renew_shared()

    def revise(self, int64_t arm, row, double before, after, double weight=1.0):
        """A reward of an arm on a row that was `before` becomes `after`, or was never told (None)."""
        cdef const double[::1] x = row_of(row, self.c + self.s)
        self.own.refuse_arm(arm)
        self.own.take_out(arm, &x[0], before, after, weight)
        if after is None:
            self._add_cross(arm, &x[0], -weight)
            self._add_common(self.all_common, &x[self.c], -weight, -weight * before)
            self.told -= 1
        else:
            self._add_common(self.all_common, &x[self.c], 0.0, -weight * before)
            self._add_common(self.all_common, &x[self.c], 0.0, weight * <double>after)
        self._renew_shared()

    def add(self, const double[:, :, :, ::1] sums, const double[:, ::1] counts, const double[:, :, :, ::1] cross,
            const double[:, :, ::1] common, const int64_t[::1] places, int64_t own_told, int64_t told,
            double gone=0.0):
        """Adds what others have learnt, `told` rewards in all, `own_told` of them of arms that are still there.

        `sums` and `counts` are those of a bank. Each arm is at a place here, or nowhere (-1).
        """
        cdef int64_t k, size = self.c * self.s
        n = places.shape[0]
        if np.shape(cross) != (n, 2, self.c, self.s) or np.shape(common) != (2, self.s + 1, self.s):
            raise ValueError(
                f"sums of {n} arms on {self.c} and {self.s} features are needed, got {np.shape(cross)} and "
                f"{np.shape(common)}"
            )
        self.own.add(sums, counts, places, own_told)  # which refuses places that are not there
        for k in range(n):
            if places[k] >= 0:
                add_sums(self.all_cross + 2 * places[k] * size, &cross[k, 0, 0, 0], size)
        add_sums(self.all_common, &common[0, 0, 0], (self.s + 1) * self.s)
        self.gone += gone
        self.told += told
        self._renew_shared()

    def over(self, const int64_t[::1] places):
        """Another with what was learnt of the arms at `places`; -1 is a new arm.

        What rewards of an arm that goes have told of the shared features stays, with its own parameter unknown: beta
        and its widths are as they were.
        """
        cdef Hybrid other = Hybrid(places.shape[0], self.c, self.s, self.own.penalty)
        cdef int64_t size = self.c * self.s, k
        cdef double gone = 0.0
        other.own, other.shared = self.own.over(places), self.shared.copy()
        stays = set()
        for k in range(places.shape[0]):
            if places[k] >= 0:
                memcpy(other.all_ties + k * size, self.all_ties + places[k] * size, size * sizeof(double))
                memcpy(other.all_cross + 2 * k * size, self.all_cross + 2 * places[k] * size, 2 * size * sizeof(double))
                stays.add(places[k])
        memcpy(other.all_common, self.all_common, 2 * (self.s + 1) * self.s * sizeof(double))
        cdef double[::1] room = np.empty(size)
        for k in range(self.K):
            if k not in stays:
                self._eliminate(k, &room[0], other.all_common)
                gone += self.own.all_runs[k].log_det_ratio
        other.gone, other.told = self.gone + gone, self.told
        return other

    def copy(self):
        """Another with the same numbers."""
        return self.over(np.arange(self.K))

    def restore(self, RidgeBank own not None, RidgeBank shared, ties, cross, common, double gone, int64_t told):
        """Takes all numbers as they are, if they are finite and of the shapes that these have here.

        Without `shared` and `ties`, these are computed anew from the sums.
        """
        if own.K != self.K or own.c != self.c or (shared is not None and (shared.K != 1 or shared.c != self.s)):
            raise ValueError(f"there must be {self.K} arms with {self.c} features, and one ridge with {self.s}")
        if not isfinite(gone):
            raise ValueError(f"log det of arms that are gone must be finite, got {gone}")
        kept = []
        parts = ("ties", ties, self.ties), ("cross", cross, self.cross), ("common", common, self.common)
        for name, given, mine in parts:
            if given is not None:
                kept.append((mine, finite_array(name, given, mine.shape)))
        for mine, array in kept:
            mine.flags.writeable = True
            mine[:] = array
            mine.flags.writeable = False
        self.own, self.gone, self.told = own.copy(), gone, told
        self.own.told = own.told
        if shared is None or ties is None:
            self._renew_shared()
        else:
            self.shared = shared.copy()
        self.version += 1

    # Reading

    def estimates(self, context, rows):
        """Every arm's x'theta_k + z_k'beta, (K,); z_k are the `rows`, (K, s)."""
        cdef const double[::1] x = self._untell(context, rows)
        cdef int64_t k
        self.own.score(&x[0])
        product(self.columns, self.K, self.shared.point_to(0).theta, self.s, self.work)
        for k in range(self.K):
            self.work[k] = self.own.scores[k] + self.work[k]
        return array_of(self.work, self.K)

    def widths(self, context, rows):
        """Every arm's |(x, z_k)| in V^-1, (K,)."""
        cdef const double[::1] x = self._untell(context, rows)
        cdef const double *own = self.own.widths
        cdef double *squares = self.work
        cdef double left
        cdef int64_t K = self.K, k
        self.own.widen(&x[0])
        square_widths(self.columns, K, self.shared.point_to(0).M, self.s, squares, squares + K, squares + 2 * K)
        for k in range(K):
            left = sqrt(larger(squares[k], 0.0))
            squares[k] = sqrt(own[k] * own[k] + left * left)
        return array_of(squares, K)

    def deviations(self, context, rows, double scale, const double[::1] direction):
        """Every arm's (x, z_k)'(scale M'direction), (K,); the direction has K c + s numbers."""
        cdef const double[::1] x = self._untell(context, rows)
        cdef double *before = self.work
        cdef double *after = self.work + self.K
        cdef double own
        cdef int64_t k
        if direction.shape[0] != self.K * self.c + self.s:
            raise ValueError(f"direction must have {self.K * self.c + self.s} numbers, got {direction.shape[0]}")
        shared = self.shared.point_to(0)
        product(self.columns, self.K, shared.theta, self.s, before)
        perturb(shared, scale, &direction[self.K * self.c], self.u, self.before)
        product(self.columns, self.K, self.u, self.s, after)
        self.own.score(&x[0])
        self.own.deviate(&x[0], &direction[0])
        for k in range(self.K):
            own = self.own.scores[k]
            before[k] = ((own + scale * self.own.widths[k]) - own) + (after[k] - before[k])
        return array_of(before, self.K)

    def untold(self, context, rows):
        """u = z_k - G_k'x of every arm, as columns, (s, K)."""
        self._untell(context, rows)
        return array_of(self.columns, self.s * self.K).reshape(self.s, self.K)

    cdef const double[::1] _untell(self, context, rows):
        """The context, after u of every arm was computed, in `columns`."""
        cdef const double[::1] x = row_of(context, self.c)
        cdef const double[:, ::1] z = np.ascontiguousarray(rows, dtype=np.float64)
        if z.shape[0] != self.K or z.shape[1] != self.s:
            raise ValueError(f"rows must be {self.K} of {self.s} shared features, got {np.shape(rows)}")
        untold(self.all_ties, &x[0], &z[0, 0], self.K, self.c, self.s, self.u, self.columns)
        return x

    def narrowed(self, const int64_t[:, :, :, ::1] own, const int64_t[:, :, :, ::1] cross,
                 const int64_t[:, :, ::1] common):
        """Another with sums over pending decisions in V; parameters and determinants stay.

        The sums are of x x', (K, 2, c, c), x z', (K, 2, c, s), and z z', (2, s, s).
        """
        cdef int64_t K = self.K, c = self.c, s = self.s, k, i, j, n
        cdef Hybrid other
        cdef double[:, ::1] missed = np.empty((c * s, 2)), grown = np.empty((s * s, 2))
        cdef double[::1] P = np.empty(s * s), parts = np.empty(c * s), work = np.empty(2 * s * s + s)
        cdef Pair *D = <Pair *>&missed[0, 0]
        cdef Pair *U = <Pair *>&grown[0, 0]
        cdef const double *beta = self.shared.point_to(0).theta
        cdef const int64_t *of_x
        cdef const int64_t *of_xz
        cdef const double *tie
        cdef const double *M
        cdef double *after
        cdef double moved
        cdef Pair v
        if np.shape(cross) != (K, 2, c, s) or np.shape(common) != (2, s, s):
            raise ValueError(f"pending sums do not fit: {np.shape(cross)} and {np.shape(common)}")
        other = self.copy()
        other.own = self.own.narrowed(own)
        for i in range(s):
            for j in range(i + 1):
                U[i * s + j] = pair_of(&common[0, 0, 0], s * s, i * s + j)
        for k in range(K):
            if not np.any(own[k]):
                continue
            of_x, of_xz = &own[k, 0, 0, 0], &cross[k, 0, 0, 0]
            tie, after, M = self.all_ties + k * c * s, other.all_ties + k * c * s, other.own.point_to(k).M
            for i in range(c):  # D = sum x z' - sum x x' G: sum x u' over what is pending
                for j in range(s):
                    v = pair_of(of_xz, c * s, i * s + j)
                    for n in range(c):
                        v = minus_product(v, pair_of(of_x, c * c, max(i, n) * c + min(i, n)), Pair(tie[n * s + j], 0.0))
                    D[i * s + j] = v
            for i in range(s):  # sum u u' is sum z z' less that of G'x z' and of D'G
                for j in range(i + 1):
                    v = U[i * s + j]
                    for n in range(c):
                        v = minus_product(v, pair_of(of_xz, c * s, n * s + i), Pair(tie[n * s + j], 0.0))
                        v = minus_product(v, D[n * s + j], Pair(tie[n * s + i], 0.0))
                    U[i * s + j] = v
            for i in range(c):  # G becomes G + A^-1 D, by parts M D, with what is pending in A
                for j in range(s):
                    parts[i * s + j] = 0.0
                for n in range(i + 1):
                    for j in range(s):
                        parts[i * s + j] += M[i * c + n] * D[n * s + j].value
                for n in range(i + 1):
                    for j in range(s):
                        after[n * s + j] += M[i * c + n] * parts[i * s + j]
            for i in range(s):  # and sum u u' loses D'A^-1 D
                for j in range(i + 1):
                    for n in range(c):
                        U[i * s + j] = add(U[i * s + j].value, U[i * s + j].rest, -parts[n * s + i] * parts[n * s + j])
            for i in range(c):  # so that theta_k stays as it is
                moved = 0.0
                for j in range(s):
                    moved += (after[i * s + j] - tie[i * s + j]) * beta[j]
                other.own.point_to(k).theta[i] += moved
            other.own._turn(k)
        for i in range(s):
            for j in range(i + 1):
                P[i * s + j] = P[j * s + i] = U[i * s + j].value + U[i * s + j].rest
        narrow(self.shared.point_to(0), &P[0], &work[0], other.shared.point_to(0))
        other.shared._turn(0)
        return other

    # Block elimination, with 32 digits

    cdef void _halve(self, int64_t arm) noexcept nogil:
        """In `low` L with L L' = A_k; in `half` L^-1 B_k as rows, and L^-1 sum y x."""
        cdef int64_t c = self.c, s = self.s, i, j, k
        cdef const State *own = self.own.point_to(arm)
        cdef const double *cross = self.all_cross + 2 * arm * c * s
        cdef Pair *low = self.low
        cdef Pair *half = self.half
        cdef Pair v
        for i in range(c):
            for j in range(i + 1):
                v = add(own.sums[i * c + j], 0.0, own.carries[i * c + j])
                for k in range(j):
                    v = minus_product(v, low[i * c + k], low[j * c + k])
                if i == j:
                    low[i * c + i] = root(add(larger(v.value, 0.0), v.rest, own.penalty))
                else:
                    low[i * c + j] = quotient(v, low[j * c + j])
        for i in range(s + 1):
            for j in range(c):
                if i < s:
                    v = add(cross[j * s + i], 0.0, cross[c * s + j * s + i])
                else:
                    v = add(own.sums[c * c + j], 0.0, own.carries[c * c + j])
                for k in range(j):
                    v = minus_product(v, half[i * c + k], low[j * c + k])
                half[i * c + j] = quotient(v, low[j * c + j])

    cdef void _tie(self, int64_t arm, double *tie) noexcept nogil:
        """In `tie` G_k = L'^-1 (L^-1 B_k), after `_halve`, whose rows it changes."""
        cdef int64_t c = self.c, s = self.s, i, j, k
        cdef Pair *low = self.low
        cdef Pair *half = self.half
        for j in range(s):
            for i in range(c - 1, -1, -1):
                half[j * c + i] = quotient(half[j * c + i], low[i * c + i])
                tie[i * s + j] = half[j * c + i].value
                for k in range(i):
                    half[j * c + k] = minus_product(half[j * c + k], low[i * c + k], half[j * c + i])

    cdef void _eliminate(self, int64_t arm, double *tie, double *left) noexcept nogil:
        """Takes B_k'A_k^-1 B_k and B_k'A_k^-1 sum y x of an arm from `left`, (2, s + 1, s); G_k is in `tie` then."""
        cdef int64_t c = self.c, s = self.s, size = (s + 1) * s, i, j, k
        cdef Pair v
        self._halve(arm)
        for i in range(s + 1):
            for j in range(min(i + 1, s)):
                v = Pair(left[i * s + j], left[size + i * s + j])
                for k in range(c):
                    v = minus_product(v, self.half[i * c + k], self.half[j * c + k])
                left[i * s + j] = v.value
                left[size + i * s + j] = v.rest
        self._tie(arm, tie)

    cdef void _renew_shared(self) noexcept nogil:
        """Computes the shared ridge and all ties anew from sums."""
        cdef int64_t k
        memcpy(self.shared.all_sums, self.all_common, 2 * (self.s + 1) * self.s * sizeof(double))
        for k in range(self.K):
            self._eliminate(k, self.all_ties + k * self.c * self.s, self.shared.all_sums)
        self.shared._renew(0)
        self.version += 1

    cdef void _add_cross(self, int64_t arm, const double *x, double weight) noexcept nogil:
        """B_k after a reward on the row x; what rounding takes from the products is in the carries."""
        cdef int64_t c = self.c, s = self.s, i, j, at
        cdef double *cross = self.all_cross + 2 * arm * c * s
        cdef Pair scaled, exact, v
        for i in range(c):
            scaled = exact_product(weight, x[i])
            for j in range(s):
                at = i * s + j
                exact = exact_product(scaled.value, x[c + j])
                v = add(cross[at], cross[c * s + at] + (exact.rest + scaled.rest * x[c + j]), exact.value)
                cross[at] = v.value
                cross[c * s + at] = v.rest

    cdef void _add_common(self, double *sums, const double *z, double n, double rewards) noexcept nogil:
        """Sums of z z' and y z, with n of z more; a penalty of 0 has all of them with 32 digits."""
        cdef State state = self.shared.point_to(0)[0]
        state.sums, state.carries, state.penalty = sums, sums + (self.s + 1) * self.s, 0.0
        add_pulls(&state, z, n, rewards)

    cdef bint _is_steep(self) noexcept nogil:
        """Do updates of the shared ridge lose what is known in some directions?"""
        cdef State state = self.shared.point_to(0)[0]
        state.sums = self.all_common
        return is_steep(&state)

    cdef void _learn(self, int64_t arm, const double *x, double reward, double weight) noexcept nogil:
        """Takes in a reward of an arm on the row x."""
        cdef int64_t c = self.c, s = self.s, size = (s + 1) * s, i, j
        cdef const double *z = x + c
        cdef const State *own = self.own.point_to(arm)
        cdef State *shared = self.shared.point_to(0)
        cdef double *tie = self.all_ties + arm * c * s
        cdef bint steep = self._is_steep()
        cdef double square = 0.0, part, rest, share
        if steep:  # what the arm has told of shared features before
            memset(self.before, 0, 2 * size * sizeof(double))
            self._eliminate(arm, tie, self.before)
        memcpy(self.u, z, s * sizeof(double))
        memset(self.along, 0, c * sizeof(double))
        for i in range(c):
            product(own.M + i * c, 1, x, i + 1, &part)
            square += part * part
            for j in range(i + 1):
                self.along[j] += part * own.M[i * c + j]
            for j in range(s):
                self.u[j] -= tie[i * s + j] * x[i]
        rest = reward - dot(own.theta, x, c)
        share = weight / (1.0 + weight * square)
        self._add_cross(arm, x, weight)
        self._add_common(self.all_common, z, weight, weight * reward)
        self.own.learn(arm, x, reward, weight)
        self.own.count(arm, reward)
        self.told += 1
        self.version += 1
        if steep:  # updates would lose theta where little is known
            self._add_common(shared.sums, z, weight, weight * reward)
            for i in range(2 * size):
                self.before[i] = -self.before[i]
            add_sums(shared.sums, self.before, size)
            self._eliminate(arm, tie, shared.sums)
            self.shared._renew(0)
            return
        if self.own.all_runs[arm].closed == 0.0:  # the arm was computed anew
            self._halve(arm)
            self._tie(arm, tie)
        else:
            for i in range(c):
                for j in range(s):
                    tie[i * s + j] += share * self.along[i] * self.u[j]
        absorb(shared, self.u, rest, share)
        if self._is_steep():
            self._renew_shared()
        else:
            self.shared._turn(0)


def _restored(size, *numbers):
    """A hybrid of this size with these numbers, for pickle."""
    hybrid = Hybrid(*size)
    hybrid.restore(*numbers)
    return hybrid
