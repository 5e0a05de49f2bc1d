"""What a regression says of some arms as of now; `posterior.pxd` explains what it refers to."""

import numpy as np

cimport numpy as cnp
from libc.math cimport M_E, log, sqrt
from libc.string cimport memcpy, memset

from infex.core.choosing cimport Radius, radius_at, to_probabilities
from infex.core.ridge cimport (
    Run,
    best,
    covariances,
    distances,
    dot,
    estimates,
    is_steep,
    log_det_ratio,
    perturb,
    product,
    refresh,
    solve,
    square_widths,
    upper,
    whole_sums,
    width,
)
from infex.errors import InvalidChoice, NotKept, StalePosterior


cdef extern from "loops.h" nogil:
    double largest(const double *scores, int64_t K)


cnp.import_array()


cdef inline object floats(int64_t count, double **numbers):
    """A new array of so many numbers, which are not set yet; in `numbers` where they stand."""
    cdef cnp.npy_intp size = count
    array = cnp.PyArray_EMPTY(1, &size, cnp.NPY_DOUBLE, 0)
    numbers[0] = <double *>cnp.PyArray_DATA(array)
    return array


cdef inline object contiguous(given, int dimensions, const double **numbers):
    """The same numbers as a contiguous array of so many dimensions, or ValueError; in `numbers` where they stand."""
    array = cnp.PyArray_FROMANY(given, cnp.NPY_DOUBLE, dimensions, dimensions, cnp.NPY_ARRAY_CARRAY_RO)
    numbers[0] = <const double *>cnp.PyArray_DATA(array)
    return array


cdef inline object read_only(array):
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


def radius_of(radius, arm=None):
    """A radius as a number: one for all arms or, of one for each, that of an arm."""
    if isinstance(radius, np.ndarray) and radius.ndim:
        if arm is None:
            raise InvalidChoice(f"arms that share one regression have one radius, got {radius.size}")
        return float(radius[arm])
    return float(radius)


def likelihood_radius(int64_t told, int64_t dim, double bound, double delta):
    """sqrt(2 (1 + S) (1 + log(1/delta) + d log max(e, 2 e S (1 + S/2) (n - 1)/d))), S the bound, after n rewards.

    The ellipsoid of the likelihood ratio of logistic regression (Lee, Yun and Jun, 2024, Theorem 3.2).
    """
    cdef double steepness = (1.0 + bound / 2.0) * max(told - 1, 0), doubt = -log(delta)
    doubt += dim * log(max(M_E, 2.0 * M_E * bound * steepness / dim))
    return sqrt(2.0 * (1.0 + bound) * (1.0 + doubt))


def to_sphere(double[::1] direction):
    """Brings a Gaussian direction to the length sqrt(d), in its place: uniform on that sphere."""
    cdef int64_t d = direction.shape[0], i
    cdef double factor
    if d == 0:
        return
    factor = sqrt(d / dot(&direction[0], &direction[0], d))
    for i in range(d):
        direction[i] *= factor


def probabilities(odds):
    """1/(1 + exp(-z)) of log-odds of any size, as an array of its own."""
    cdef double[::1] out = np.array(odds, dtype=np.float64, ndmin=1)
    if out.shape[0]:
        to_probabilities(&out[0], out.shape[0])
    return np.asarray(out)


cdef Run NO_RUN


cdef class RidgePosterior:
    """What a ridge says of its fixed arms, until it learns again.

    `over` reads other arms and `among` some of these; `of_solution` is for other estimators.
    """

    def __cinit__(self, *given, **named):
        self.state.run = &NO_RUN  # whatever a subclass forgets, there is something to read

    def __init__(self, Ridge ridge not None):
        if self.columns is not None:
            raise TypeError("a posterior is made once, and reads one ridge")
        self.state = ridge.state
        self.ridge, self.version = ridge, ridge.version
        self.columns = ridge.columns
        self.has_sums = self.fixed = True
        self.kept_up = self.scored = ridge.state.scored
        self.told = <int64_t>ridge.state.told

    @classmethod
    def of_solution(
        cls, columns, solved, double log_det_ratio, double penalty, sums=None, int64_t told=0, counts=None,
        bint logistic=False, bint likelihood=False,
    ):
        """That of a theta and a factor M, (d + 1, d) with theta in the last row, which are copied.

        M is lower triangular, and M'M the covariance of theta. `sums`, (2, d + 1, d), are those of rewards, where
        they are kept; `counts` are pulls and rewards of each arm, (2, K). With `logistic`, scores are log-odds,
        and with `likelihood` the confidence radius is that of the likelihood ratio.
        """
        cdef RidgePosterior self = cls.__new__(cls)
        cdef double[:, ::1] given = np.array(solved, dtype=np.float64, order="C")
        cdef int64_t d = given.shape[1]
        if d < 1 or given.shape[0] != d + 1:
            raise ValueError(f"a solution must have the shape (d + 1, d), got {np.shape(solved)}")
        if sums is not None and np.shape(sums) != (2, d + 1, d):
            raise ValueError(f"sums must have the shape {(2, d + 1, d)}, got {np.shape(sums)}")
        s = &self.state
        s.d, s.penalty = d, penalty
        self.own_solution()
        memcpy(s.M, &given[0, 0], (d + 1) * d * sizeof(double))
        s.run.arm, s.run.log_det_ratio = -1.0, log_det_ratio
        if sums is not None:
            self.own_sums()
            self._memory[1][:] = np.reshape(sums, -1)
            self.has_sums = True
        self.set_columns(columns)
        if counts is not None:
            self._counts = np.array(counts, dtype=np.float64)
            if self._counts.shape != (2, s.K):
                raise ValueError(f"counts must have the shape {(2, s.K)}, got {self._counts.shape}")
        self.told, self.logistic, self.likelihood, self.fixed = told, logistic, likelihood, True
        return self

    cdef RidgePosterior like(self):
        """The same theta, factor and sums, of no arms yet."""
        cdef type kind = type(self)
        cdef RidgePosterior other = kind.__new__(kind)
        other.state = self.state
        other.ridge, other.version, other._memory = self.ridge, self.version, (self._memory,)
        other.has_sums, other.logistic, other.told = self.has_sums, self.logistic, self.told
        other.likelihood = self.likelihood
        return other

    cdef int set_columns(self, columns) except -1:
        s = &self.state
        self.columns = contiguous(columns, 2, &s.columns)
        if cnp.PyArray_DIM(self.columns, 0) != s.d:
            raise ValueError(f"arms must have {s.d} features, got {self.columns.shape[0]}")
        s.K = cnp.PyArray_DIM(self.columns, 1)
        return 0

    cdef int own_solution(self) except -1:
        """Room of its own for M, theta and the run, with nothing in it but 0."""
        cdef int64_t d = self.state.d, size = (d + 1) * d + 4 * d + sizeof(Run) // sizeof(double)
        s = &self.state
        room = floats(size, &s.M)
        memset(s.M, 0, size * sizeof(double))
        s.theta = s.M + d * d
        s.x, s.p, s.u, s.work = s.theta + d, s.theta + 2 * d, s.theta + 3 * d, s.theta + 4 * d
        s.run = <Run *>(s.theta + 5 * d)
        self._memory = (self._memory, room)
        return 0

    cdef int own_sums(self) except -1:
        """Room of its own for sums and carries."""
        cdef int64_t size = (self.state.d + 1) * self.state.d
        room = floats(2 * size, &self.state.sums)
        self.state.carries = self.state.sums + size
        self._memory = (self._memory, room)
        return 0

    cdef int check(self) except -1:
        if self.ridge is not None and self.ridge.version != self.version:
            raise StalePosterior(
                "the model has learnt since this posterior was read: ask for a new one, or keep a copy"
            )
        return 0

    cdef int read(self) except -1:
        """Computes estimates and the greedy arm, once."""
        cdef double *out
        cdef double *theta
        cdef int64_t i
        self.check()
        if self.means != NULL:
            return 0
        s = &self.state
        means = floats(s.K, &out)
        self.best_arm = -1
        if s.K and self.kept_up:
            self.best_arm = estimates(s.scores, s.along, s.K, s.run.phi, out)
        elif s.K:
            room = floats(s.d, &theta)
            for i in range(s.d):
                theta[i] = s.theta[i] + s.run.phi * s.u[i]
            product(s.columns, s.K, theta, s.d, out)
            if self.logistic:
                to_probabilities(out, s.K)
            self.best_arm = best(out, s.K)
        self._means, self.means = read_only(means), out
        return 0

    cdef int score(self) except -1:
        """Computes scores and squared widths, once."""
        self.check()
        if self.scored:
            return 0
        if self.same_estimates:
            self.read()
        s = &self.state
        self.own_board()
        if s.K:
            product(s.columns, s.K, s.theta, s.d, s.scores)
            square_widths(s.columns, s.K, s.M, s.d, s.squares, s.along, s.floors)
            if s.run.pulls > 0.0:
                product(s.columns, s.K, s.u, s.d, s.along)
            if self.same_estimates and not self.logistic:
                memcpy(s.scores, self.means, s.K * sizeof(double))
        self.scored = True
        return 0

    cdef int own_board(self) except -1:
        """Room of its own for scores, squared widths and what a run changes of them."""
        s = &self.state
        room = floats(4 * s.K, &s.scores)
        s.squares, s.along, s.floors = s.scores + s.K, s.scores + 2 * s.K, s.scores + 3 * s.K
        self._memory = (self._memory, room)
        return 0

    cdef RidgePosterior settled(self):
        """The same for arms that are not kept up: computed anew where updates may have lost theta there."""
        cdef RidgePosterior other
        s = &self.state
        if not self.has_sums or not (s.run.closed > 0.0 or s.run.pulls > 0.0) or not is_steep(s):
            return self
        other = self.like()
        other.columns, other._counts, other.fixed = self.columns, self._counts, self.fixed
        other.own_sums()
        self.fill_sums(other.state.sums)
        other.own_solution()
        room = floats((s.d + 1) * s.d, &other.state.rests)
        other.state.scored = False
        refresh(&other.state)
        return other

    cdef void fill_sums(self, double *out) noexcept:
        """In `out` the sums and their carries with the run under way."""
        cdef State whole = self.state
        whole.whole = out
        whole_sums(&whole)

    @property
    def count(self):
        """K, the number of arms."""
        return self.state.K

    @property
    def dim(self):
        """d, the number of features."""
        return self.state.d

    @property
    def draw_shape(self):
        """The shape of the draws that `perturbed` takes, (d,)."""
        return (self.state.d,)

    @property
    def penalty(self):
        """The ridge penalty: V_0 = penalty I."""
        return self.state.penalty

    @property
    def log_det_ratio(self):
        """log(det V/det V_0)."""
        self.check()
        return log_det_ratio(&self.state)

    @property
    def greedy(self):
        """The arm of the largest estimate, the lowest index among ties; -1 without arms."""
        self.read()
        return self.best_arm

    @property
    def estimates(self):
        """Every arm's estimated mean reward, (K,)."""
        self.read()
        return self._means

    def estimate(self, int64_t arm):
        """One arm's estimate."""
        self.read()
        if not 0 <= arm < self.state.K:
            raise IndexError(f"arm must be from 0 to {self.state.K - 1}, got {arm}")
        return self.means[arm]

    @property
    def widths(self):
        """Every arm's width, (K,): |x| in V^-1, times p(1 - p) where estimates are probabilities."""
        cdef double *out
        cdef int64_t k
        self.score()
        if self._widths is None:
            s = &self.state
            found = floats(s.K, &out)
            for k in range(s.K):
                out[k] = width(s.squares[k], s.along[k], s.run.psi)
            if self.logistic:
                self.read()
                for k in range(s.K):
                    out[k] *= self.means[k] * (1.0 - self.means[k])
            self._widths = read_only(found)
        return self._widths

    def width(self, int64_t arm):
        """One arm's width; O(d^2) where widths are not kept up."""
        cdef double *x
        cdef double square, along, floor
        cdef int64_t i
        self.check()
        s = &self.state
        if not 0 <= arm < s.K:
            raise IndexError(f"arm must be from 0 to {s.K - 1}, got {arm}")
        if self.logistic:
            return self.widths.item(arm)
        if self.scored:
            return width(s.squares[arm], s.along[arm], s.run.psi)
        room = floats(s.d, &x)
        for i in range(s.d):
            x[i] = s.columns[i * s.K + arm]
        square_widths(x, 1, s.M, s.d, &square, &along, &floor)
        if s.run.pulls > 0.0:
            product(x, 1, s.u, s.d, &along)
        return width(square, along, s.run.psi)

    def distances(self, int64_t arm):
        """The width of every arm's difference from `arm`, |x - x_arm| in V^-1, (K,)."""
        cdef double *room
        cdef double *out
        self.read()
        self.score()
        s = &self.state
        if not 0 <= arm < s.K:
            raise IndexError(f"arm must be from 0 to {s.K - 1}, got {arm}")
        work, found = floats(2 * s.d, &room), floats(s.K, &out)
        distances(s, arm, self.means if self.logistic else NULL, room, out)
        return found

    def covariances(self, int64_t arm):
        """The covariance of every arm's estimate with that of `arm`, x'V^-1 x_arm, (K,), for noise of 1."""
        cdef double *room
        cdef double *out
        self.read()
        s = &self.state
        if not 0 <= arm < s.K:
            raise IndexError(f"arm must be from 0 to {s.K - 1}, got {arm}")
        work, found = floats(2 * s.d, &room), floats(s.K, &out)
        covariances(s, arm, self.means if self.logistic else NULL, room, out)
        return found

    def radii(self, double noise, double bound, double delta, bint mixture=False):
        """The confidence radius of all arms: `radius_at`, or `likelihood_radius`."""
        cdef Radius radius = Radius(noise, bound, delta, 1.0, mixture)
        self.check()
        if self.likelihood:
            return likelihood_radius(self.told, self.state.d, bound, delta)
        return radius_at(&radius, log_det_ratio(&self.state), self.state.penalty)

    def upper(self, radius):
        """Every arm's estimate + radius width, (K,); of log-odds, that as a probability."""
        cdef double *out
        cdef double beta = radius_of(radius)
        self.score()
        s = &self.state
        bounds = floats(s.K, &out)
        upper(s.scores, s.squares, s.along, s.K, s.run.phi, s.run.psi, beta, out)
        if self.logistic:
            to_probabilities(out, s.K)
        return bounds

    cdef object parameter_of(self, double scale, direction):
        cdef const double *eta
        cdef double *out
        cdef double *work
        self.check()
        given = contiguous(direction, 1, &eta)
        if cnp.PyArray_DIM(given, 0) != self.state.d:
            raise ValueError(f"a direction must have {self.state.d} numbers, got {len(given)}")
        theta, room = floats(self.state.d, &out), floats(self.state.d, &work)
        perturb(&self.state, scale, eta, out, work)
        return theta

    def parameter(self, double scale, direction):
        """theta + scale M'direction, (d,)."""
        return self.parameter_of(scale, direction)

    def perturbed(self, scale, direction):
        """Every arm's mean under the parameter theta + scale M'direction, (K,)."""
        out = self.scores(self.parameter_of(radius_of(scale), direction))
        return probabilities(out) if self.logistic else out

    def sampled_maxima(self, scale, directions):
        """The largest mean of any arm under each parameter theta + scale M'direction, (n,), of directions (n, d)."""
        cdef double *out
        cdef double *theta
        cdef double *work
        cdef double *means
        cdef const double *eta
        cdef double by = radius_of(scale)
        cdef int64_t n, count
        self.check()
        s = &self.state
        given = contiguous(directions, 2, &eta)
        if cnp.PyArray_DIM(given, 1) != s.d or s.K == 0:
            raise ValueError(f"directions must have {s.d} numbers each and there must be an arm, got {given.shape}")
        count = cnp.PyArray_DIM(given, 0)
        found, room = floats(count, &out), floats(2 * s.d + s.K, &theta)
        work, means = theta + s.d, theta + 2 * s.d
        for n in range(count):
            perturb(s, by, eta + n * s.d, theta, work)
            product(s.columns, s.K, theta, s.d, means)
            out[n] = largest(means, s.K)
        if self.logistic:
            to_probabilities(out, count)
        return found

    def scores(self, theta):
        """Every arm's x'theta under any parameter, (K,)."""
        cdef const double *parameter
        cdef double *out
        given = contiguous(theta, 1, &parameter)
        if cnp.PyArray_DIM(given, 0) != self.state.d:
            raise ValueError(f"theta must have {self.state.d} numbers, got {len(given)}")
        scores = floats(self.state.K, &out)
        product(self.state.columns, self.state.K, parameter, self.state.d, out)
        return scores

    def optimistic(self, int64_t arm, radius):
        """theta + radius V^-1 x/|x| in V^-1, (d,): where within so many widths an arm's mean is largest."""
        cdef double *x
        cdef double *out
        cdef double length, share
        cdef int64_t i
        self.check()
        s = &self.state
        if not 0 <= arm < s.K:
            raise IndexError(f"arm must be from 0 to {s.K - 1}, got {arm}")
        room, theta = floats(s.d, &x), floats(s.d, &out)
        for i in range(s.d):
            x[i] = s.columns[i * s.K + arm]
        length = solve(s, x, out)
        share = radius_of(radius, arm) / length if length > 0.0 else 0.0
        for i in range(s.d):
            out[i] = s.theta[i] + s.run.phi * s.u[i] + (share * out[i] if length > 0.0 else 0.0)
        return theta

    @property
    def theta(self):
        """The estimate, (d,)."""
        cdef RidgePosterior there
        self.check()
        there = self.settled()
        return there.parameter_of(0.0, np.zeros(self.state.d))

    @property
    def factor(self):
        """A lower triangular M with M'M the covariance of theta, (d, d)."""
        cdef State at_zero = self.state  # theta, if it is large, would round M away
        cdef Run run = self.state.run[0]
        cdef int64_t d = self.state.d, i
        cdef double[:, ::1] out = np.zeros((d, d)), room = np.zeros((3, d))
        self.check()
        if run.pulls == 0.0:
            memcpy(&out[0, 0], at_zero.M, d * d * sizeof(double))
            return np.asarray(out)
        run.phi = 0.0
        at_zero.theta, at_zero.run = &room[0, 0], &run
        for i in range(d):
            room[1, i] = 1.0
            perturb(&at_zero, 1.0, &room[1, 0], &out[i, 0], &room[2, 0])
            room[1, i] = 0.0
        return np.asarray(out)

    def sums(self):
        """The sums and their carries, (2, d + 1, d), as an array of its own; None where they are not kept."""
        cdef double[:, :, ::1] out
        self.check()
        if not self.has_sums:
            return None
        out = np.empty((2, self.state.d + 1, self.state.d))
        self.fill_sums(&out[0, 0, 0])
        return np.asarray(out)

    @property
    def has_counts(self):
        """Were rewards counted by arm?"""
        return self._counts is not None or (self.fixed and self.ridge is not None)

    @property
    def counts(self):
        """Pulls and summed rewards of every arm, (2, K), as an array of its own."""
        self.check()
        if not self.has_counts:
            raise NotKept("arms that change every round have no pulls of their own")
        return (self.ridge.counts if self._counts is None else self._counts).copy()

    def design_row(self, int64_t arm, features=None):
        """What the reward of an arm is learnt on: a fixed arm's index, a row of features, or given `features`."""
        if features is not None:
            return np.array(features, dtype=np.float64)
        return arm if self.fixed else np.array(self.columns[:, arm])

    def over(self, columns):
        """The same of other arms, (d, K)."""
        cdef RidgePosterior other
        self.check()
        other = self.settled().like()
        other.set_columns(columns)
        return other

    def among(self, places):
        """The same of the arms at some places, (n,); the figures of those that are kept up stay."""
        cdef RidgePosterior other
        cdef const int64_t[::1] which = np.ascontiguousarray(places, dtype=np.int64)
        cdef int64_t n, count = which.shape[0]
        self.check()
        s = &self.state
        for n in range(count):
            if not 0 <= which[n] < s.K:
                raise IndexError(f"arms must be from 0 to {s.K - 1}, got {which[n]}")
        other = self.like()
        other.set_columns(self.columns[:, places])
        if self.has_counts:
            other._counts = np.ascontiguousarray(self.counts[:, places])
        if not self.scored:
            return other
        other.own_board()
        t = &other.state
        for n in range(count):
            t.scores[n], t.squares[n], t.along[n] = s.scores[which[n]], s.squares[which[n]], s.along[which[n]]
        other.scored, other.kept_up = True, self.kept_up
        return other

    def copy(self):
        """The same, which stays as it is whatever is learnt."""
        cdef RidgePosterior other
        cdef int64_t d = self.state.d, K = self.state.K
        self.read()
        self.score()
        other = self.like()
        other._memory = ()
        other.own_solution()
        memcpy(other.state.M, self.state.M, d * d * sizeof(double))
        memcpy(other.state.theta, self.state.theta, d * sizeof(double))
        memcpy(other.state.p, self.state.p, d * sizeof(double))
        memcpy(other.state.u, self.state.u, d * sizeof(double))
        memcpy(other.state.x, self.state.x, d * sizeof(double))
        other.state.run[0] = self.state.run[0]
        if self.has_sums:
            other.own_sums()
            memcpy(other.state.sums, self.state.sums, (d + 1) * d * sizeof(double))
            memcpy(other.state.carries, self.state.carries, (d + 1) * d * sizeof(double))
        other.set_columns(np.array(self.columns, order="C"))
        other.own_board()
        memcpy(other.state.scores, self.state.scores, K * sizeof(double))
        memcpy(other.state.squares, self.state.squares, K * sizeof(double))
        memcpy(other.state.along, self.state.along, K * sizeof(double))
        other._means, other._widths, other._counts = self._means, self._widths, self.counts if self.has_counts else None
        other.means, other.best_arm = self.means, self.best_arm
        other.scored, other.kept_up, other.same_estimates = True, self.kept_up, self.same_estimates
        other.fixed = self.fixed
        other.ridge = None
        return other

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        raise TypeError("a posterior cannot be pickled: keep its estimates and widths, or the model that it reads")
