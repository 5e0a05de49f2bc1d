/* Greedy, LinUCB and LinTS over a fixed arm set, as one writes them in C by hand: a yardstick for whole runs.

   Estimates and squared widths of all arms are kept up with one product a round; none is needed where the same
   arm goes on. LinTS keeps a factor of V^-1. Rewards are +1 and -1. `columns` are the arms, (dim, arms). */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GREEDY, LINUCB, LINTS };

/* xoshiro256++ of Blackman and Vigna */
typedef struct { uint64_t s[4]; } Random;

static inline uint64_t turned(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

static inline uint64_t next(Random *r) {
    uint64_t *s = r->s, found = turned(s[0] + s[3], 23) + s[0], kept = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= kept; s[3] = turned(s[3], 45);
    return found;
}

static inline double uniform(Random *r) { return (double)(next(r) >> 11) * 0x1.0p-53; }

/* Normal draws by the ziggurat of Marsaglia and Tsang (2000), 128 layers. */
#define LAYERS 128
#define RIGHT 3.442619855899
#define AREA 9.91256303526217e-3
static double inside[LAYERS], scale[LAYERS], height[LAYERS];

static void build(void) {
    double edge = RIGHT, last = RIGHT, unit = 0x1.0p52, first = AREA / exp(-0.5 * RIGHT * RIGHT);
    inside[0] = RIGHT / first * unit;
    inside[1] = 0.0;
    scale[0] = first / unit;
    scale[LAYERS - 1] = RIGHT / unit;
    height[0] = 1.0;
    height[LAYERS - 1] = exp(-0.5 * RIGHT * RIGHT);
    for (int i = LAYERS - 2; i >= 1; i--) {
        edge = sqrt(-2.0 * log(AREA / last + exp(-0.5 * last * last)));
        inside[i + 1] = edge / last * unit;
        last = edge;
        height[i] = exp(-0.5 * edge * edge);
        scale[i] = edge / unit;
    }
}

static inline double normal(Random *r) {
    for (;;) {
        uint64_t bits = next(r);
        int i = (int)(bits & (LAYERS - 1));
        double j = (double)((int64_t)bits >> 11), x = j * scale[i];
        if (fabs(j) < inside[i]) return x;
        if (i == 0) {
            double far, up;
            do {
                far = -log(1.0 - uniform(r)) / RIGHT;
                up = -log(1.0 - uniform(r));
            } while (up + up < far * far);
            return x > 0 ? RIGHT + far : -RIGHT - far;
        }
        if (height[i] + uniform(r) * (height[i - 1] - height[i]) < exp(-0.5 * x * x)) return x;
    }
}

static void product(int dim, int arms, const double *columns, const double *vector, double *out) {
    memset(out, 0, sizeof(double) * (size_t)arms);
    for (int i = 0; i < dim; i++)
        for (int k = 0; k < arms; k++) out[k] += vector[i] * columns[i * arms + k];
}

static int best(int arms, const double *scores) {
    double top = scores[0];
    for (int k = 1; k < arms; k++) top = scores[k] > top ? scores[k] : top;
    int k = 0;
    while (scores[k] < top) k++;
    return k;
}

/* p = M x, u = M'p, and |p|^2 */
static double project(int dim, const double *M, const double *x, double *p, double *u) {
    double q = 0.0;
    memset(u, 0, sizeof(double) * (size_t)dim);
    for (int i = 0; i < dim; i++) {
        double sum = 0.0;
        for (int j = 0; j <= i; j++) sum += M[i * dim + j] * x[j];
        p[i] = sum;
        q += sum * sum;
        for (int j = 0; j <= i; j++) u[j] += sum * M[i * dim + j];
    }
    return q;
}

/* M becomes the factor of V + x x' */
static void grow(int dim, double *M, const double *p, double *before) {
    double c = 1.0;
    memset(before, 0, sizeof(double) * (size_t)dim);
    for (int i = 0; i < dim; i++) {
        double grown = c + p[i] * p[i], shrink = sqrt(c / grown), part = p[i] / c;
        for (int j = 0; j <= i; j++) {
            double old = M[i * dim + j];
            M[i * dim + j] = shrink * (old - part * before[j]);
            before[j] += p[i] * old;
        }
        c = grown;
    }
}

/* The regret of one run. */
double play(int kind, int dim, int arms, int64_t horizon, const double *columns, const double *means, double delta,
            uint64_t seed) {
    Random random = {{seed, 0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u, 0x8CB92BA72F3D8DD7u}};
    size_t row = sizeof(double) * (size_t)((arms + 7) / 8 * 8), line = sizeof(double) * (size_t)((dim + 7) / 8 * 8);
    double *s = aligned_alloc(64, row), *w = aligned_alloc(64, row), *g = aligned_alloc(64, row);
    double *scores = aligned_alloc(64, row), *theta = aligned_alloc(64, line), *u = aligned_alloc(64, line);
    double *p = aligned_alloc(64, line), *x = aligned_alloc(64, line), *work = aligned_alloc(64, line);
    double *M = calloc((size_t)(dim * dim), sizeof(double));
    double volume = 0.0, regret = 0.0, top = means[best(arms, means)], q = 0.0;
    int last = -1;
    build();
    for (int i = 0; i < 64; i++) next(&random);
    memset(s, 0, row); memset(w, 0, row); memset(g, 0, row); memset(theta, 0, line);
    for (int i = 0; i < dim; i++) {
        M[i * dim + i] = 1.0;
        for (int k = 0; k < arms; k++) w[k] += columns[i * arms + k] * columns[i * arms + k];
    }
    for (int64_t t = 0; t < horizon; t++) {
        double beta = sqrt(volume - 2.0 * log(delta)) + 1.0;
        if (kind == LINUCB) {
            for (int k = 0; k < arms; k++) scores[k] = s[k] + beta * sqrt(w[k] > 0.0 ? w[k] : 0.0);
        } else if (kind == LINTS) {
            for (int i = 0; i < dim; i++) work[i] = theta[i];
            for (int i = 0; i < dim; i++) {
                double eta = beta * normal(&random);
                for (int j = 0; j <= i; j++) work[j] += eta * M[i * dim + j];
            }
            product(dim, arms, columns, work, scores);
        } else {
            product(dim, arms, columns, theta, scores);
        }
        int arm = best(arms, scores);
        double reward = uniform(&random) < (1.0 + means[arm]) / 2.0 ? 1.0 : -1.0, estimate = 0.0;
        int again = arm == last && kind != LINTS;
        if (again) {
            for (int i = 0; i < dim; i++) { u[i] /= 1.0 + q; p[i] = 0.0; }
        } else {
            for (int i = 0; i < dim; i++) x[i] = columns[i * arms + arm];
        }
        double before = q;
        q = project(dim, M, x, p, u);
        for (int i = 0; i < dim; i++) estimate += x[i] * theta[i];
        double step = (reward - estimate) / (1.0 + q);
        for (int i = 0; i < dim; i++) theta[i] += step * u[i];
        grow(dim, M, p, work);
        if (kind == LINUCB) {
            double part = 1.0 / (1.0 + before), fall = 1.0 / (1.0 + q);
            if (again)
                for (int k = 0; k < arms; k++) g[k] *= part;
            else
                product(dim, arms, columns, u, g);
            for (int k = 0; k < arms; k++) {
                s[k] += step * g[k];
                w[k] -= fall * g[k] * g[k];
            }
        }
        volume += log1p(q);
        regret += top - means[arm];
        last = arm;
    }
    free(s); free(w); free(g); free(scores); free(theta); free(u); free(p); free(x); free(work); free(M);
    return regret;
}
