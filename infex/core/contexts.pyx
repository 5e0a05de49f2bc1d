"""Whole runs with a context in every round and a regression for each arm."""

import numpy as np

from infex.errors import InvalidChoice, InvalidReward

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal

from infex.core.bank cimport RidgeBank
from infex.core.choosing cimport (
    GREEDY, HYBRID_TS, LINTS_SPHERICAL, LINUCB, ROUND_ROBIN, Base, Settings, bits_of, draws_uniform, explores_at,
    is_plain, pick, radius_at, uniform_arm,
)
from infex.core.ridge cimport dot
from infex.core.runs cimport TABLE, Law, Outcome, check_rounds, draw, set_gaps


cdef class ContextsRun(Outcome):
    """One run; `play` goes on with it.

    `bank` learns from all rounds, and `own`, if it is there, from those that explore: the base then reads it, and counts
    its own rounds alone. `base` is one that keeps no notes and reads no pulls; with `always` it decides in every round.
    `law` draws rewards with the `noises` of arms and `degrees` of freedom.
    """

    cdef RidgeBank bank, own, reader
    cdef Base base
    cdef double degrees
    cdef bint always, random_ties
    cdef object _reward_rng, _rng
    cdef const double[::1] _noises
    cdef double[::1] _gaps, _radii
    cdef double[:, ::1] _directions

    def __cinit__(self, RidgeBank bank not None, Base base not None, Law law, noises, reward_rng, rng,
                  int64_t horizon, checkpoints, *, RidgeBank own=None, bint always=False, bint random_ties=False,
                  double degrees=0.0, bint record=False):
        if own is not None and (own is bank or own.K != bank.K or own.c != bank.c):
            raise ValueError("own must be another bank over as many arms and features")
        if not is_plain(&base.settings):
            raise ValueError("a base that takes notes or reads pulls cannot be played in contexts")
        self._begin(law, bank.K, horizon, checkpoints, record)
        self.bank, self.own, self.reader = bank, own, bank if own is None else own
        self.base, self.degrees, self.always, self.random_ties = base, degrees, always, random_ties
        self._reward_rng, self._rng, self.steady = reward_rng, rng, False
        self._noises = np.array(noises, dtype=np.float64)
        if self._noises.shape[0] != bank.K:
            raise ValueError(f"there must be {bank.K} noises, got {len(noises)}")
        self._gaps, self._radii, self._directions = np.zeros(bank.K), np.zeros(bank.K), np.zeros((bank.K, bank.c))
        for k in range(bank.K):
            self._set_radius(k)

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all rounds and arms."""
        return self.bank.log_det_ratio

    def play(self, int64_t first, const double[:, ::1] contexts, const double[:, ::1] means,
             const int64_t[::1] exploring, rewards=None):
        """Plays a round in each of the `contexts`, (rounds, c), with its row of `means`, (rounds, K).

        `rewards`, (rounds, K), are those of all arms where the law is TABLE.
        """
        cdef const double[:, ::1] table
        cdef bitgen_t *reward_rng = bits_of(self._reward_rng)
        cdef bitgen_t *rng = bits_of(self._rng)
        if contexts.shape[1] != self.bank.c or means.shape[1] != self.bank.K or means.shape[0] != contexts.shape[0]:
            raise ValueError(
                f"there must be contexts of {self.bank.c} numbers and means of {self.bank.K} arms, got "
                f"{np.shape(contexts)} and {np.shape(means)}"
            )
        self.check_next(first, first + contexts.shape[0] - 1)
        check_rounds("exploring", exploring, first, first + contexts.shape[0] - 1)
        table = self.check_table(rewards, contexts.shape[0])
        self.next_round = first + contexts.shape[0]
        with nogil:
            self._play(first, contexts, means, exploring, table, reward_rng, rng)

    cdef int _play(self, int64_t first, const double[:, ::1] contexts, const double[:, ::1] means,
                   const int64_t[::1] exploring, const double[:, ::1] table, bitgen_t *reward_rng,
                   bitgen_t *rng) except -1 nogil:
        cdef int64_t t = first, turn = 0, turns = exploring.shape[0], clock = self.explored, row, arm
        cdef bint explores
        cdef double reward
        cdef const double *x
        for row in range(contexts.shape[0]):
            t = first + row
            x = &contexts[row, 0]
            explores = self.always or (turn < turns and exploring[turn] == t)
            if explores:
                turn += 1
                arm = self._ask(t if self.own is None else clock + turn, x, rng, &explores)
                explores = explores or not self.always
            else:
                self.bank.score(x)
                arm = pick(self.bank.scores, self.bank.K, self.random_ties, rng)
            if not 0 <= arm < self.bank.K:
                with gil:
                    raise InvalidChoice(
                        f"no arm has a finite score in round {t}: are the settings of the policy too large, or is the "
                        "penalty too small?"
                    )
            if self.law == TABLE:
                reward = table[row, arm]
            else:
                reward = draw(self.law, means[row, arm], self._noises[arm], self.degrees, reward_rng)
            if not isfinite(reward):
                with gil:
                    raise InvalidReward(
                        f"the law of rewards must give a finite number; in round {t} it gave {reward}"
                    )
            set_gaps(&means[row, 0], self.bank.K, &self._gaps[0])
            self.note(t, arm, reward, self._gaps[arm])
            self.enter(t, arm, explores, self._gaps[arm], 1)
            self.bank.learn(arm, x, reward, 1.0)
            if explores and self.own is not None:
                self.own.learn(arm, x, reward, 1.0)
            self._set_radius(arm)
        return 0

    cdef void _set_radius(self, int64_t arm) noexcept nogil:
        """The radius of an arm, by its own determinant."""
        cdef const Settings *base = &self.base.settings
        cdef double beta = radius_at(
            self.reader.all_runs[arm].log_det_ratio, self.reader.state.penalty, base.noise, base.bound, base.delta
        )
        self._radii[arm] = base.scale * beta + base.bonus

    cdef int64_t _ask(self, int64_t t, const double *x, bitgen_t *rng, bint *explored) noexcept nogil:
        """The arm of the base, and whether it was chosen to explore."""
        cdef const Settings *base = &self.base.settings
        cdef int64_t K = self.bank.K, k
        cdef bint exploits
        explored[0] = True
        if base.kind == ROUND_ROBIN:
            return (t - 1) % K
        if draws_uniform(base):
            if explores_at(base, t, rng):
                return uniform_arm(K, rng)
            exploits = True
        else:
            exploits = base.kind == GREEDY or (base.kind == HYBRID_TS and not rng.next_double(rng.state) < base.rate)
        self.reader.score(x)
        if exploits:
            explored[0] = False
            return pick(self.reader.scores, K, base.random_ties, rng)
        if base.kind == LINUCB:
            self.reader.widen(x)
            for k in range(K):
                self.reader.widths[k] = self.reader.scores[k] + self._radii[k] * self.reader.widths[k]
        else:
            self._draw_directions(base.kind == LINTS_SPHERICAL, rng)
            self.reader.perturb(x, &self._directions[0, 0], &self._radii[0])
        return pick(self.reader.widths, K, base.random_ties, rng)

    cdef void _draw_directions(self, bint spherical, bitgen_t *rng) noexcept nogil:
        cdef int64_t c = self.bank.c, k, i
        cdef double length
        for k in range(self.bank.K):
            for i in range(c):
                self._directions[k, i] = random_standard_normal(rng)
            if spherical:
                length = sqrt(c / dot(&self._directions[k, 0], &self._directions[k, 0], c))
                for i in range(c):
                    self._directions[k, i] *= length
