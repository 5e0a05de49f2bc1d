"""Whole runs of forced sampling over fixed arms, by least squares or by LASSO.

Least squares of arms that differ much in length depends on the last bits of sums. So rewards are added up by runs, as
`ridge` does, and what is estimated is solved from the sums where it is read.
"""

import numpy as np

from infex.errors import InvalidChoice

from libc.math cimport log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset
from numpy.random cimport bitgen_t

from infex.core.choosing cimport bits_of, pick, uniform_arm
from infex.core.estimators cimport SparseRoom, descend, lay_out, solve_least_squares, sparse_size
from infex.core.ridge cimport Ridge, State, learn, log_det_ratio, product, whole_sums
from infex.core.runs cimport STUDENT, Law, Outcome, draw

cdef extern from "loops.h" nogil:
    double largest(const double *scores, int64_t K)
    double tie_bar(double top)


cpdef double fading_strength(double scale, double of_n, double of_d, double rewards, double dim) noexcept nogil:
    """scale sqrt((of_n log n + of_d log d)/n), the strength of LASSO after n rewards of d features."""
    cdef double n = max(rewards, 1.0)
    return scale * sqrt((of_n * log(n) + of_d * log(dim)) / n)


cpdef double least_estimate(double top, double keep) noexcept nogil:
    """The estimate from which on forced rounds keep an arm: within keep/2 of the `top` one, or tied with that."""
    return tie_bar(top) - keep / 2.0


cdef class ForcedRun(Outcome):
    """One run; `play` goes on with it.

    `columns` are the arms, (d, K). Forced rounds play uniform arms. With `screens`, others keep the arms whose estimate
    from forced rounds alone, by LASSO of the strength `first`, is within `keep`/2 of the best; without, all. They play
    the best of these by LASSO from all n rewards, of the strength `later` sqrt((of_n log n + of_d log d)/n). A strength
    of 0 is least squares. `means` and `gaps` are those of the arms, and `law` draws rewards, with `noise` if it is
    Gaussian.
    """

    cdef Ridge ridge, forced
    cdef Law law
    cdef double noise, keep, first, later, of_n, of_d
    cdef bint screens, random_ties
    cdef object _reward_rng, _rng
    cdef const double[::1] _means, _gaps
    cdef double[::1] _theta, _moment, _scores, _kept_scores, _memory
    cdef double[:, ::1] _gram
    cdef int64_t[::1] _kept
    cdef int64_t n_kept
    cdef bint stale                # has a forced round come since arms were kept?
    cdef SparseRoom room

    def __cinit__(self, columns, double penalty, means, gaps, Law law, double noise, reward_rng, rng, int64_t horizon,
                  checkpoints, *, double keep=0.0, double first=0.0, double later=0.0, double of_n=1.0, double of_d=1.0,
                  bint screens=True, bint random_ties=False, bint record=False):
        if law == STUDENT:
            raise ValueError("Student's law needs the general loop")
        for name, value in {"keep": keep, "first": first, "later": later, "of_n": of_n, "of_d": of_d}.items():
            if not 0.0 <= value < float("inf"):
                raise ValueError(f"{name} must be a number of at least 0, got {value}")
        self.ridge, self.forced = Ridge(columns, penalty, None, False), Ridge(columns, penalty, None, False)
        cdef int64_t d = self.ridge.state.d, K = self.ridge.state.K
        self._begin(law, K, horizon, checkpoints, record)
        self.law, self.noise, self.keep, self.first, self.later = law, noise, keep, first, later
        self.of_n, self.of_d, self.screens, self.random_ties = of_n, of_d, screens, random_ties
        self._reward_rng, self._rng = reward_rng, rng
        self._means, self._gaps = np.array(means, dtype=np.float64), np.array(gaps, dtype=np.float64)
        if self._means.shape[0] != K or self._gaps.shape[0] != K:
            raise ValueError(f"there must be {K} means and gaps, got {len(means)} and {len(gaps)}")
        if not (np.isfinite(self._means).all() and np.isfinite(self._gaps).all() and np.isfinite(noise)):
            raise ValueError("means, gaps and noise must be finite")
        self._theta, self._moment, self._gram = np.zeros(d), np.zeros(d), np.zeros((d, d))
        self._scores, self._kept_scores = np.zeros(K), np.zeros(K)
        self._kept, self.n_kept, self.stale = np.arange(K), K, screens
        self._memory = np.zeros(sparse_size(d))
        lay_out(&self.room, &self._memory[0], d)

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all rounds."""
        return log_det_ratio(&self.ridge.state)

    def play(self, int64_t first, int64_t last, const int64_t[::1] forced):
        """Plays rounds `first` to `last`; `forced` are those among them that are forced, which rise."""
        cdef bitgen_t *reward_rng = bits_of(self._reward_rng)
        cdef bitgen_t *rng = bits_of(self._rng)
        self.check_next(first, last)
        self.next_round = last + 1
        with nogil:
            self._play(first, last, forced, reward_rng, rng)

    cdef int _play(self, int64_t first, int64_t last, const int64_t[::1] forced, bitgen_t *reward_rng,
                   bitgen_t *rng) except -1 nogil:
        cdef int64_t K = self.ridge.state.K, turn = 0, turns = forced.shape[0], t, arm
        cdef bint explores
        cdef double reward
        for t in range(first, last + 1):
            explores = turn < turns and forced[turn] == t
            if explores:
                turn += 1
                arm = uniform_arm(K, rng)
            else:
                arm = self._best_arm(t - 1, rng)
            if not 0 <= arm < K:
                with gil:
                    raise InvalidChoice(f"no arm has a finite score in round {t}: are rewards or arms too large?")
            reward = draw(self.law, self._means[arm], self.noise, 0.0, reward_rng)
            learn(&self.ridge.state, arm, reward)
            if explores and self.screens:
                learn(&self.forced.state, arm, reward)
                self.forced.state.told += 1.0
                self.stale = True
            self.note(t, arm, reward, self._gaps[arm])
            self.enter(t, arm, explores, self._gaps[arm], 1)
        if last == self.horizon:
            self.close()
        return 0

    cdef int64_t _best_arm(self, double rewards, bitgen_t *rng) noexcept nogil:
        """The best of the arms that forced rounds keep, after so many rewards; -1 if no score is a number."""
        cdef int64_t d = self.ridge.state.d, k, place
        if self.stale:
            self._score(&self.forced.state, self.forced.state.told, self.first)
            self._keep_arms()
            self.stale = False
        self._score(&self.ridge.state, rewards, fading_strength(self.later, self.of_n, self.of_d, rewards, d))
        for k in range(self.n_kept):
            self._kept_scores[k] = self._scores[self._kept[k]]
        place = pick(&self._kept_scores[0], self.n_kept, self.random_ties, rng) if self.n_kept > 0 else -1
        return self._kept[place] if place >= 0 else -1

    cdef void _keep_arms(self) noexcept nogil:
        """Keeps the arms whose scores are near the best."""
        cdef int64_t K = self.ridge.state.K, k
        cdef double limit = least_estimate(largest(&self._scores[0], K), self.keep)
        self.n_kept = 0
        for k in range(K):
            if self._scores[k] >= limit:
                self._kept[self.n_kept] = k
                self.n_kept += 1

    cdef void _score(self, State *s, double rewards, double strength) noexcept nogil:
        """In `_scores` every arm's estimate by LASSO of so many rewards, or by least squares if the strength is 0."""
        cdef int64_t d = s.d, size = (d + 1) * d, i, j
        cdef double by = 1.0 if strength == 0.0 else rewards
        cdef double *theta = &self._theta[0]
        memset(theta, 0, d * sizeof(double))
        if rewards > 0.0:
            whole_sums(s)
            for i in range(d):
                self._moment[i] = (s.whole[d * d + i] + s.whole[size + d * d + i]) / by
                for j in range(i + 1):
                    self._gram[i, j] = (s.whole[i * d + j] + s.whole[size + i * d + j]) / by
                    self._gram[j, i] = self._gram[i, j]
            if strength == 0.0:
                solve_least_squares(&self._gram[0, 0], &self._moment[0], d, theta, &self.room)
            else:
                descend(&self._gram[0, 0], &self._moment[0], strength, theta, d, &self.room)
        product(s.columns, s.K, theta, d, &self._scores[0])
