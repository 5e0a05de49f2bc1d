"""Ridge regression with V = penalty I + sum x x' and b = sum y x, and what policies read from it.

A *run* is one x played n times in a row with reward sum S. With M the inverse of the lower Cholesky factor
of V, p = M x, u = M'p, q = p'p and g_k = x_k'u, all taken at its start, phi = (S - n x'theta)/(1 + n q) and
psi = n/(1 + n q) give the state after it exactly: theta + phi u, scores s_k + phi g_k, squared widths
w_k - psi g_k^2, and log det V grows by log1p(n q). So one more pull of the same arm costs O(1), and another
arm closes the run in O(d^2 + d K).

Sums keep what rounding takes from them (Knuth's two-sum). All that is derived is computed anew before
rounding can tell: everything from the sums after 64 d runs; scores and squared widths once a squared width
has fallen to e^-8 of what it was when it was last computed. A run is closed when it brings such a fall by
itself, or after 4096 pulls, as its reward sum has no carry. Where single rewards may be taken out again, one
beyond 4096 is a run by itself. Where the penalty is small against the sums, these and the factor of V are
computed with 32 digits (Dekker, 1971).
"""

from libc.math cimport log1p
from libc.stdint cimport int64_t

cdef extern from "loops.h" nogil:
    double GROWTH
    double larger(double a, double b)
    double width(double square, double along, double psi)
    void product(const double *columns, int64_t K, const double *v, int64_t n, double *out)
    void square_widths(const double *columns, int64_t K, const double *M, int64_t d, double *squares,
                       double *row, double *floors)
    bint close_scores(double *scores, double *squares, const double *along, const double *floors, int64_t K,
                      double phi, double psi)
    int64_t best(const double *scores, int64_t K)
    int64_t tied_count(const double *scores, int64_t K)
    int64_t tied_arm(const double *scores, int64_t K, int64_t place)
    int64_t estimates(const double *scores, const double *along, int64_t K, double phi, double *out)
    void upper(const double *scores, const double *squares, const double *along, int64_t K, double phi,
               double psi, double beta, double *out)
    int64_t best_upper(const double *scores, const double *squares, const double *along, int64_t K,
                       double phi, double psi, double beta, int64_t guess, double *work, int64_t *places)
    void subtract_arm(const double *squares, const double *along, int64_t K, double psi, int64_t a,
                      const double *chances, double *products)
    void greedy_interval(double *scores, const double *along, int64_t K, int64_t a, double *low,
                         double *high)


cdef struct Run:
    double arm            # -1 if no run is under way, or if its x is no arm
    double pulls          # n
    double rewards        # S
    double q              # |x|^2 in V^-1
    double start          # x'theta
    double phi, psi
    double log_det_ratio  # log(det V/det V_0) at the start of the run
    double closed         # runs closed since everything was computed anew


cdef struct State:
    int64_t d, K
    bint scored            # are scores and squared widths kept up?
    double penalty
    double *sums           # (d + 1, d): sum x x' (its lower triangle), and b below it
    double *carries        # (d + 1, d): what rounding took from each of the sums
    double *M              # (d, d), lower triangular: M'M = V^-1
    double *theta          # (d,), right behind M
    const double *columns  # (d, K): the arms
    double *scores         # (K,): x_k'theta
    double *squares        # (K,): |M x_k|^2
    double *along          # (K,): g_k
    double *floors         # (K,): below which a squared width may not fall before it is computed anew
    double *x              # (d,), of the run, as p and u
    double *p
    double *u
    double *work           # room for d numbers
    double *rests          # room for (d + 1) d numbers
    double *room           # room for K numbers
    int64_t *places        # room for K
    double *sample         # room for 3 d
    double *whole          # room for 2 (d + 1) d
    double *law            # room for `law_size` numbers, where a base draws its arm from a law
    double told            # how many rewards were learnt, where somebody counts
    double *pulls          # (K,): how often each arm was played, and the sum of its rewards, where somebody counts
    double *rewards
    Run *run


cdef inline double log_det_ratio(const State *s) noexcept nogil:
    """log(det V/det V_0), with the run under way."""
    return s.run.log_det_ratio + log1p(s.run.pulls * s.run.q)


cdef inline bint is_long(const Run *run) noexcept nogil:
    """Must the run be closed, for the growth that it brought or because its plain sum is long?"""
    return 1.0 + run.pulls * run.q > GROWTH or run.pulls >= 4096.0


cdef inline void add_to_run(Run *run, double pulls, double rewards) noexcept nogil:
    """So many pulls more, with that sum of rewards."""
    cdef double grown
    run.pulls += pulls
    run.rewards += rewards
    grown = 1.0 + run.pulls * run.q
    run.phi = (run.rewards - run.pulls * run.start) / grown
    run.psi = run.pulls / grown


cdef int check_penalty(double penalty) except -1

cdef double FINE   # below this penalty sums and the factor have 32 digits
cdef double HEAVY  # n |x|^2 against the penalty from which on they are added with 32 digits

cdef double dot(const double *a, const double *b, int64_t n) noexcept nogil
cdef double factor(State *s) noexcept nogil
cdef bint may_be_steep(const State *s, double trace) noexcept nogil
cdef bint factor_sums(State *s, double *ratio) noexcept nogil
cdef void invert(State *s) noexcept nogil
cdef void estimate(State *s) noexcept nogil
cdef double solve_sums(State *s) noexcept nogil
cdef void refresh(State *s) noexcept nogil
cdef void score(State *s) noexcept nogil
cdef void add_pulls(State *s, const double *x, double n, double rewards) noexcept nogil
cdef void add_exactly(State *s, int64_t at, double a, double b) noexcept nogil
cdef void fade(State *s, double rate) noexcept nogil
cdef void absorb(State *s, const double *x, double reward, double weight) noexcept nogil
cdef void whole_sums(const State *s) noexcept nogil
cdef void rank_one(double *M, const double *p, int64_t d, double n, double *before) noexcept nogil
cdef double solve(const State *s, const double *x, double *out) noexcept nogil
cdef void covariances(const State *s, int64_t arm, const double *chances, double *room, double *out) noexcept nogil
cdef void distances(const State *s, int64_t arm, const double *chances, double *room, double *out) noexcept nogil
cdef void open_run(State *s) noexcept nogil
cdef void close_run(State *s) noexcept nogil
cdef void learn(State *s, int64_t arm, double reward) noexcept nogil
cdef void learn_counted(State *s, int64_t arm, const double *x, double reward, double weight) noexcept nogil
cdef bint is_steep(const State *s) noexcept nogil
cdef void perturb(const State *s, double scale, const double *direction, double *out,
                  double *sums) noexcept nogil


cdef class Ridge:
    cdef State state
    cdef readonly int64_t version  # raised by every change that Python makes
    cdef readonly object columns, sums, solved, scores, vectors, run, counts
    cdef object _rooms
    cdef const double *row_of(self, on, int64_t *arm) except NULL
    cdef int begin(self, sums) except -1
