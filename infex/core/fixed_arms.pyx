"""The loop of whole runs over fixed arms.

Within a run of the same arm a greedy round costs O(1): greedy keeps its arm as long as phi stays in an
interval that one pass over the arms finds.
"""

import numpy as np

from infex.errors import InvalidChoice

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from infex.core.choosing cimport Base, bits_of, choose, greedy_arm, is_plain
from infex.core.ridge cimport (
    Ridge, Run, State, add_to_run, close_run, greedy_interval, is_long, learn, log_det_ratio,
)
from infex.core.runs cimport STUDENT, Law, Outcome, check_rounds, draw


cdef class FixedArmsRun(Outcome):
    """One run of a base over fixed arms; `play` goes on with it.

    `ridge` learns from all rounds. With `own`, a ridge of its own data, the base reads and counts its own
    rounds alone. `means` and `gaps` are those of the arms, and `law` draws a reward of a mean, with `noise` if
    it is Gaussian. With `always` the base decides in every round, and says which of them explore. Rewards are
    drawn from `reward_rng`, what the policy draws from `rng`. `checkpoints` are rising rounds whose regret
    `curve` gets; with `record` all rounds up to `horizon` are kept.
    """

    cdef Ridge ridge, own
    cdef Base base
    cdef double noise
    cdef bint always, random_ties
    cdef object _reward_rng, _rng
    cdef const double[::1] _means, _gaps
    cdef int64_t t

    def __cinit__(self, Ridge ridge not None, Base base not None, means, gaps, Law law, double noise,
                  reward_rng, rng, int64_t horizon, checkpoints, *, Ridge own=None, bint always=False,
                  bint random_ties=False, bint record=False):
        cdef int64_t K = ridge.state.K
        if own is not None and (own.state.K != K or own.state.d != ridge.state.d or own is ridge):
            raise ValueError("own must be another ridge over the same arms")
        if not is_plain(&base.settings) or law >= STUDENT:
            raise ValueError("kinds after HYBRID_TS, wraps, Student's law and given rewards need the general loop")
        self.ridge, self.own, self.base, self.noise = ridge, own, base, noise
        self._begin(law, K, horizon, checkpoints, record)
        self.always, self.random_ties, self._reward_rng, self._rng, self.t = always, random_ties, reward_rng, rng, 1
        self._means = np.array(means, dtype=np.float64)
        self._gaps = np.array(gaps, dtype=np.float64)
        if self._means.shape[0] != K or self._gaps.shape[0] != K:
            raise ValueError(f"there must be {K} means and gaps, got {len(means)} and {len(gaps)}")
        if not (np.isfinite(self._means).all() and np.isfinite(self._gaps).all() and np.isfinite(noise)):
            raise ValueError("means, gaps and noise must be finite")

    def play(self, int64_t last, const int64_t[::1] exploring):
        """Plays the rounds up to `last`; `exploring` are those among them in which the base decides."""
        cdef int64_t failed
        cdef bitgen_t *reward_rng = bits_of(self._reward_rng)
        cdef bitgen_t *rng = bits_of(self._rng)
        last = min(last, self.horizon)
        check_rounds("exploring", exploring, self.t, last)
        with nogil:
            failed = self._play(last, exploring, reward_rng, rng)
        if failed:
            raise InvalidChoice(
                f"no arm has a finite score in round {failed}: are the settings of the policy too large, or "
                "is the penalty too small?"
            )

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all rounds."""
        return log_det_ratio(&self.ridge.state)

    cdef int64_t _play(self, int64_t end, const int64_t[::1] exploring, bitgen_t *reward_rng,
                       bitgen_t *rng) noexcept nogil:
        """0, or the round in which no arm could be chosen."""
        cdef State *s = &self.ridge.state
        cdef State *read = s
        cdef int64_t t = self.t, turn = 0, greedy = -1, clock, arm, first, stop, last
        cdef int64_t turns = exploring.shape[0], marks = self.checkpoints.shape[0]
        cdef double low = 0.0, high = 0.0  # `greedy` is the greedy arm while phi lies between them
        cdef double reward, mean
        cdef bint explores, own = self.own is not None
        if own:
            read = &self.own.state
        clock = self.explored + (self.rounds if self.explores else 0)
        while t <= end:
            stop = min(self.checkpoints[self.next_checkpoint], end) if self.next_checkpoint < marks else end
            explores = self.always or (turn < turns and exploring[turn] == t)
            if explores:
                turn += 1
                arm = choose(&self.base.settings, read, False, NULL, clock + turn if own else t, rng, &explores)
                if not self.always:
                    explores = True
                    self.different += arm != greedy_arm(s, False, False, NULL)
                last = t
            else:
                if greedy >= 0 and greedy == s.run.arm and low < s.run.phi < high:
                    arm = greedy
                else:
                    arm = greedy_arm(s, False, self.random_ties, rng)
                last = min(stop, exploring[turn] - 1) if turn < turns else stop
            if not 0 <= arm < s.K:
                self.t = t
                return t
            mean = self._means[arm]
            reward = draw(self.law, mean, self.noise, 0.0, reward_rng)
            if arm != s.run.arm:
                greedy = -1
            learn(s, arm, reward)
            if explores and own:
                learn(read, arm, reward)
            self.record(t, arm, reward, self._gaps[arm])
            first = t
            t += 1
            if s.run.arm != arm:
                greedy = -1  # the run grew so long that it was closed
            elif t <= last:
                if greedy < 0:
                    greedy_interval(s.scores, s.along, s.K, arm, &low, &high)
                    greedy = arm
                t = self._repeat(t, last, low, high, mean, reward_rng)
                if is_long(s.run):
                    close_run(s)
                    greedy = -1
            self.count(t - 1, arm, explores, self._gaps[arm], t - first)
        if t > self.horizon:
            self.flush()
        self.t = t
        return 0

    cdef inline int64_t _repeat(self, int64_t t, int64_t last, double low, double high, double mean,
                                bitgen_t *rng) noexcept nogil:
        """Plays the arm of the ridge's run again from round t on while it is greedy; the round after.

        On a copy of the run, whose numbers stay in registers.
        """
        cdef Run run = self.ridge.state.run[0]
        cdef double reward
        while t <= last and low < run.phi < high and not is_long(&run):
            reward = draw(self.law, mean, self.noise, 0.0, rng)
            add_to_run(&run, 1.0, reward)
            if self.recorded:
                self.record(t, <int64_t>run.arm, reward, self._gaps[<int64_t>run.arm])
            t += 1
        self.ridge.state.run[0] = run
        return t
