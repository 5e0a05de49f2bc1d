/* Loops over the arms: where a round spends its time.

   Every sum is taken in the order in which it is written, so that the same seed gives the same bits
   on every machine; compile with -ffp-contract=off and without fast mathematics. Arms stand as
   columns: `columns` is (d, K), so that each loop runs along memory. */
#ifndef INFEX_LOOPS_H
#define INFEX_LOOPS_H
#include <math.h>
#include <stdint.h>

#define TIE 1e-12    /* arms within TIE (1 + |best|) of the best score count as tied */
#define SCREEN 1e-9  /* how near to the best an arm's exact score is computed */
#define NEARLY 1e-9  /* which of equals comes first is not left to rounding */
#define LARGEST_RADIUS 1e150             /* beyond it the square would overflow */
#define CANCELS 1e-3 /* the share of a sum from which on a difference is computed by itself */
#define GROWTH 2980.9579870417283        /* e^8: the fall of a squared width that costs it digits */

static inline double larger(double a, double b) { return a > b ? a : b; }

/* The score from which on arms count as tied with the best one, of the score `top`. */
static inline double tie_bar(double top) { return isinf(top) ? top : top - TIE * (1.0 + fabs(top)); }

/* The width sqrt(w - psi g^2) of an arm within a run; rounding may not go below 0. */
static inline double width(double square, double along, double psi) {
    return sqrt(larger(square - psi * along * along, 0.0));
}

/* out_k = x_k'v by the first n features. */
void product(const double *columns, int64_t K, const double *v, int64_t n, double *out);

/* Squared widths |M x_k|^2 by the definition, M being lower triangular (d, d), and their floors. */
void square_widths(const double *columns, int64_t K, const double *M, int64_t d, double *squares,
                   double *row, double *floors);

/* Scores and squared widths after a run; has a squared width fallen below its floor? */
int close_scores(double *scores, double *squares, const double *along, const double *floors, int64_t K,
                 double phi, double psi);

/* The largest score; minus infinity if none is a number. */
double largest(const double *scores, int64_t K);

/* The lowest index among the arms tied for the largest score, whatever is NaN; -1 if no score is a number. */
int64_t best(const double *scores, int64_t K);

/* The lowest index of the largest values, where those within NEARLY of each other count as equal. */
int64_t first_largest(const double *values, int64_t K);

/* a'b of n numbers, in eight sums side by side. */
double wide_dot(const double *a, const double *b, int64_t n);

/* a - share b, in the place of a. */
void subtract(double *a, double share, const double *b, int64_t n);

/* In `squares` the sum of squares of every arm's d numbers. */
void square_lengths(const double *columns, int64_t K, int64_t d, double *squares);

/* (w_k - factor g_k^2)/rest, in the place of w_k. */
void update_widths(double *widths, const double *along, int64_t K, double factor, double rest);

/* How many arms are tied for the largest score, and the one at a place among them (-1: none). */
int64_t tied_count(const double *scores, int64_t K);
int64_t tied_arm(const double *scores, int64_t K, int64_t place);

/* In `out` the estimates s_k + phi g_k; the greedy arm. */
int64_t estimates(const double *scores, const double *along, int64_t K, double phi, double *out);

/* In `out` the upper bounds s_k + phi g_k + beta width_k. */
void upper(const double *scores, const double *squares, const double *along, int64_t K, double phi,
           double psi, double beta, double *out);

/* The arm that `best` finds among the upper bounds, with few square roots.

   Arm k can reach a limit only if beta^2 w_k >= max(limit - s_k, 0)^2. The limit is the bound of a
   guess, lowered so far that rounding loses no arm; exact bounds of what is left decide.
   `work` and `places` have room for K numbers. */
int64_t best_upper(const double *scores, const double *squares, const double *along, int64_t K, double phi,
                   double psi, double beta, int64_t guess, double *work, int64_t *places);

/* In `products`, the covariances of arms with arm a, the widths |x_k - x_a| in V^-1 from squared widths; -1 where they cancel.

   |x_k|^2 + |x_a|^2 - 2 x_k'V^-1 x_a keeps 13 digits where it is at least CANCELS of the sum. Where estimates are
   `chances` p, (K,), an arm stands for p (1 - p) x; NULL: they are not. */
void subtract_arm(const double *squares, const double *along, int64_t K, double psi, int64_t a,
                  const double *chances, double *products);

/* The open interval of phi in which arm a is the greedy arm, and no other is near a tie with it.

   Arm k stays below arm a by more than eps iff (s_a - s_k) + phi (g_a - g_k) > eps. The tolerance is
   ten times too wide, and the estimate is held below a bound, so that rounding cannot bring in an arm
   that a scan would find tied. */
void greedy_interval(double *scores, const double *along, int64_t K, int64_t a, double *low, double *high);

/* The lower triangle of sum w_k r_k r_k' over n rows of d numbers, in `sums`, (d, d); the rest becomes 0. */
void weighted_gram(const double *rows, const double *weights, int64_t n, int64_t d, double *sums);

/* In `out`, (s, K), z_k - G_k'x of every arm, where z are (K, s) and G (K, c, s); `u` has room for s numbers. */
void untold(const double *G, const double *x, const double *z, int64_t K, int64_t c, int64_t s, double *u,
            double *out);
#endif
