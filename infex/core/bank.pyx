"""K ridge regressions of c features each, one for each arm; `bank.pxd` explains their layout."""

import numpy as np

from libc.math cimport sqrt

from infex.core.ridge cimport absorb, check_penalty, product, refresh


cdef class RidgeBank:
    """Ridges of `arms` arms on contexts of `features` numbers, each with the `penalty`.

    `sums`, (arms, 2, features + 1, features), are what was seen before: of each arm sum x x' and below it b, each as
    a sum and a carry; nothing if they are None.
    """

    def __cinit__(self, int64_t arms, int64_t features, double penalty=1.0, sums=None):
        cdef double[:, :, :, ::1] truth
        cdef double[:, :, ::1] solved
        cdef double[:, ::1] runs, wide, rooms
        cdef double[:, ::1] vectors
        cdef double[::1] rests
        cdef int64_t k
        if arms < 1 or features < 1:
            raise ValueError(f"there must be an arm and a feature, got {arms} and {features}")
        check_penalty(penalty)
        K, c = arms, features
        self.K, self.c = K, c
        self.sums, self.solved = np.zeros((K, 2, c + 1, c)), np.zeros((K, c + 1, c))
        self.runs = np.zeros((K, sizeof(Run) // sizeof(double)))
        if sums is not None:
            if np.shape(sums) != self.sums.shape or not np.isfinite(sums).all():
                raise ValueError(f"sums must be finite, of the shape {self.sums.shape}; got {np.shape(sums)}")
            self.sums[:] = sums
        self._rooms = np.zeros((c + c * (c + 1) // 2, K)), np.zeros((3, K)), np.zeros((4, c)), np.zeros((c + 1) * c)
        truth, solved, runs, (wide, rooms, vectors, rests) = self.sums, self.solved, self.runs, self._rooms
        self.wide, self.scores, self.widths, self.work = &wide[0, 0], &rooms[0, 0], &rooms[1, 0], &rooms[2, 0]
        s = &self.state
        s.d, s.K, s.scored, s.penalty = c, 0, False, penalty
        s.x, s.p, s.u, s.work = &vectors[0, 0], &vectors[1, 0], &vectors[2, 0], &vectors[3, 0]
        s.rests = &rests[0]
        self.all_sums, self.all_solved, self.all_runs = &truth[0, 0, 0, 0], &solved[0, 0, 0], <Run *>&runs[0, 0]
        for each in (self.sums, self.solved, self.runs):
            each.flags.writeable = False  # for Python
        for k in range(K):
            refresh(self.point_to(k))
            self._turn(k)

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all ridges together: the sum of theirs."""
        cdef double total = 0.0
        cdef int64_t k
        for k in range(self.K):
            total += self.all_runs[k].log_det_ratio
        return total

    cdef State *point_to(self, int64_t arm) noexcept nogil:
        """The ridge of an arm; only one at a time."""
        cdef State *s = &self.state
        cdef int64_t size = (self.c + 1) * self.c
        s.sums = self.all_sums + 2 * arm * size
        s.carries = s.sums + size
        s.M = self.all_solved + arm * size
        s.theta = s.M + self.c * self.c
        s.run = self.all_runs + arm
        return s

    cdef void _turn(self, int64_t arm) noexcept nogil:
        """Brings theta and M of an arm into `wide`."""
        cdef const State *s = self.point_to(arm)
        cdef int64_t c = self.c, K = self.K, row = c, i, j
        for i in range(c):
            self.wide[i * K + arm] = s.theta[i]
            for j in range(i + 1):
                self.wide[(row + j) * K + arm] = s.M[i * c + j]
            row += i + 1

    cdef void learn(self, int64_t arm, const double *x, double reward, double weight) noexcept nogil:
        """Takes in a reward of an arm in the context x."""
        absorb(self.point_to(arm), x, reward, weight)
        self._turn(arm)

    cdef void score(self, const double *x) noexcept nogil:
        """In `scores` x'theta_k of every arm."""
        product(self.wide, self.K, x, self.c, self.scores)

    cdef void widen(self, const double *x) noexcept nogil:
        """In `widths` |x| in V_k^-1 of every arm."""
        cdef int64_t row = self.c, i, k
        for k in range(self.K):
            self.widths[k] = 0.0
        for i in range(self.c):
            product(self.wide + row * self.K, self.K, x, i + 1, self.work)
            for k in range(self.K):
                self.widths[k] += self.work[k] * self.work[k]
            row += i + 1
        for k in range(self.K):
            self.widths[k] = sqrt(self.widths[k])

    cdef void perturb(self, const double *x, const double *directions, const double *radii) noexcept nogil:
        """In `widths` x'(theta_k + radius_k M_k'direction_k), after `score`; `directions` are (K, c)."""
        cdef int64_t row = self.c, i, k
        for k in range(self.K):
            self.widths[k] = 0.0
        for i in range(self.c):
            product(self.wide + row * self.K, self.K, x, i + 1, self.work)
            for k in range(self.K):
                self.widths[k] += self.work[k] * directions[k * self.c + i]
            row += i + 1
        for k in range(self.K):
            self.widths[k] = self.scores[k] + radii[k] * self.widths[k]
