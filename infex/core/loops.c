#include "loops.h"

/* Where gcc and glibc can choose at load time, each loop is built for three generations of processors. */
#if defined(LOOP) /* a test builds the loops for one kind of processor */
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define LOOP __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LOOP
#endif
#if defined(_MSC_VER)
#define restrict __restrict
#define SIMD_MAX(...)
#else
#define PRAGMA(text) _Pragma(#text)
#define SIMD_MAX(...) PRAGMA(omp simd reduction(max : __VA_ARGS__)) /* a maximum is the same in any order */
#endif

#define TINY 1e-150
#define FAR 1e150 /* in place of infinity, with which loops would not be vectorised */

/* Is any of eight numbers no less than the bar? */
static inline int reaches(const double *restrict x, double bar) {
    int64_t hit = 0;
    for (int j = 0; j < 8; j++) hit |= x[j] >= bar ? -1 : 0;
    return hit != 0;
}

/* In `larger(x, y)` an x that is NaN loses, and y must be a number: so a NaN is never the maximum. */
LOOP double largest(const double *restrict scores, int64_t K) {
    double top = -INFINITY;
    SIMD_MAX(top)
    for (int64_t k = 0; k < K; k++) top = larger(scores[k], top);
    return top;
}

LOOP void product(const double *restrict columns, int64_t K, const double *restrict v, int64_t n,
                  double *restrict out) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const double *restrict c = columns + i * K;
        const double v0 = v[i], v1 = v[i + 1], v2 = v[i + 2], v3 = v[i + 3];
        const double v4 = v[i + 4], v5 = v[i + 5], v6 = v[i + 6], v7 = v[i + 7];
#define EIGHT (v0 * c[k] + v1 * c[K + k] + v2 * c[2 * K + k] + v3 * c[3 * K + k] + v4 * c[4 * K + k] \
               + v5 * c[5 * K + k] + v6 * c[6 * K + k] + v7 * c[7 * K + k])
        if (i == 0)
            for (int64_t k = 0; k < K; k++) out[k] = 0.0 + EIGHT;
        else
            for (int64_t k = 0; k < K; k++) out[k] = out[k] + EIGHT;
#undef EIGHT
    }
    for (; i + 2 <= n; i += 2) {
        const double *restrict c = columns + i * K;
        const double v0 = v[i], v1 = v[i + 1];
        if (i == 0)
            for (int64_t k = 0; k < K; k++) out[k] = 0.0 + (v0 * c[k] + v1 * c[K + k]);
        else
            for (int64_t k = 0; k < K; k++) out[k] = out[k] + (v0 * c[k] + v1 * c[K + k]);
    }
    if (i < n) {
        const double *restrict c = columns + i * K;
        const double v0 = v[i];
        if (i == 0)
            for (int64_t k = 0; k < K; k++) out[k] = 0.0 + v0 * c[k];
        else
            for (int64_t k = 0; k < K; k++) out[k] = out[k] + v0 * c[k];
    }
}

LOOP void square_widths(const double *restrict columns, int64_t K, const double *restrict M, int64_t d,
                        double *restrict squares, double *restrict row, double *restrict floors) {
    for (int64_t k = 0; k < K; k++) squares[k] = 0.0;
    for (int64_t i = 0; i < d; i++) {
        product(columns, K, M + i * d, i + 1, row);
        for (int64_t k = 0; k < K; k++) squares[k] += row[k] * row[k];
    }
    for (int64_t k = 0; k < K; k++) {
        row[k] = 0.0;
        floors[k] = squares[k] / GROWTH;
    }
}

LOOP int close_scores(double *restrict scores, double *restrict squares, const double *restrict along,
                      const double *restrict floors, int64_t K, double phi, double psi) {
    double fallen = 0.0;
    SIMD_MAX(fallen)
    for (int64_t k = 0; k < K; k++) {
        scores[k] += phi * along[k];
        const double square = larger(squares[k] - psi * along[k] * along[k], 0.0);
        squares[k] = square;
        fallen = larger(floors[k] - square, fallen);
    }
    return fallen > 0.0;
}

LOOP int64_t best(const double *restrict scores, int64_t K) {
    double top = -INFINITY;
    SIMD_MAX(top)
    for (int64_t k = 0; k < K; k++) top = larger(scores[k], top);
    const double bar = tie_bar(top);
    int64_t k = 0;
    while (k + 8 <= K && !reaches(scores + k, bar)) k += 8;
    for (; k < K; k++)
        if (scores[k] >= bar) return k;
    return -1;
}

LOOP int64_t first_largest(const double *restrict values, int64_t K) {
    const double top = largest(values, K), bar = top - NEARLY * fabs(top);
    int64_t k = 0;
    while (k + 8 <= K && !reaches(values + k, bar)) k += 8;
    while (k + 1 < K && !(values[k] >= bar)) k++;
    return k;
}

LOOP double wide_dot(const double *restrict a, const double *restrict b, int64_t n) {
    double sums[8] = {0.0}, total = 0.0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) sums[j] += a[i + j] * b[i + j];
    for (; i < n; i++) total += a[i] * b[i];
    for (int j = 0; j < 8; j++) total += sums[j];
    return total;
}

LOOP void subtract(double *restrict a, double share, const double *restrict b, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] -= share * b[i];
}

LOOP void square_lengths(const double *restrict columns, int64_t K, int64_t d, double *restrict squares) {
    for (int64_t k = 0; k < K; k++) squares[k] = 0.0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t k = 0; k < K; k++) squares[k] += columns[i * K + k] * columns[i * K + k];
}

LOOP void update_widths(double *restrict widths, const double *restrict along, int64_t K, double factor, double rest) {
    for (int64_t k = 0; k < K; k++) widths[k] = (widths[k] - factor * along[k] * along[k]) / rest;
}

int64_t tied_count(const double *restrict scores, int64_t K) {
    const double bar = tie_bar(largest(scores, K));
    int64_t count = 0;
    for (int64_t k = 0; k < K; k++) count += scores[k] >= bar;
    return count;
}

int64_t tied_arm(const double *restrict scores, int64_t K, int64_t place) {
    const double bar = tie_bar(largest(scores, K));
    for (int64_t k = 0; k < K; k++)
        if (scores[k] >= bar && place-- == 0) return k;
    return -1;
}

LOOP int64_t estimates(const double *restrict scores, const double *restrict along, int64_t K, double phi,
                       double *restrict out) {
    for (int64_t k = 0; k < K; k++) out[k] = scores[k] + phi * along[k];
    return best(out, K);
}

LOOP void upper(const double *restrict scores, const double *restrict squares, const double *restrict along,
                int64_t K, double phi, double psi, double beta, double *restrict out) {
    for (int64_t k = 0; k < K; k++)
        out[k] = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi);
}

LOOP int64_t best_upper(const double *restrict scores, const double *restrict squares,
                        const double *restrict along, int64_t K, double phi, double psi, double beta,
                        int64_t guess, double *restrict work, int64_t *restrict places) {
    if (beta > LARGEST_RADIUS) {
        upper(scores, squares, along, K, phi, psi, beta, work);
        return best(work, K);
    }
    const double reached = scores[guess] + phi * along[guess] + beta * width(squares[guess], along[guess], psi);
    const double limit = reached - SCREEN * (1.0 + fabs(reached));
    double top = -INFINITY;
    for (int64_t k = 0; k < K; k++) {
        const double gap = larger(limit - (scores[k] + phi * along[k]), 0.0);
        const double reach = larger(squares[k] - psi * along[k] * along[k], 0.0);
        work[k] = beta * beta * reach - gap * gap;
    }
    int64_t found = 0, k = 0;
    while (k < K) {
        const int64_t last = k + 8 <= K ? k + 8 : K;
        if (k + 8 <= K && !reaches(work + k, 0.0)) k = last; /* nearly all arms are out of reach */
        for (; k < last; k++)
            if (work[k] >= 0.0) {
                const double score = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi);
                work[found] = score;
                places[found] = k;
                found++;
                top = larger(score, top);
            }
    }
    const double bar = tie_bar(top);
    for (int64_t i = 0; i < found; i++)
        if (work[i] >= bar) return places[i];
    return -1;
}

static inline double slope(const double *chances, int64_t k) {
    return chances ? chances[k] * (1.0 - chances[k]) : 1.0;
}

LOOP void subtract_arm(const double *restrict squares, const double *restrict along, int64_t K, double psi, int64_t a,
                       const double *restrict chances, double *restrict products) {
    const double at = slope(chances, a), wide = at * at * larger(squares[a] - psi * along[a] * along[a], 0.0);
    for (int64_t k = 0; k < K; k++) {
        const double by = slope(chances, k);
        const double sum = by * by * larger(squares[k] - psi * along[k] * along[k], 0.0) + wide;
        const double square = sum - 2.0 * products[k];
        products[k] = square > CANCELS * sum ? sqrt(square) : -1.0;
    }
}

LOOP void greedy_interval(double *restrict scores, const double *restrict along, int64_t K, int64_t a,
                          double *low_end, double *high_end) {
    const double sa = scores[a], ga = along[a], top = 10.0 * (1.0 + fabs(sa));
    const double eps = 10.0 * TIE * (1.0 + top), high = (top - fabs(sa)) / larger(ga, TINY);
    double low = -high, down = -high; /* `down` is minus the upper end, so that both are maxima */
    scores[a] = -FAR;                 /* leaves the arm itself out */
    SIMD_MAX(low, down)
    for (int64_t k = 0; k < K; k++) {
        const double step = ga - along[k];
        const double bar = (scores[k] - sa + eps) / (step != 0.0 ? step : TINY);
        low = larger(step >= 0.0 ? bar : -FAR, low);
        down = larger(step < 0.0 ? -bar : -FAR, down);
    }
    scores[a] = sa;
    *low_end = low;
    *high_end = -down;
}

LOOP void weighted_gram(const double *restrict rows, const double *restrict weights, int64_t n, int64_t d,
                        double *restrict sums) {
    int64_t k = 0;
    for (int64_t i = 0; i < d * d; i++) sums[i] = 0.0;
    for (; k + 4 <= n; k += 4) {
        const double *restrict r0 = rows + k * d, *restrict r1 = r0 + d;
        const double *restrict r2 = r1 + d, *restrict r3 = r2 + d;
        for (int64_t i = 0; i < d; i++) {
            const double a0 = weights[k] * r0[i], a1 = weights[k + 1] * r1[i];
            const double a2 = weights[k + 2] * r2[i], a3 = weights[k + 3] * r3[i];
            double *restrict out = sums + i * d;
            for (int64_t j = 0; j <= i; j++) out[j] += a0 * r0[j] + a1 * r1[j] + (a2 * r2[j] + a3 * r3[j]);
        }
    }
    for (; k < n; k++) {
        const double *restrict row = rows + k * d;
        for (int64_t i = 0; i < d; i++) {
            const double part = weights[k] * row[i];
            double *restrict out = sums + i * d;
            for (int64_t j = 0; j <= i; j++) out[j] += part * row[j];
        }
    }
}

LOOP void untold(const double *restrict G, const double *restrict x, const double *restrict z, int64_t K, int64_t c,
                 int64_t s, double *restrict u, double *restrict out) {
    for (int64_t k = 0; k < K; k++) {
        const double *restrict own = G + k * c * s;
        for (int64_t j = 0; j < s; j++) u[j] = z[k * s + j];
        for (int64_t i = 0; i < c; i++)
            for (int64_t j = 0; j < s; j++) u[j] -= own[i * s + j] * x[i];
        for (int64_t j = 0; j < s; j++) out[j * K + k] = u[j];
    }
}
