"""K ridge regressions of c features each, one for each arm; `bank.pxd` explains their layout."""

import numpy as np

from infex.core.posterior import probabilities, radius_of
from infex.core.ridge import check_factor, check_run, check_sizes, finite_array
from infex.errors import InvalidChoice, InvalidContext, InvalidReward, StalePosterior, UnknownArm

from libc.math cimport isfinite, sqrt
from libc.string cimport memcpy

from infex.core.choosing cimport Radius, radius_at
from infex.core.pairs cimport Pair, add
from infex.core.pending cimport narrow, pending_sum
from infex.core.ridge cimport absorb, add_pulls, best, check_penalty, product, refresh, solve


cdef void add_sums(double *sums, const double *more, int64_t size) noexcept nogil:
    """Adds sums with carries, which stand `size` places behind them, without loss."""
    cdef int64_t at
    cdef Pair v
    for at in range(size):
        v = add(sums[at], sums[size + at] + more[size + at], more[at])
        sums[at] = v.value
        sums[size + at] = v.rest


NOBODY = np.zeros(0, dtype=np.int64)
NO_ROWS = (
    "arms with a regression each are known in a context, not by rows of features: "
    "features.interactions(np.eye(K), context_dim) keeps one regression for all"
)


def block_diagonal(blocks):
    """A matrix with n square blocks, (n, c, c), on its diagonal, and 0 elsewhere, (n c, n c)."""
    count, size = np.shape(blocks)[:2]
    whole = np.zeros((count, size, count, size))
    whole[np.arange(count), :, np.arange(count), :] = blocks
    return whole.reshape(count * size, count * size)


def greedy(const double[::1] scores):
    """The arm of the largest score, the lowest index among ties; -1 if there is none, or none is a number."""
    return best(&scores[0], scores.shape[0]) if scores.shape[0] else -1


def products(columns, vector):
    """x_k'v of every column of a matrix, (n, K), summed in the order in which scores are."""
    cdef const double[:, ::1] x = np.ascontiguousarray(columns, dtype=np.float64)
    cdef const double[::1] v = np.ascontiguousarray(vector, dtype=np.float64)
    found = np.zeros(x.shape[1])
    cdef double[::1] out = found
    if x.shape[0] != v.shape[0]:
        raise ValueError(f"columns must have {v.shape[0]} numbers, got {x.shape[0]}")
    if x.shape[0] and x.shape[1]:
        product(&x[0, 0], x.shape[1], &v[0], v.shape[0], &out[0])
    return found


cdef class RidgeBank:
    """Ridges of `arms` arms on contexts of `features` numbers, each with the `penalty`.

    `sums`, (arms, 2, features + 1, features), are what was learnt before: of each arm sum x x' and below it b, each as
    a sum and a carry; nothing if they are None. `counts`, (2, arms), are how many rewards each arm had, and what they
    add up to; `told` is how many were learnt in all. Every change raises `version`. `sums`, `solved` (M and theta of
    each arm), `runs` and `counts` are views: they change with what is learnt.
    """

    def __cinit__(self, int64_t arms, int64_t features, double penalty=1.0, sums=None):
        cdef double[:, :, :, ::1] truth
        cdef double[:, :, ::1] solved
        cdef double[:, ::1] runs, wide, rooms, vectors, counts
        cdef double[::1] rests
        cdef int64_t k, size
        if arms < 1 or features < 1:
            raise ValueError(f"there must be an arm and a feature, got {arms} and {features}")
        check_penalty(penalty)
        K, c = arms, features
        self.K, self.c = K, c
        self.sums, self.solved = np.zeros((K, 2, c + 1, c)), np.zeros((K, c + 1, c))
        self.runs, self.counts = np.zeros((K, sizeof(Run) // sizeof(double))), np.zeros((2, K))
        if sums is not None:
            self.sums[:] = finite_array("sums", sums, self.sums.shape)
        self._rooms = (
            np.zeros((c + c * (c + 1) // 2, K)), np.zeros((3, K)), np.zeros((4, c)), np.zeros(4 * c * c + 2 * c)
        )
        truth, solved, runs, counts, (wide, rooms, vectors, rests) = (
            self.sums, self.solved, self.runs, self.counts, self._rooms
        )
        self.wide, self.scores, self.widths, self.work = &wide[0, 0], &rooms[0, 0], &rooms[1, 0], &rooms[2, 0]
        s = &self.state
        s.d, s.K, s.scored, s.penalty = c, 0, False, penalty
        s.x, s.p, s.u, s.work = &vectors[0, 0], &vectors[1, 0], &vectors[2, 0], &vectors[3, 0]
        s.rests = &rests[0]
        self.all_sums, self.all_solved, self.all_runs = &truth[0, 0, 0, 0], &solved[0, 0, 0], <Run *>&runs[0, 0]
        self.all_counts = &counts[0, 0]
        for each in (self.sums, self.solved, self.runs, self.counts):
            each.flags.writeable = False  # for Python
        if sums is not None:
            self._renew_all()
            return
        self._renew(0)
        size = (c + 1) * c
        for k in range(1, K):  # the same for every arm of which nothing is known
            memcpy(self.all_solved + k * size, self.all_solved, size * sizeof(double))
            self.all_runs[k] = self.all_runs[0]
            self._turn(k)

    def __reduce__(self):
        return _restored, (
            self.K, self.c, self.state.penalty, np.array(self.sums), np.array(self.solved), np.array(self.runs),
            np.array(self.counts), self.told,
        )

    @property
    def arms(self):
        """K, the number of arms."""
        return self.K

    @property
    def features(self):
        """c, the number of features of each."""
        return self.c

    @property
    def penalty(self):
        """That of each ridge."""
        return self.state.penalty

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all ridges together: the sum of theirs."""
        cdef double total = 0.0
        cdef int64_t k
        for k in range(self.K):
            total += self.all_runs[k].log_det_ratio
        return total

    # Learning

    def update(self, int64_t arm, context, double reward, double weight=1.0):
        """Takes in a reward of an arm in a context."""
        cdef const double[::1] x = row_of(context, self.c)
        self.refuse_arm(arm)
        if not (isfinite(reward) and isfinite(weight)):
            raise InvalidReward(f"a reward and its weight must be finite, got {reward} and {weight}")
        self.learn(arm, &x[0], reward, weight)
        self.count(arm, reward)

    def update_many(self, const int64_t[::1] arms, const int64_t[::1] rows, const double[:, ::1] contexts,
                    const double[::1] rewards, const double[::1] weights):
        """Takes in rewards in their order, of `arms[n]` in the context `contexts[rows[n]]`; arm -1 learns nothing."""
        cdef int64_t n
        refuse_many(arms, rows, contexts, rewards, weights, self.K, self.c)
        for n in range(arms.shape[0]):
            if arms[n] >= 0:
                self.learn(arms[n], &contexts[rows[n], 0], rewards[n], weights[n])
                self.count(arms[n], rewards[n])

    def gather(self, const int64_t[::1] arms, const int64_t[::1] rows, const double[:, ::1] contexts,
               const double[::1] rewards, const double[::1] weights):
        """Takes in the same rewards as sums, from which all is computed anew once: their order does not count."""
        cdef double[::1] carries = np.zeros(self.K)
        cdef int64_t n, k
        cdef Pair total
        refuse_many(arms, rows, contexts, rewards, weights, self.K, self.c)
        if arms.shape[0] == 0:
            return
        for n in range(arms.shape[0]):
            k = arms[n]
            if k >= 0:
                add_pulls(self.point_to(k), &contexts[rows[n], 0], weights[n], weights[n] * rewards[n])
                total = add(self.all_counts[self.K + k], carries[k], rewards[n])
                self.all_counts[k] += 1.0
                self.all_counts[self.K + k], carries[k] = total.value, total.rest
                self.told += 1
        for k in range(self.K):
            self.all_counts[self.K + k] += carries[k]
        self._renew_all()

    def revise(self, int64_t arm, context, double before, after, double weight=1.0):
        """A reward of an arm in a context that was `before` becomes `after`, or was never told (None)."""
        cdef const double[::1] x = row_of(context, self.c)
        self.refuse_arm(arm)
        self.take_out(arm, &x[0], before, after, weight)

    def add(self, const double[:, :, :, ::1] sums, const double[:, ::1] counts, const int64_t[::1] places,
            int64_t told):
        """Adds sums and counts of other arms, `told` rewards in all; each is at a place here, or nowhere (-1)."""
        cdef int64_t size = (self.c + 1) * self.c, k, at
        if (
            sums.shape[0] != places.shape[0] or sums.shape[1] != 2 or sums.shape[2] != self.c + 1
            or sums.shape[3] != self.c or counts.shape[0] != 2 or counts.shape[1] != places.shape[0]
        ):
            raise ValueError(f"sums and counts of {places.shape[0]} arms on {self.c} features are needed")
        for k in range(places.shape[0]):
            if places[k] >= 0:
                self.refuse_arm(places[k])
        for k in range(places.shape[0]):
            at = places[k]
            if at >= 0:
                add_sums(self.all_sums + 2 * at * size, &sums[k, 0, 0, 0], size)
                self.all_counts[at] += counts[0, k]
                self.all_counts[self.K + at] += counts[1, k]
        self.told += told
        self._renew_all()

    def over(self, const int64_t[::1] places):
        """Another bank with what was learnt of the arms at `places`, bit for bit; -1 is a new arm."""
        cdef RidgeBank other = RidgeBank(places.shape[0], self.c, self.state.penalty)
        cdef int64_t size = (self.c + 1) * self.c, k, at
        cdef double left = 0.0
        for k in range(self.K):
            left += self.all_counts[k]
        for k in range(places.shape[0]):
            at = places[k]
            if at < 0:
                continue
            self.refuse_arm(at)
            memcpy(other.all_sums + 2 * k * size, self.all_sums + 2 * at * size, 2 * size * sizeof(double))
            memcpy(other.all_solved + k * size, self.all_solved + at * size, size * sizeof(double))
            other.all_runs[k] = self.all_runs[at]
            other.all_counts[k], other.all_counts[other.K + k] = self.all_counts[at], self.all_counts[self.K + at]
            left -= self.all_counts[at]
            other._turn(k)
        other.told = self.told - <int64_t>left
        return other

    def copy(self):
        """Another with the same numbers."""
        return self.over(np.arange(self.K))

    def restore(self, sums, solved, runs, counts, told):
        """Takes all numbers as they are; they must be finite, and of the shapes that these have here."""
        kept = []
        for name, given, mine in (
            ("sums", sums, self.sums), ("solved", solved, self.solved), ("runs", runs, self.runs),
            ("counts", counts, self.counts),
        ):
            array = finite_array(name, given, mine.shape)
            check_sizes(name, array)
            kept.append((mine, array))
        check_factor(kept[1][1][:, : self.c], self.state.penalty)
        check_run(kept[2][1])
        self.told = told
        for mine, array in kept:
            mine.flags.writeable = True
            mine[:] = array
            mine.flags.writeable = False
        for k in range(self.K):
            self._turn(k)
        self.version += 1

    def put(self, int64_t arm, factor, theta, double log_det_ratio, sums=None):
        """What somebody else has found of an arm: M, theta, log(det V/det V_0) and, if there are any, its sums."""
        cdef const double[:, ::1] M = np.ascontiguousarray(factor, dtype=np.float64)
        cdef const double[::1] b = np.ascontiguousarray(theta, dtype=np.float64)
        cdef const double[:, :, ::1] truth
        cdef int64_t c = self.c
        self.refuse_arm(arm)
        if M.shape[0] != c or M.shape[1] != c or b.shape[0] != c:
            raise ValueError(f"factor and theta must be of {c} features, got {np.shape(factor)} and {np.shape(theta)}")
        if sums is not None:
            truth = np.ascontiguousarray(sums, dtype=np.float64)
            if truth.shape[0] != 2 or truth.shape[1] != c + 1 or truth.shape[2] != c:
                raise ValueError(f"sums must have the shape {(2, c + 1, c)}, got {np.shape(sums)}")
        s = self.point_to(arm)
        memcpy(s.M, &M[0, 0], c * c * sizeof(double))
        memcpy(s.theta, &b[0], c * sizeof(double))
        s.run.arm, s.run.log_det_ratio = -1.0, log_det_ratio
        if sums is not None:
            memcpy(s.sums, &truth[0, 0, 0], 2 * (c + 1) * c * sizeof(double))
        self._turn(arm)
        self.version += 1

    def note(self, int64_t arm, double pulls, double rewards):
        """So many rewards of an arm more, and their sum, which somebody else has learnt."""
        self.refuse_arm(arm)
        self.all_counts[arm] += pulls
        self.all_counts[self.K + arm] += rewards
        self.version += 1

    # Reading

    def estimates(self, context):
        """Every arm's x'theta_k, (K,)."""
        cdef const double[::1] x = row_of(context, self.c)
        self.score(&x[0])
        return array_of(self.scores, self.K)

    def lengths(self, context):
        """Every arm's |x| in V_k^-1, (K,)."""
        cdef const double[::1] x = row_of(context, self.c)
        self.widen(&x[0])
        return array_of(self.widths, self.K)

    def radii(self, double noise, double bound, double delta, bint mixture=False):
        """Every arm's confidence radius, by its own determinant, (K,)."""
        cdef Radius radius = Radius(noise, bound, delta, 1.0, mixture)
        cdef int64_t k
        for k in range(self.K):
            self.work[k] = radius_at(&radius, self.all_runs[k].log_det_ratio, self.state.penalty)
        return array_of(self.work, self.K)

    def deviations(self, context, const double[:, ::1] directions):
        """Every arm's x'M_k'direction_k, (K,); `directions` are (K, c)."""
        cdef const double[::1] x = row_of(context, self.c)
        if directions.shape[0] != self.K or directions.shape[1] != self.c:
            raise ValueError(f"directions must be {self.K} of {self.c} numbers, got {np.shape(directions)}")
        self.deviate(&x[0], &directions[0, 0])
        return array_of(self.widths, self.K)

    def optimistic(self, int64_t arm, context, double radius):
        """The theta of an arm, within so many widths, for which its mean is largest, (c,)."""
        cdef const double[::1] x = row_of(context, self.c)
        cdef double *out = self.state.rests
        cdef double length
        cdef int64_t i
        self.refuse_arm(arm)
        s = self.point_to(arm)
        length = solve(s, &x[0], out)
        for i in range(self.c):
            out[i] = s.theta[i] + (radius / length * out[i] if length > 0.0 else 0.0)
        return array_of(out, self.c)

    def narrowed(self, const int64_t[:, :, :, ::1] pending):
        """Another bank with sums over pending decisions, (K, 2, c, c), in each V; theta and determinants stay."""
        cdef int64_t c = self.c, k, at
        cdef double *P = self.state.rests + (c + 1) * c
        cdef const int64_t *sums
        cdef RidgeBank other
        if pending.shape[0] != self.K or pending.shape[1] != 2 or pending.shape[2] != c or pending.shape[3] != c:
            raise ValueError(f"pending sums must be of {self.K} arms on {c} features, got {np.shape(pending)}")
        other = self.copy()
        for k in range(self.K):
            sums = &pending[k, 0, 0, 0]
            for at in range(2 * c * c):
                if sums[at] != 0:
                    pending_sum(sums, c, P)
                    narrow(self.point_to(k), P, P + c * c, other.point_to(k))
                    other._turn(k)
                    break
        return other

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

    cdef void _renew(self, int64_t arm) noexcept nogil:
        """Computes all of an arm anew from its sums."""
        refresh(self.point_to(arm))
        self._turn(arm)
        self.version += 1

    cdef void _renew_all(self) noexcept nogil:
        cdef int64_t k
        for k in range(self.K):
            self._renew(k)

    cdef void learn(self, int64_t arm, const double *x, double reward, double weight) noexcept nogil:
        """Takes in a reward of an arm in the context x, which is not counted."""
        absorb(self.point_to(arm), x, reward, weight)
        self._turn(arm)
        self.version += 1

    cdef void count(self, int64_t arm, double reward) noexcept nogil:
        """Counts a reward of an arm."""
        self.told += 1
        self.all_counts[arm] += 1.0
        self.all_counts[self.K + arm] += reward

    cdef void take_out(self, int64_t arm, const double *x, double before, object after, double weight):
        """Revises a reward: what went in comes out as the very same products, so that nothing of it stays."""
        cdef double value = 0.0 if after is None else after
        if not (isfinite(before) and isfinite(value) and isfinite(weight)):
            raise InvalidReward(f"rewards and their weight must be finite, got {before}, {after} and {weight}")
        s = self.point_to(arm)
        if after is None:
            add_pulls(s, x, -weight, -weight * before)
            self.told -= 1
            self.all_counts[arm] -= 1.0
            self.all_counts[self.K + arm] += 0.0 - before
        else:
            add_pulls(s, x, 0.0, -weight * before)
            add_pulls(s, x, 0.0, weight * value)
            self.all_counts[self.K + arm] += value - before
        self._renew(arm)

    cdef double square_width(self, int64_t arm, const double *x) noexcept nogil:
        """|x|^2 in V_k^-1 of one arm, summed as `widen` does."""
        cdef const State *s = self.point_to(arm)
        cdef double total = 0.0, part
        cdef int64_t i
        for i in range(self.c):
            product(s.M + i * self.c, 1, x, i + 1, &part)
            total += part * part
        return total

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

    cdef void deviate(self, const double *x, const double *directions) noexcept nogil:
        """In `widths` x'M_k'direction_k; `directions` are (K, c)."""
        cdef int64_t row = self.c, i, k
        for k in range(self.K):
            self.widths[k] = 0.0
        for i in range(self.c):
            product(self.wide + row * self.K, self.K, x, i + 1, self.work)
            for k in range(self.K):
                self.widths[k] += self.work[k] * directions[k * self.c + i]
            row += i + 1

    cdef void perturb(self, const double *x, const double *directions, const double *radii) noexcept nogil:
        """In `widths` x'(theta_k + radius_k M_k'direction_k), after `score`; `directions` are (K, c)."""
        cdef int64_t k
        self.deviate(x, directions)
        for k in range(self.K):
            self.widths[k] = self.scores[k] + radii[k] * self.widths[k]

    cdef int refuse_arm(self, int64_t arm) except -1:
        if not 0 <= arm < self.K:
            raise UnknownArm(f"there is no arm {arm} of {self.K}")
        return 0


cdef RidgeBank NOTHING = RidgeBank(1, 1)


cdef class BankPosterior:
    """What a bank says of its arms, until it learns again: nothing without a context, for which there is `over`.

    After the bank has learnt, reading raises StalePosterior. `copy` gives one that stays. `told` is how many rewards
    are in the bank's sums, None if these are not kept. With `logistic`, scores are log-odds. A radius is one number, or
    one for each arm, (n,). As one regression of all arms, an arm's row has the context in its own block, and 0
    elsewhere.
    """

    fixed = False
    has_counts = True

    def __cinit__(self, *given, **named):
        self.bank, self.places = NOTHING, NOBODY  # whatever a subclass forgets, there is something to read

    def __init__(self, RidgeBank bank not None, told=None, bint logistic=False):
        self.bank, self.version, self.told, self.logistic = bank, bank.version, told, logistic
        self.context, self.places = None, NOBODY

    cdef BankPosterior like(self, RidgeBank bank, context, places):
        cdef type kind = type(self)
        cdef BankPosterior other = kind.__new__(kind)
        other.bank, other.version, other.told, other.logistic = bank, bank.version, self.told, self.logistic
        other.context, other.places, other.x = context, places, self.x
        return other

    def over(self, context):
        """The same of all arms in a context, (c,)."""
        cdef BankPosterior other
        self.check()
        other = self.like(self.bank, np.ascontiguousarray(context, dtype=np.float64), None)
        other.x = row_of(other.context, self.bank.c)
        return other

    def among(self, places):
        """The same of the arms at some places, (n,)."""
        self.check()
        some = np.array(places, dtype=np.int64, ndmin=1)
        if some.size and not 0 <= some.min() <= some.max() < self.count:
            raise UnknownArm(f"arms must be from 0 to {self.count - 1}, got {some.min()} to {some.max()}")
        return self.like(self.bank, self.context, some if self.places is None else self.places[some])

    def narrowed(self, pending):
        """The same with sums over pending decisions in V, (K, 2, c, c); estimates stay as they are."""
        self.check()
        return self.like(self.bank.narrowed(pending), self.context, self.places)

    def copy(self):
        """The same, which stays as it is whatever is learnt."""
        self.check()
        return self.like(self.bank.copy(), self.context, self.places)

    def ridges(self):
        """The bank, which goes on learning."""
        self.check()
        return self.bank

    @property
    def count(self):
        """The number of arms."""
        return self.bank.K if self.places is None else self.places.size

    @property
    def dim(self):
        """How many parameters all arms have together, those that are not shown included."""
        return self.bank.K * self.bank.c

    @property
    def draw_shape(self):
        """The shape of the draws that `perturbed` takes, (K, c), with those of arms that are not shown."""
        return self.bank.K, self.bank.c

    @property
    def columns(self):
        """The arms as rows of one regression, (K c, n)."""
        rows = np.zeros((self.count, self.bank.K, self.bank.c))
        if self.count:
            rows[np.arange(self.count), np.arange(self.count) if self.places is None else self.places] = self.context
        return np.ascontiguousarray(rows.reshape(self.count, self.dim).T)

    @property
    def theta(self):
        """The parameters of all arms, one behind the other, (K c,)."""
        self.check()
        return np.array(self.bank.solved[:, self.bank.c]).reshape(-1)

    @property
    def factor(self):
        """The factors of all arms, as blocks of one matrix, (K c, K c)."""
        self.check()
        return block_diagonal(self.bank.solved[:, :self.bank.c])

    @property
    def penalty(self):
        """That of each ridge."""
        return self.bank.state.penalty

    @property
    def log_det_ratio(self):
        """log(det V/det V_0) of all ridges together; `radii` go by each arm's own."""
        self.check()
        return self.bank.log_det_ratio

    @property
    def greedy(self):
        """The arm of the largest estimate, the lowest index among ties; -1 without arms."""
        self.read()
        return self.best_arm

    @property
    def estimates(self):
        """Every arm's estimated mean reward, (n,)."""
        self.read()
        return self._estimates

    def estimate(self, int64_t arm):
        """One arm's estimate."""
        self.read()
        self.place(arm)
        return self.means[arm]

    @property
    def widths(self):
        """Every arm's width, (n,): |x| in V_k^-1, times p(1 - p) where estimates are probabilities."""
        self.read()
        if self._lengths is None:
            lengths = np.zeros(0) if self.context is None else self.some(self.bank.lengths(self.context))
            lengths.flags.writeable = False
            self._lengths = lengths
        if not self.logistic:
            return self._lengths
        return self._estimates * (1.0 - self._estimates) * self._lengths

    def width(self, int64_t arm):
        """One arm's width; O(c^2)."""
        cdef int64_t place = self.place(arm)
        self.check()
        if self._lengths is not None or self.logistic:
            return self.widths.item(arm)
        return sqrt(self.bank.square_width(place, &self.x[0]))

    def radii(self, double noise, double bound, double delta, bint mixture=False):
        """The confidence radius of each arm, by its own data alone, (n,)."""
        self.check()
        return self.some(self.bank.radii(noise, bound, delta, mixture))

    def upper(self, beta):
        """Every arm's estimate + beta width, (n,); of log-odds, that as a probability."""
        self.widths  # computes lengths
        out = self._scores + beta * self._lengths
        return probabilities(out) if self.logistic else out

    def perturbed(self, scale, directions):
        """Every arm's mean under theta_k + scale_k M_k'direction_k, (n,); directions of all arms are (K, c)."""
        self.read()
        out = self._scores + scale * self.some(self.bank.deviations(self.context, directions))
        return probabilities(out) if self.logistic else out

    def scores(self, thetas):
        """Every arm's x'theta_k under any parameters of all arms, (K, c)."""
        self.check()
        return self.some(products(np.reshape(thetas, (self.bank.K, self.bank.c)).T, self.context))

    def optimistic(self, int64_t arm, radius):
        """The parameters of all arms, (K c,), within so many widths, for which an arm's mean is largest."""
        cdef int64_t place = self.place(arm)
        self.check()
        thetas = np.array(self.bank.solved[:, self.bank.c])
        thetas[place] = self.bank.optimistic(place, self.context, radius_of(radius, arm))
        return thetas.reshape(-1)

    def design_row(self, int64_t arm, features=None):
        """What the reward of an arm is learnt on: its index among all arms, and the context."""
        if features is not None:
            raise InvalidChoice(f"a reward cannot be learnt on the features of a Choice: {NO_ROWS}")
        return self.place(arm), self.context

    @property
    def counts(self):
        """Pulls and summed rewards of every arm, (2, n), as an array of its own."""
        self.check()
        return np.array(self.some(self.bank.counts))

    cdef int check(self) except -1:
        if self.bank.version != self.version:
            raise StalePosterior(
                "the model has learnt since this posterior was read; ask for a new one, or keep a copy()"
            )
        return 0

    cdef int read(self) except -1:
        """Computes estimates and the greedy arm, once."""
        self.check()
        if self._estimates is not None:
            return 0
        if self.context is None:
            self._scores = self._estimates = np.zeros(0)
            self.best_arm = -1
            return 0
        self.bank.score(&self.x[0])
        scores = self.some(array_of(self.bank.scores, self.bank.K))
        estimates = probabilities(scores) if self.logistic else scores
        self.means = estimates
        self.best_arm = best(&self.means[0], self.means.shape[0]) if self.means.shape[0] else -1
        estimates.flags.writeable = False
        self._scores, self._estimates = scores, estimates
        return 0

    cdef object some(self, numbers):
        """Numbers of all arms, (..., K): those of these arms."""
        return numbers if self.places is None else numbers[..., self.places]

    cdef int64_t place(self, int64_t arm) except -1:
        """Where an arm stands among all."""
        if not 0 <= arm < self.count:
            raise UnknownArm(f"arm must be from 0 to {self.count - 1}, got {arm}")
        return arm if self.places is None else self.places.item(arm)


cdef object array_of(const double *numbers, int64_t count):
    """So many numbers, as an array of its own."""
    array = np.empty(count)
    cdef double[::1] out = array
    memcpy(&out[0], numbers, count * sizeof(double))
    return array


cdef const double[::1] row_of(object context, int64_t size):
    """A context as finite numbers, so many of them; an error does not tell them, as they may be somebody's data."""
    cdef const double[::1] x = np.ascontiguousarray(context, dtype=np.float64)
    cdef int64_t i
    if x.shape[0] != size:
        raise InvalidContext(f"a context must have {size} numbers, got {x.shape[0]}")
    for i in range(size):
        if not isfinite(x[i]):
            raise InvalidContext(f"number {i} of a context is {x[i]}, and must be finite")
    return x


cdef int refuse_many(const int64_t[::1] arms, const int64_t[::1] rows, const double[:, ::1] contexts,
                     const double[::1] rewards, const double[::1] weights, int64_t count, int64_t size) except -1:
    """Refuses rewards of arms, of which there are `count`, in contexts of `size` numbers, if one cannot be learnt."""
    cdef int64_t n, i
    if not arms.shape[0] == rows.shape[0] == rewards.shape[0] == weights.shape[0]:
        raise ValueError("there must be an arm, a context and a weight for each reward")
    if arms.shape[0] and contexts.shape[1] != size:
        raise UnknownArm(f"rewards must be learnt on arms in contexts of {size} features")
    for n in range(arms.shape[0]):
        if arms[n] >= count:
            raise UnknownArm(f"a reward cannot be learnt on arm {arms[n]} of {count}")
        if not 0 <= rows[n] < contexts.shape[0]:
            raise UnknownArm(f"a reward cannot be learnt in context {rows[n]} of {contexts.shape[0]}")
        if not (isfinite(rewards[n]) and isfinite(weights[n])):
            raise InvalidReward(f"a reward and its weight must be finite, got {rewards[n]} and {weights[n]}")
        for i in range(size):
            if not isfinite(contexts[rows[n], i]):
                raise InvalidContext(f"number {i} of context {rows[n]} is not finite")
    return 0


def _restored(arms, features, penalty, *numbers):
    """A bank with these numbers, for pickle."""
    bank = RidgeBank(arms, features, penalty)
    bank.restore(*numbers)
    return bank
