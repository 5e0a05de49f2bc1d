"""The general loop of whole runs: round by round, over problems of every kind.

It plays what the loop over fixed arms has no room for: arms that are drawn anew, contexts, means that move, any law of
rewards, rewards that come late, other estimators than ridge, controls around a schedule, forced sampling, and policies
that keep a state of their own.
"""

import numpy as np

from infex.errors import InvalidChoice, InvalidReward

from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy
from numpy.random cimport bitgen_t

from infex.core.choosing cimport (
    GREEDY_FIRST, HYBRID_TS, LINTS, LINTS_SPHERICAL, RARELY_SWITCHING, READS_WIDTHS, STATE_SIZE, Base, Settings,
    bits_of,
)
from infex.core.controls cimport MAY_EXPLORE, Controls
from infex.core.models cimport LassoModel, Model
from infex.core.runs cimport TABLE, Law, Outcome, check_rounds, draw, set_gaps


cdef class LateRewards:
    """Rewards on their way; `delays` are those of all rounds, -1 for one that never comes.

    If what they are learnt on is `changing`, it is kept: `dim` numbers each.
    """

    cdef const int64_t[::1] order, due  # decisions in the order in which their rewards come, and after which rounds
    cdef int64_t next                   # in this order
    cdef int64_t[::1] arms
    cdef uint8_t[::1] explored
    cdef double[::1] rewards, weights   # and what each adds to V
    cdef double[:, ::1] rows            # what they are learnt on, where that changes from round to round

    def __cinit__(self, delays, int64_t horizon, int64_t dim, bint changing):
        given = np.asarray(delays, dtype=np.int64)
        if given.shape != (horizon,):
            raise ValueError(f"there must be a delay for each of {horizon} rounds, got the shape {given.shape}")
        told = np.flatnonzero(given >= 0)
        due = told + 1 + np.minimum(given[told], horizon)
        order = np.argsort(due, kind="stable")
        self.order, self.due = told[order], due[order]
        self.arms, self.explored = np.zeros(horizon, np.int64), np.zeros(horizon, np.uint8)
        self.rewards, self.weights = np.zeros(horizon), np.zeros(horizon)
        self.rows = np.zeros((horizon if changing else 0, dim))

    cdef void add(self, int64_t t, int64_t arm, const double *x, double reward, bint explored,
                  double weight) noexcept nogil:
        """That of round t."""
        self.arms[t - 1], self.rewards[t - 1], self.explored[t - 1] = arm, reward, explored
        self.weights[t - 1] = weight
        if self.rows.shape[0] > 0:
            memcpy(&self.rows[t - 1, 0], x, self.rows.shape[1] * sizeof(double))

    cdef int64_t arrival(self, int64_t t) noexcept nogil:
        """The next decision whose reward comes after round t; -1 if there is none."""
        if self.next == self.order.shape[0] or self.due[self.next] > t:
            return -1
        self.next += 1
        return self.order[self.next - 1]


cdef class GeneralRun(Outcome):
    """One run of a policy; `play` goes on with it.

    `model` learns from all rounds. `base` decides in exploring rounds, or `always`. With `explored`, a model that
    learns from exploring rounds alone, the base reads that one; with `own_clock` it counts only these. Rewards are
    drawn by `law` with the `noises` of arms and `degrees` of freedom. `controls` stand the inner ones first; they look
    back over `span` rounds, and missed rounds are made up for at a distance of `spacing`. `delays` are those of all
    rewards, -1 for one that never comes; with `narrows`, pending decisions narrow what the base reads. Regret at
    `checkpoints` goes into `curve`; if means are `steady`, equal rounds are summed together. With `asks` the caller
    decides in the place of the base, by `play_arm`, whenever a round is `waiting` for it.
    """

    cdef Model model, exploring_model
    cdef Model base_model                      # the one of the two that the base reads
    cdef Base base
    cdef Controls controls
    cdef LateRewards late                      # None: rewards come at once
    cdef double degrees
    cdef bint always, random_ties, own_clock, keeps_state
    cdef bint scheduled                        # does the base leave rounds to the model's greedy arm?
    cdef bint asks, playing
    cdef readonly bint waiting                 # is the arm of the next round the caller's to choose?
    cdef int64_t K
    cdef object _reward_rng, _rng
    cdef const double[::1] _noises
    # The stretch under way
    cdef int64_t first, last, row, turn        # its rounds; which means hold, and how many rounds were due before
    cdef bint due                              # is the next round due to explore?
    cdef const int64_t[::1] _exploring, _ends
    cdef const double[:, ::1] _means, _offered, _table
    cdef double[::1] _gaps, _policy_state, _proposed_state

    def __cinit__(self, Model model not None, Base base not None, Law law, noises, reward_rng, rng,
                  int64_t horizon, checkpoints, *, Model explored=None, bint own_clock=False, bint always=False,
                  bint random_ties=False, double degrees=0.0, controls=(), int64_t spacing=1, int64_t span=0,
                  delays=None, bint narrows=False, bint steady=False, bint record=False, bint asks=False):
        cdef Settings *settings = &base.settings
        self.K = model.arms
        if self.K < 1:
            raise ValueError("a model must have an arm")
        if explored is not None and not explored.is_apart_from(model):
            raise ValueError("explored must be another model of this kind, over as many features and arms")
        if asks and (always or delays is not None):
            raise ValueError("a base that decides always and delays leave no round to the caller")
        if len(controls) > 0 and isinstance(model, LassoModel):
            raise ValueError("controls read estimates of ridge regression or of an estimator in its place")
        self._begin(law, self.K, horizon, checkpoints, record)
        self.model, self.exploring_model = model, explored
        self.base_model = model if explored is None else explored
        self.base, self.degrees, self.steady = base, degrees, steady
        self.always, self.random_ties, self.own_clock, self.asks = always, random_ties, own_clock, asks
        self.scheduled = not always and not isinstance(model, LassoModel)
        self._reward_rng, self._rng = reward_rng, rng
        self._noises = np.array(noises, dtype=np.float64)
        if self._noises.shape[0] != self.K:
            raise ValueError(f"there must be {self.K} noises, got {len(noises)}")
        self._gaps = np.zeros(self.K)
        self.keeps_state = settings.wrap == GREEDY_FIRST or settings.kind == RARELY_SWITCHING
        self._policy_state = np.zeros(STATE_SIZE + model.dim)
        self._proposed_state = np.zeros(STATE_SIZE + model.dim)
        self.controls = Controls(controls, model, spacing, span, horizon)
        if delays is not None:
            self.late = LateRewards(delays, horizon, model.dim, model.changing)
        reads_widths = settings.reads == READS_WIDTHS or settings.kind in (LINTS, LINTS_SPHERICAL, HYBRID_TS)
        self.base_model.prepare(base, narrows and self.late is not None and reads_widths)

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all rounds."""
        return self.model.log_det_ratio

    def play(self, int64_t first, int64_t last, const int64_t[::1] exploring, const int64_t[::1] ends,
             const double[:, ::1] means, offers=None, pauses=(), rewards=None):
        """Plays rounds `first` to `last`, or up to one that is `waiting` for the caller.

        `exploring` are those in which the base decides. A row of `means`, (rows, K), holds until the round that `ends`
        has for it. `offers` are the arms of all these rounds, (rounds, d, K), or contexts, (rounds, c), where they
        change; `pauses` are the rounds in which each control pauses; `rewards`, (rounds, K), those of all arms where
        the law is TABLE.
        """
        cdef int64_t rounds = last - first + 1
        if self.waiting or self.playing:
            raise ValueError(f"round {self.next_round} is not played yet")
        if last < first:
            raise ValueError(f"there must be a round to play, got {first} to {last}")
        self.check_next(first, last)
        if means.shape[1] != self.K or means.shape[0] != ends.shape[0] or ends.shape[0] == 0:
            raise ValueError(f"means must be as many rows of {self.K} as there are ends, got {np.shape(means)}")
        if ends[ends.shape[0] - 1] < last:
            raise ValueError(f"means must hold until round {last}, got {ends[ends.shape[0] - 1]}")
        cdef const double[:, ::1] offered = self._check_offers(offers, rounds)
        cdef const double[:, ::1] table = self.check_table(rewards, rounds)
        check_rounds("exploring", exploring, first, last)
        self.controls.set_pauses(pauses, first, last)
        self._exploring, self._ends, self._means, self._offered, self._table = exploring, ends, means, offered, table
        self.first, self.last, self.row, self.turn = first, last, -1, 0
        self._play_on(-1, False, NULL)

    def play_arm(self, int64_t arm, bint explores, features=None):
        """Plays the round that is waiting by an arm that the caller chose, and those after it; False: it was refused.

        A control may refuse an arm that `explores`; the greedy one is played then. The reward is learnt on `features`,
        (d,), in the place of those of the arm, if they are given.
        """
        cdef const double[::1] other = np.zeros(0)
        if not self.waiting or self.playing:
            raise ValueError("no round is waiting for an arm")
        if not 0 <= arm < self.K:
            raise InvalidChoice(f"arm must be from 0 to {self.K - 1}, got {arm}")
        if features is not None:
            other = np.array(features, dtype=np.float64)
            if other.shape[0] != self.model.dim or not np.isfinite(other).all():
                raise ValueError(f"features must be {self.model.dim} finite numbers, got {features!r}")
        self.waiting = False
        return self._play_on(arm, explores, &other[0] if features is not None else NULL)

    cdef bint _play_on(self, int64_t arm, bint explores, const double *features) except -1:
        """Plays the stretch under way, the first round by `arm` unless that is -1; False if that was refused."""
        cdef bitgen_t *reward_rng = bits_of(self._reward_rng)
        cdef bitgen_t *rng = bits_of(self._rng)
        cdef bint accepted = True
        self.playing = True
        try:
            with nogil:
                if arm >= 0:
                    accepted = self._play_chosen(arm, explores, features, reward_rng, rng)
                self._play(reward_rng, rng)
        finally:
            self.playing = False
            if self.model.changing:
                self._offer(NULL)  # what was offered belongs to the caller
        return accepted

    cdef const double[:, ::1] _check_offers(self, offers, int64_t rounds):
        """What each round offers, in a row; nothing where arms stay."""
        if not self.model.changing:
            return np.zeros((0, 1))
        shape = (rounds, *self.model.offer_shape)
        found = np.ascontiguousarray(np.zeros(0) if offers is None else offers, dtype=np.float64)
        if found.shape != shape:
            raise ValueError(f"arms or contexts must be {shape}, got {found.shape}")
        return found.reshape(rounds, -1)

    cdef int _play(self, bitgen_t *reward_rng, bitgen_t *rng) except -1 nogil:
        """Plays the rounds of the stretch that are left, or up to one that the caller decides."""
        cdef int64_t t, turns = self._exploring.shape[0], arm
        cdef bint explores
        while self.next_round <= self.last:
            # The request: what is on offer, and whether the round is due to explore
            t = self.next_round
            while self.row < 0 or (t > self._ends[self.row] and self.row + 1 < self._ends.shape[0]):
                self.row += 1
                set_gaps(&self._means[self.row, 0], self.K, &self._gaps[0])
            if self.model.changing:
                self._offer(&self._offered[t - self.first, 0])
            self.due = self.always or (self.turn < turns and self._exploring[self.turn] == t)
            self.turn += self.due
            # The choice, on the posterior of what is on offer
            arm = self._choose(t, rng, &explores)
            if self.waiting:
                return 0
            self._end_round(t, arm, explores, NULL, reward_rng)
        return 0

    cdef bint _play_chosen(self, int64_t arm, bint explores, const double *features, bitgen_t *reward_rng,
                           bitgen_t *rng) except -1 nogil:
        """Plays the round that was waiting by an arm; False if a control refuses it."""
        cdef int64_t t = self.next_round
        cdef bint explored = explores
        if self.model.changing:
            self._offer(&self._offered[t - self.first, 0])
        if explores:
            arm = self._judge(t, arm, rng, &explored)
        self._end_round(t, arm, explored, features if explored == explores else NULL, reward_rng)
        return explored == explores

    cdef int _end_round(self, int64_t t, int64_t arm, bint explores, const double *features,
                        bitgen_t *rng) except -1 nogil:
        """The reward of the arm of round t, and the update by it, on `features` if they are given, or by those due."""
        cdef const double *given = NULL
        cdef double reward
        if not 0 <= arm < self.K:
            with gil:
                raise InvalidChoice(
                    f"no arm has a finite score in round {t}: are the settings of the policy too large, or "
                    "is the penalty too small?"
                )
        if self.law == TABLE:
            given = &self._table[t - self.first, 0]
        reward = self._draw(arm, self._means[self.row, arm], given, rng)
        self.next_round = t + 1
        if features is NULL:
            return self._learn(t, arm, explores, reward, self.model.row(arm), True)
        return self._learn(t, arm, explores, reward, features, False)

    cdef void _offer(self, const double *offered) noexcept nogil:
        """The arms or the context of a round, for both models."""
        self.model.offer(offered)
        if self.exploring_model is not None:
            self.exploring_model.offer(offered)

    cdef int64_t _choose(self, int64_t t, bitgen_t *rng, bint *explores) noexcept nogil:
        """The arm of the base in a round that may explore, the greedy one in others; -1 if no score is a number.

        A base in whose place the caller decides lets the round wait.
        """
        cdef int64_t objection = self.controls.objection(t, self.due), arm
        if objection != MAY_EXPLORE:
            return self._rest(objection, rng, explores)
        if self.asks:
            self.waiting = True
            return -1
        arm = self._ask_base(t, rng, explores)
        return self._judge(t, arm, rng, explores)

    cdef int64_t _judge(self, int64_t t, int64_t arm, bitgen_t *rng, bint *explores) noexcept nogil:
        """The arm of the base, unless a control refuses it; then the greedy one."""
        cdef int64_t refusal = MAY_EXPLORE
        cdef double loss = 0.0
        if self.controls.count > 0 and 0 <= arm < self.K:
            loss = self.model.estimated_loss(arm)
            refusal = self.controls.refusal(t, loss)
        if refusal != MAY_EXPLORE:
            return self._rest(refusal, rng, explores)
        if self.keeps_state:
            memcpy(&self._policy_state[0], &self._proposed_state[0], self._policy_state.shape[0] * sizeof(double))
        if explores[0]:
            self.controls.explore(t, self.due, loss)
            self.different += self.scheduled and arm != self.model.greedy_arm(False, NULL)
        return arm

    cdef int64_t _rest(self, int64_t control, bitgen_t *rng, bint *explores) noexcept nogil:
        """The greedy arm, in a round that is not due or that a control keeps from exploring."""
        if control >= 0:
            self.controls.skip(control, self.due)
        explores[0] = False
        return self.model.greedy_arm(self.random_ties, rng)

    cdef int64_t _ask_base(self, int64_t t, bitgen_t *rng, bint *explores) noexcept nogil:
        """The arm of the base, and its state after that, which holds unless a control refuses the arm."""
        cdef int64_t arm
        if self.keeps_state:
            memcpy(&self._proposed_state[0], &self._policy_state[0], self._policy_state.shape[0] * sizeof(double))
        arm = self.base_model.choose(
            &self.base.settings, &self._proposed_state[0], self.controls.done + 1 if self.own_clock else t, rng,
            explores,
        )
        explores[0] = explores[0] or not self.always
        return arm

    cdef double _draw(self, int64_t arm, double mean, const double *given, bitgen_t *rng) noexcept nogil:
        """The reward of an arm of that mean; one of those that are `given`, (K,), if they are."""
        return draw(self.law, mean, self._noises[arm], self.degrees, rng) if given is NULL else given[arm]

    cdef int _learn(self, int64_t t, int64_t arm, bint explores, double reward, const double *x,
                    bint is_arm) except -1 nogil:
        """Ends round t: models learn from its reward on x, or, where rewards come late, from those that are due."""
        cdef int64_t past
        if not isfinite(reward):
            with gil:
                raise InvalidReward(f"the law of rewards must give a finite number; in round {t} it gave {reward}")
        self.record(t, arm, reward, self._gaps[arm])
        self.count(t, arm, explores, self._gaps[arm], 1)
        if t == self.horizon:
            self.flush()
        self.model.set_warm_start()
        if explores and self.exploring_model is not None:
            self.exploring_model.set_warm_start()
        if self.late is None:
            return self._update(arm, x, reward, explores, is_arm)
        self.late.add(t, arm, x, reward, explores, self.model.information(arm))
        self._add_pending(t - 1, x, 1)
        past = self.late.arrival(t)
        while past >= 0:
            arm = self.late.arms[past]
            x = &self.late.rows[past, 0] if self.model.changing else self.model.row(arm)
            self._add_pending(past, x, -1)
            self._update(arm, x, self.late.rewards[past], self.late.explored[past], True)
            past = self.late.arrival(t)
        return 0

    cdef void _add_pending(self, int64_t decision, const double *x, int64_t sign) noexcept nogil:
        """A decision is pending from now on (1), or no more (-1), for the model that the base reads."""
        if self.exploring_model is None or self.late.explored[decision]:
            self.base_model.add_pending(self.late.arms[decision], x, self.late.weights[decision], sign)

    cdef int _update(self, int64_t arm, const double *x, double reward, bint explored, bint is_arm) except -1 nogil:
        self.model.update(arm, x, reward, is_arm)
        if explored and self.exploring_model is not None:
            self.exploring_model.update(arm, x, reward, is_arm)
        return 0
