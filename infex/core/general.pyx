"""The general loop of whole runs: round by round, over problems of every kind.

It plays what the loop over fixed arms has no room for: arms that are drawn anew, means that move, any law of
rewards, rewards that come late, other estimators than ridge, controls around a schedule, and policies that take
notes of their own choices.
"""

import numpy as np

from infex.errors import InvalidChoice, InvalidReward

from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy
from numpy.random cimport bitgen_t

from infex.core.choosing cimport (
    GREEDY_FIRST, HYBRID_TS, LINTS, LINTS_SPHERICAL, NOTES, RARELY_SWITCHING, READS_SCORES, READS_WIDTHS, Base,
    Reads, Settings, bits_of, choose, confidence_radius, greedy_arm, to_probabilities,
)
from infex.core.estimators cimport Fit
from infex.core.pending cimport Pending
from infex.core.ridge cimport Ridge, State, absorb, estimates, larger, learn, log_det_ratio, product
from infex.core.ridge cimport square_widths, upper, whole_sums
from infex.core.runs cimport TABLE, Law, Outcome, check_rounds, draw, set_gaps

cdef extern from "<math.h>" nogil:
    double INFINITY


cpdef enum ControlKind:
    LIMITS     # at most `limit` explorations, of all rounds or of the last `over`
    GUARDS     # at most `limit` of estimated loss
    CERTAINTY  # none once the greedy arm's lower bound exceeds every other arm's upper bound
    PAUSES     # none in the rounds of a list


cdef struct ControlState:
    ControlKind kind
    bint makes_up                       # is a round that it keeps from exploring made up for later?
    bint stopped                        # does it forbid all further explorations?
    double limit
    int64_t over                        # rounds that it looks back; 0: all
    double noise, bound, delta, scale   # of the confidence radius
    int64_t first, last                 # where its pauses stand among those of all controls


cdef class Control:
    """What may keep a round that is due from exploring.

    `makes_up`: is such a round made up for later? `limit` is that of explorations or of their estimated loss, over
    the last `over` rounds, or all if that is 0. `noise`, `bound`, `delta` and `scale` are of the confidence radius.
    """

    cdef ControlState state

    def __cinit__(self, ControlKind kind, bint makes_up=False, double limit=0.0, int64_t over=0, double noise=0.0,
                  double bound=0.0, double delta=1.0, double scale=0.0):
        if not LIMITS <= kind <= PAUSES:
            raise ValueError(f"there is no control of kind {<int>kind}")
        if over < 0:
            raise ValueError(f"a control looks back over 0 rounds or more, got {over}")
        self.state = ControlState(kind, makes_up, False, limit, over, noise, bound, delta, scale, 0, 0)


cdef enum:
    OPEN = -1           # no control objects
    RESTS = -2          # nothing was to happen in this round
    MOST_CONTROLS = 16


cdef class Learner:
    """One regression of a run: a ridge, or another estimator in its place; of all rounds, or of some."""

    cdef Ridge ridge
    cdef Fit fit
    cdef bint changing, stale   # do widths lag behind the estimator's last solution?
    cdef double[::1] weights, search

    def __cinit__(self, Ridge ridge not None, bint changing=False, Fit fit=None, weights=None, bint late=False):
        cdef State *s = &ridge.state
        self.ridge, self.fit, self.changing = ridge, fit, changing
        if fit is None:
            return
        if fit.dim != s.d:
            raise ValueError(f"an estimator of {fit.dim} features cannot learn {s.d}")
        self.weights = np.ones(s.K) if weights is None else np.array(weights, dtype=np.float64)
        if self.weights.shape[0] != s.K:
            raise ValueError(f"there must be {s.K} weights, got {len(weights)}")
        self.search = np.zeros(s.d if late and fit.search_start >= 0 else 0)
        self._fit(s.x, 0.0, 0.0)

    cdef int _fit(self, const double *x, double reward, double weight) except -1 nogil:
        """The estimator takes in a reward, searching from the estimate of the last decision."""
        cdef State *s = &self.ridge.state
        if self.search.shape[0] > 0:
            memcpy(self.fit.numbers + self.fit.search_start, &self.search[0], s.d * sizeof(double))
        s.run.log_det_ratio = self.fit.take(x, reward, weight, s.M)
        if not self.changing:
            product(s.columns, s.K, s.theta, s.d, s.scores)
        self.stale = True
        return 0

    cdef int learn(self, int64_t arm, const double *x, double reward, bint named) except -1 nogil:
        """Takes in the reward of an arm with features x, or, if it is `named`, of x that is no arm."""
        cdef State *s = &self.ridge.state
        s.told += 1.0
        if not (self.changing or named):
            s.pulls[arm] += 1.0
            s.rewards[arm] += reward
        if self.fit is not None:
            return self._fit(x, reward, self.weights[arm])
        if self.changing or named:
            absorb(s, x, reward, 1.0)
        else:
            learn(s, arm, reward)
        return 0

    cdef void remember_search(self) noexcept nogil:
        """A decision was taken: the next search starts from the present estimate, whatever arrives meanwhile."""
        if self.search.shape[0] > 0:
            memcpy(&self.search[0], self.fit.numbers + self.fit.search_start, self.ridge.state.d * sizeof(double))

    cdef void score(self, Reads reads) noexcept nogil:
        """Brings scores and squared widths up to date, as far as they are read."""
        cdef State *s = &self.ridge.state
        if self.changing and reads >= READS_SCORES:
            product(s.columns, s.K, s.theta, s.d, s.scores)
        if reads == READS_WIDTHS and (self.changing or self.stale):
            square_widths(s.columns, s.K, s.M, s.d, s.squares, s.along, s.floors)
            self.stale = False


cdef class GeneralRun(Outcome):
    """One run of a policy; `play` goes on with it.

    `ridge` has the fixed arms as columns; if `changing`, as many columns as there are arms in a round. `base` decides
    in exploring rounds, or `always`. `explored` is a ridge for a base that reads exploring rounds alone; with
    `own_clock` it counts only these. `fits` are estimators in the place of the ridges, with the weight of each arm's
    rewards; if `linked`, their scores are log-odds. Rewards are drawn by `law` with the `noises` of arms and
    `degrees` of freedom. `controls` stand the inner ones first; they
    look back over `span` rounds, and missed rounds are made up for at a distance of `spacing`. `delays`
    are those of all rewards, -1 for one that never comes; with `narrows`, pending decisions narrow what exploring
    reads. Regret at `checkpoints` goes into `curve`; if means are `steady`, equal rounds are summed together.
    """

    cdef Learner every_round, exploring_rounds
    cdef Learner base_data            # the one of the two that the base reads
    cdef Ridge narrowed               # what it reads with pending decisions in V
    cdef Base base
    cdef double degrees
    cdef bint changing, always, random_ties, own_clock, linked, late, takes_notes
    cdef int64_t d, K, spacing, span, arrived, n_controls
    cdef int64_t given_arm                     # the caller's, in the place of the base; -1 if it gave none
    cdef bint given_explores
    cdef double[::1] given_x                   # what its reward is learnt on, if that is not the arm itself
    cdef object _reward_rng, _rng
    cdef ControlState controls[MOST_CONTROLS]
    cdef int64_t done, owed, latest, held      # explorations: of all, to be made up for, and in `_recent`
    cdef double cost                           # their estimated loss
    cdef double[:, ::1] _recent                # rounds and losses of the latest
    cdef const double[::1] _noises
    cdef const int64_t[::1] _order, _due
    cdef double[::1] _gaps, _notes, _tentative, _x, _waiting_rewards, _waiting_weights
    cdef double[:, ::1] _waiting_x
    cdef int64_t[::1] _waiting_arms
    cdef uint8_t[::1] _waiting_explored
    cdef Pending pending, pending_explored, read_pending

    def __cinit__(self, Ridge ridge not None, Base base not None, Law law, noises, reward_rng, rng,
                  int64_t horizon, checkpoints, *, bint changing=False, Ridge explored=None, bint own_clock=False,
                  fits=(None, None), weights=None, bint linked=False, bint always=False, bint random_ties=False,
                  double degrees=0.0, controls=(), int64_t spacing=1, int64_t span=0, delays=None,
                  bint narrows=False, bint steady=False, bint record=False):
        cdef int64_t K = ridge.state.K, d = ridge.state.d
        cdef Settings *settings = &base.settings
        if explored is not None and (explored is ridge or explored.state.K != K or explored.state.d != d):
            raise ValueError("explored must be another ridge over as many features and arms")
        if len(fits) != 2:
            raise ValueError(f"there must be two estimators or Nones, got {len(fits)}")
        if fits[0] is not None and fits[0] is fits[1]:
            raise ValueError("each ridge needs an estimator of its own")
        if span < 0 or spacing < 1:
            raise ValueError(f"spacing and span must be at least 1 and 0, got {spacing} and {span}")
        self._begin(law, K, horizon, checkpoints, record)
        self.late = delays is not None
        self.every_round = Learner(ridge, changing, fits[0], weights, self.late)
        self.exploring_rounds = None if explored is None else Learner(explored, changing, fits[1], weights, self.late)
        self.base_data = self.every_round if explored is None else self.exploring_rounds
        self.base, self.degrees, self.linked, self.steady = base, degrees, linked, steady
        self.given_arm, self.given_x = -1, np.zeros(0)
        self.changing, self.always, self.random_ties, self.own_clock = changing, always, random_ties, own_clock
        self.d, self.K = d, K
        self._reward_rng, self._rng = reward_rng, rng
        self._noises = np.array(noises, dtype=np.float64)
        if self._noises.shape[0] != K:
            raise ValueError(f"there must be {K} noises, got {len(noises)}")
        self.takes_notes = settings.wrap == GREEDY_FIRST or settings.kind == RARELY_SWITCHING
        self._notes, self._tentative = np.zeros(NOTES + d), np.zeros(NOTES + d)
        self._gaps, self._x = np.zeros(K), np.zeros(d)
        self._set_controls(controls, spacing, span)
        self._set_delays(delays, narrows)

    cdef int _set_controls(self, controls, int64_t spacing, int64_t span) except -1:
        cdef Control control
        if len(controls) > MOST_CONTROLS:
            raise ValueError(f"at most {MOST_CONTROLS} controls can be played, got {len(controls)}")
        for i, each in enumerate(controls):
            control = each
            if control.state.over > span:
                raise ValueError(f"a control cannot look back over {control.state.over} rounds of {span}")
            self.controls[i] = control.state
        self.n_controls, self.spacing, self.span = len(controls), spacing, min(span, self.horizon)
        self._recent = np.zeros((2, max(self.span, 1)))
        return 0

    cdef int _set_delays(self, delays, bint narrows) except -1:
        cdef Settings *base = &self.base.settings
        cdef bint reads = base.reads == READS_WIDTHS or base.kind in (LINTS, LINTS_SPHERICAL, HYBRID_TS)
        cdef int64_t fixed = 0 if self.changing or self.linked else self.K
        rounds = self.horizon if self.late else 0
        given = np.asarray(delays if self.late else [], dtype=np.int64)
        if given.shape != (rounds,):
            raise ValueError(f"there must be a delay for each of {rounds} rounds, got the shape {given.shape}")
        told = np.flatnonzero(given >= 0)
        due = told + 1 + np.minimum(given[told], self.horizon)
        order = np.argsort(due, kind="stable")
        self._order, self._due = told[order], due[order]
        self._waiting_arms, self._waiting_rewards = np.zeros(rounds, np.int64), np.zeros(rounds)
        self._waiting_explored, self._waiting_weights = np.zeros(rounds, np.uint8), np.zeros(rounds)
        self._waiting_x = np.zeros((rounds if self.changing else 0, self.d))
        if self.late and narrows and reads:
            self.pending = Pending(self.d, fixed)
            self.pending_explored = None if self.exploring_rounds is None else Pending(self.d, fixed)
            self.read_pending = self.pending if self.exploring_rounds is None else self.pending_explored
            self.narrowed = Ridge(self.every_round.ridge.columns, self.every_round.ridge.state.penalty, None, False)
        return 0

    def play(self, int64_t first, int64_t last, const int64_t[::1] exploring, const int64_t[::1] ends,
             const double[:, ::1] means, blocks=None, pauses=(), rewards=None):
        """Plays rounds `first` to `last`.

        `exploring` are those in which the base decides. A row of `means`, (rows, K), holds until the round that `ends`
        has for it. `blocks` are the arms of all these rounds, (rounds, d, K), where they change; `pauses` are the
        rounds in which each control pauses; `rewards`, (rounds, K), those of all arms where the law is TABLE.
        """
        cdef const double[:, ::1] table
        cdef const double[:, :, ::1] columns
        cdef const int64_t[::1] resting
        cdef const double *fixed
        cdef bitgen_t *reward_rng = bits_of(self._reward_rng)
        cdef bitgen_t *rng = bits_of(self._rng)
        cdef int64_t rounds = last - first + 1
        if last < first:
            raise ValueError(f"there must be a round to play, got {first} to {last}")
        self.check_next(first, last)
        if means.shape[1] != self.K or means.shape[0] != ends.shape[0] or ends.shape[0] == 0:
            raise ValueError(f"means must be as many rows of {self.K} as there are ends, got {np.shape(means)}")
        if ends[ends.shape[0] - 1] < last:
            raise ValueError(f"means must hold until round {last}, got {ends[ends.shape[0] - 1]}")
        columns = np.zeros((0, 0, 0)) if blocks is None else blocks
        if self.changing and np.shape(columns) != (rounds, self.d, self.K):
            raise ValueError(f"arms must be {(rounds, self.d, self.K)}, got {np.shape(columns)}")
        lists = [np.array(each, dtype=np.int64) for each in pauses]
        if len(lists) != self.n_controls:
            raise ValueError(f"there must be pauses for each of {self.n_controls} controls, got {len(lists)}")
        resting = np.concatenate([np.zeros(0, np.int64), *lists])
        start = 0
        for i, each in enumerate(lists):
            check_rounds("pauses", each, first, last)
            self.controls[i].first, self.controls[i].last = start, start + len(each)
            start += len(each)
        check_rounds("exploring", exploring, first, last)
        table = self.check_table(rewards, rounds)
        self.next_round = last + 1
        fixed = self.every_round.ridge.state.columns
        try:
            with nogil:
                self._play(first, last, exploring, ends, means, columns, resting, table, reward_rng, rng)
        finally:  # drawn arms belong to the caller
            self.every_round.ridge.state.columns = self.base_data.ridge.state.columns = fixed
            if self.narrowed is not None:
                self.narrowed.state.columns = fixed

    def play_arm(self, int64_t arm, bint explores, means, columns=None, rewards=None, features=None):
        """Plays the next round with an arm that the caller chose on what is learnt so far.

        `means` are those of the round, (K,), and so are `columns`, (d, K), where arms change, and `rewards`, (K,).
        The reward is learnt on `features`, (d,), in the place of those of the arm, if they are given. It is for a run
        without controls or delays whose base does not decide `always`.
        """
        t = np.array([self.next_round])
        if not 0 <= arm < self.K:
            raise InvalidChoice(f"arm must be from 0 to {self.K - 1}, got {arm}")
        if self.always or self.late or self.n_controls > 0:
            raise ValueError("a base that decides always, delays and controls leave no round to the caller")
        if features is not None and (np.shape(features) != (self.d,) or not np.isfinite(features).all()):
            raise ValueError(f"features must be {self.d} finite numbers, got {features!r}")
        self.given_arm, self.given_explores = arm, explores
        self.given_x = np.zeros(0) if features is None else np.array(features, dtype=np.float64)
        try:
            self.play(
                t[0], t[0], t, t, np.asarray(means)[None], None if columns is None else np.asarray(columns)[None],
                rewards=None if rewards is None else np.asarray(rewards)[None],
            )
        finally:
            self.given_arm, self.given_x = -1, np.zeros(0)

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all rounds."""
        return log_det_ratio(&self.every_round.ridge.state)

    cdef int _play(self, int64_t first, int64_t last, const int64_t[::1] exploring, const int64_t[::1] ends,
                   const double[:, ::1] means, const double[:, :, ::1] columns, const int64_t[::1] pauses,
                   const double[:, ::1] table, bitgen_t *reward_rng, bitgen_t *rng) except -1 nogil:
        cdef State *s = &self.every_round.ridge.state
        cdef State *read = &self.base_data.ridge.state
        cdef int64_t t, row = -1, turn = 0, turns = exploring.shape[0], arm, verdict, best
        cdef bint due, explores, scored
        cdef double loss, reward
        cdef Reads read_by_controls = self._read_by_controls()
        for t in range(first, last + 1):
            if row < 0 or t > ends[row]:
                row += 1
                set_gaps(&means[row, 0], self.K, &self._gaps[0])
            if self.changing:
                s.columns = read.columns = &columns[t - first, 0, 0]
            due = self.always or (turn < turns and exploring[turn] == t)
            turn += due
            verdict, arm, explores, loss, scored = OPEN, -1, False, 0.0, not self.changing
            if not due and self.owed == 0:
                verdict = RESTS
            elif self.n_controls > 0:
                self.every_round.score(read_by_controls)
                scored = True
                verdict = self._objection(t, due, pauses)
            if verdict == OPEN:
                if self.given_arm >= 0:
                    arm, explores = self.given_arm, self.given_explores
                else:
                    arm = self._ask(t, rng, &explores)
                    explores = explores or not self.always
                if self.n_controls > 0 and 0 <= arm < self.K:
                    best = greedy_arm(s, self.linked, False, rng)
                    loss = max(s.room[best] - s.room[arm], 0.0) if best >= 0 else 0.0
                    verdict = self._refusal(t, loss)
            if verdict == OPEN:
                if self.takes_notes:
                    memcpy(&self._notes[0], &self._tentative[0], self._notes.shape[0] * sizeof(double))
                if explores:
                    self._count_exploration(t, due, loss)
            else:
                explores = False
                if not scored:
                    self.every_round.score(READS_SCORES)
                    scored = True
                arm = greedy_arm(s, self.linked, self.random_ties, rng)
                if verdict >= 0:
                    self._skip(verdict, due)
            if not 0 <= arm < self.K:
                with gil:
                    raise InvalidChoice(
                        f"no arm has a finite score in round {t}: are the settings of the policy too large, or "
                        "is the penalty too small?"
                    )
            if self.law == TABLE:
                reward = table[t - first, arm]
            else:
                reward = draw(self.law, means[row, arm], self._noises[arm], self.degrees, reward_rng)
            if not isfinite(reward):
                with gil:
                    raise InvalidReward(
                        f"the law of rewards must give a finite number; in round {t} it gave {reward}"
                    )
            self.note(t, arm, reward, self._gaps[arm])
            self.enter(t, arm, explores, self._gaps[arm], 1)
            self._learn(t, arm, explores, reward, scored)
        if last == self.horizon:
            self.close()
        return 0

    # What decides

    cdef int64_t _ask(self, int64_t t, bitgen_t *rng, bint *explored) noexcept nogil:
        """The arm of the base, which reads with pending decisions in V; its notes are tentative."""
        cdef Settings *base = &self.base.settings
        cdef State *read = &self.base_data.ridge.state
        if self.takes_notes:
            memcpy(&self._tentative[0], &self._notes[0], self._notes.shape[0] * sizeof(double))
        if self.read_pending is not None and self.read_pending.count > 0:
            read = self._narrowed()
        else:
            self.base_data.score(base.reads)
        return choose(
            base, read, self.linked, &self._tentative[0], self.done + 1 if self.own_clock else t, rng, explored
        )

    cdef State *_narrowed(self) noexcept nogil:
        """What the base reads with all that is pending in V."""
        cdef State *s = &self.base_data.ridge.state
        cdef State *out = &self.narrowed.state
        cdef int64_t size = 2 * (s.d + 1) * s.d
        out.columns, out.pulls, out.rewards, out.told = s.columns, s.pulls, s.rewards, s.told
        self.read_pending.narrow(s, out)
        whole_sums(s)
        memcpy(out.sums, s.whole, size * sizeof(double))
        if self.base.settings.reads == READS_WIDTHS:
            square_widths(out.columns, out.K, out.M, out.d, out.squares, out.along, out.floors)
        if not self.changing:
            estimates(s.scores, s.along, s.K, s.run.phi, out.scores)
        elif self.base.settings.reads >= READS_SCORES:
            product(out.columns, out.K, out.theta, out.d, out.scores)
        return out

    cdef Reads _read_by_controls(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_controls):
            if self.controls[i].kind == CERTAINTY:
                return READS_WIDTHS
        return READS_SCORES

    cdef int64_t _objection(self, int64_t t, bint due, const int64_t[::1] pauses) noexcept nogil:
        """OPEN if round t may explore, RESTS if nothing was to happen, else the control that objects."""
        cdef ControlState *control
        cdef int64_t i
        if not due and (self.owed == 0 or not (self.spacing == 1 or self._count_since(t - self.spacing + 1) == 0)):
            return RESTS
        for i in range(self.n_controls):  # first those that say which rounds are due
            control = &self.controls[i]
            if control.kind == LIMITS:
                if (self.done if control.over == 0 else self._count_since(t - control.over + 1)) >= control.limit:
                    return RESTS
        for i in range(self.n_controls):
            control = &self.controls[i]
            if control.kind == PAUSES:
                if self._pauses_at(pauses, control.first, control.last, t):
                    return i
            elif control.kind != LIMITS and (
                control.stopped or (control.kind == CERTAINTY and self._is_certain(control))
            ):
                return i
        return OPEN

    cdef int64_t _refusal(self, int64_t t, double loss) noexcept nogil:
        """The control that refuses an arm of that estimated loss; OPEN if none does."""
        cdef ControlState *control
        cdef int64_t i
        for i in range(self.n_controls):
            control = &self.controls[i]
            if control.kind == GUARDS:
                if (self.cost if control.over == 0 else self._cost_since(t - control.over + 1)) + loss > control.limit:
                    return i
        return OPEN

    cdef bint _is_certain(self, const ControlState *control) noexcept nogil:
        """Does the greedy arm's lower bound exceed every other arm's upper bound?"""
        cdef State *s = &self.every_round.ridge.state
        cdef double beta = control.scale * confidence_radius(s, control.noise, control.bound, control.delta)
        cdef double lower, top = -INFINITY
        cdef int64_t best = greedy_arm(s, self.linked, False, NULL), k
        if best < 0:
            return False
        self._bounds(-beta)
        lower = s.room[best]
        self._bounds(beta)
        for k in range(self.K):
            if k != best:
                top = larger(top, s.room[k])
        return lower > top

    cdef void _bounds(self, double beta) noexcept nogil:
        cdef State *s = &self.every_round.ridge.state
        upper(s.scores, s.squares, s.along, s.K, s.run.phi, s.run.psi, beta, s.room)
        if self.linked:
            to_probabilities(s.room, s.K)

    cdef bint _pauses_at(self, const int64_t[::1] pauses, int64_t low, int64_t end, int64_t t) noexcept nogil:
        """Is t among the rising rounds `pauses[low:end]`?"""
        cdef int64_t high = end, middle
        while low < high:
            middle = (low + high) // 2
            if pauses[middle] < t:
                low = middle + 1
            else:
                high = middle
        return low < end and pauses[low] == t

    cdef void _skip(self, int64_t control_index, bint due) noexcept nogil:
        """A control keeps a round from exploring: it may stop for good, and what was due may be owed.

        What is certain of arms that are drawn anew is certain in this round alone.
        """
        cdef ControlState *control = &self.controls[control_index]
        if (control.kind == CERTAINTY and not self.changing) or (control.kind == GUARDS and control.over == 0):
            control.stopped = True
        if due and control.makes_up:
            self.owed += 1

    cdef void _count_exploration(self, int64_t t, bint due, double loss) noexcept nogil:
        self.done += 1
        self.cost += loss
        if not due:
            self.owed -= 1
        if self.span > 0:
            self.latest = (self.latest + 1) % self.span
            self._recent[0, self.latest], self._recent[1, self.latest] = t, loss
            self.held = min(self.held + 1, self.span)

    cdef int64_t _count_since(self, int64_t t) noexcept nogil:
        """How many explorations there were from round t on."""
        cdef int64_t found = 0
        while found < self.held and self._recent[0, (self.latest - found + self.span) % self.span] >= t:
            found += 1
        return found

    cdef double _cost_since(self, int64_t t) noexcept nogil:
        """What they cost, summed from the first on."""
        cdef int64_t back
        cdef double cost = 0.0
        for back in range(self._count_since(t) - 1, -1, -1):
            cost += self._recent[1, (self.latest - back + self.span) % self.span]
        return cost

    # What happens

    cdef int _learn(self, int64_t t, int64_t arm, bint explores, double reward, bint scored) except -1 nogil:
        """Learns from the reward, or, where rewards come late, from those that are due."""
        cdef double *x = &self._x[0]
        cdef int64_t past
        self._read_features(arm, x)
        if self.given_x.shape[0] > 0:
            x = &self.given_x[0]
        if not self.late:
            return self._learn_one(arm, x, reward, explores)
        self.every_round.remember_search()
        if explores and self.exploring_rounds is not None:
            self.exploring_rounds.remember_search()
        self._wait(t - 1, arm, x, reward, explores, scored)
        while self.arrived < self._order.shape[0] and self._due[self.arrived] <= t:
            past = self._order[self.arrived]
            arm, reward, explores = (
                self._waiting_arms[past], self._waiting_rewards[past], self._waiting_explored[past]
            )
            if self.changing:
                memcpy(x, &self._waiting_x[past, 0], self.d * sizeof(double))
            else:
                self._read_features(arm, x)
            self._expect(past, x, -1)
            self.arrived += 1
            self._learn_one(arm, x, reward, explores)
        return 0

    cdef void _read_features(self, int64_t arm, double *x) noexcept nogil:
        cdef const double *columns = self.every_round.ridge.state.columns
        cdef int64_t i
        for i in range(self.d):
            x[i] = columns[i * self.K + arm]

    cdef int _learn_one(self, int64_t arm, const double *x, double reward, bint explored) except -1 nogil:
        self.every_round.learn(arm, x, reward, self.given_x.shape[0] > 0)
        if explored and self.exploring_rounds is not None:
            self.exploring_rounds.learn(arm, x, reward, self.given_x.shape[0] > 0)
        return 0

    cdef void _wait(self, int64_t decision, int64_t arm, const double *x, double reward, bint explores,
                    bint scored) noexcept nogil:
        """A decision is pending; where scores are log-odds it will tell as much of theta as p (1 - p)."""
        cdef double p = 1.0
        self._waiting_arms[decision], self._waiting_rewards[decision] = arm, reward
        self._waiting_explored[decision], self._waiting_weights[decision] = explores, 1.0
        if self.changing:
            memcpy(&self._waiting_x[decision, 0], x, self.d * sizeof(double))
        if self.linked:
            if not scored:
                self.every_round.score(READS_SCORES)
            p = self.every_round.ridge.state.scores[arm]
            to_probabilities(&p, 1)
            self._waiting_weights[decision] = p * (1.0 - p)
        self._expect(decision, x, 1)

    cdef void _expect(self, int64_t decision, const double *x, int64_t times) noexcept nogil:
        """A decision is pending from now on (1), or no more (-1)."""
        cdef int64_t arm = self._waiting_arms[decision]
        cdef double weight = self._waiting_weights[decision]
        if self.pending is None:
            return
        if self.pending.K > 0:
            self.pending.add_arm(arm, times)
        else:
            self.pending.add(x, weight, times)
        if self.pending_explored is not None and self._waiting_explored[decision]:
            if self.pending.K > 0:
                self.pending_explored.add_arm(arm, times)
            else:
                self.pending_explored.add(x, weight, times)
