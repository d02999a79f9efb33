/* SMOE Scale: with y = max(x, 0) + ε and m = mean y over the channels, m·(log2 m − mean log2 y).
 *
 * The logarithms of a column are one logarithm of a product. Four factors fit into a float; of every such
 * product the exponent is added and the mantissa, in [1, 2), multiplied: two logarithms per pixel remain.
 * Where log2 m − mean log2 y comes out small it is a difference of nearly equal numbers, and where values are
 * outlandish the product of four would leave the floats: both go the slow way, through deviations from the mean
 * in double precision. A NaN counts as 0, and a column with an infinity gives 0. The result is always finite and
 * ≥ 0, and exactly 0 for equal channels. */
#include "kernels.h"

#include <string.h>

enum {
    GROUP = 4,   /* factors of a product */
    CHUNK = 16,  /* pixels that go the slow way together */
    BLOCK = 256, /* channels after which the mantissas are brought back: their product is below 2^(BLOCK/4 + 8) */
    APART = 16,  /* floats of a cache line */
    EXPONENT_BIAS = 127,
};

/* Below this, log2 m − mean log2 y has less than six good digits left in the fast way. */
#define NEARLY_EQUAL 0.25
/* Products of four values in this range are normal floats. A column's sum bounds its largest value. */
#define SMALLEST_EPSILON 1e-9f
#define LARGEST_SUM 4e9

static inline float max0(float x) { return x > 0 ? x : 0; } /* 0 for a NaN */

static inline int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* max(x, 0) + ε in one operation less: ordered as integers, every negative float lies below 0. Keeps a NaN. */
static inline float lifted(float x, float epsilon, int relu)
{
    int32_t bits = bits_of(x);
    bits = bits > 0 || !relu ? bits : 0;
    memcpy(&x, &bits, sizeof x);
    return x + epsilon;
}

static inline int32_t exponent_of(float x) { return bits_of(x) >> 23; } /* of a positive number, biased */

static inline float mantissa_of(float x)
{
    int32_t bits = (bits_of(x) & 0x007fffff) | 0x3f800000;
    float mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    return mantissa;
}

/* A positive, normal double x as 2^(e + ½)·(1 + z)/(1 − z) with |z| < 0.172. */
static inline double split_of(double x, double *e)
{
    const double two52 = 4503599627370496.0, root2 = 1.4142135623730951;
    uint64_t bits, whole;
    double f;
    memcpy(&bits, &x, sizeof bits);
    /* AVX2 converts no 64-bit integers: plant the exponent in the low bits of 2^52 and subtract. */
    whole = (bits >> 52) | 0x4330000000000000u;
    memcpy(e, &whole, sizeof *e);
    *e -= two52 + 1023;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&f, &bits, sizeof f);
    return (f - root2) / (f + root2);
}

/* Natural logarithm of a positive, normal double; good to 2e-16 of the larger of 1 and the result. */
static inline double log_of(double x)
{
    double e, z = split_of(x, &e), w = z * z;
    double series = 1.0 / 19;
    series = series * w + 1.0 / 17;
    series = series * w + 1.0 / 15;
    series = series * w + 1.0 / 13;
    series = series * w + 1.0 / 11;
    series = series * w + 1.0 / 9;
    series = series * w + 1.0 / 7;
    series = series * w + 1.0 / 5;
    series = series * w + 1.0 / 3;
    series = series * w + 1.0;
    return (e + 0.5) * 0.6931471805599453 + 2 * z * series;
}

/* log2 of a positive, normal double, to 2e-9. */
static inline double log2_of(double x)
{
    const double per_log2 = 2.8853900817779268; /* 2/ln 2 */
    double e, z = split_of(x, &e), w = z * z;
    double series = per_log2 / 9;
    series = series * w + per_log2 / 7;
    series = series * w + per_log2 / 5;
    series = series * w + per_log2 / 3;
    series = series * w + per_log2;
    return e + 0.5 + z * series;
}

/* log2 of a float in [1, 2), to 2e-7. */
static inline float log2_of_mantissa(float f)
{
    const float root2 = 1.41421356f;
    float z = (f - root2) / (f + root2), w = z * z;
    float series = 2.885390082f / 7;
    series = series * w + 2.885390082f / 5;
    series = series * w + 2.885390082f / 3;
    series = series * w + 2.885390082f;
    return 0.5f + z * series;
}

/* d − log(1 + d) of d = (y − m)/m, ≥ 0: without cancellation for small d, nor for y far below m. */
static inline double excess(double y, double mean, double inverse)
{
    double d = (y - mean) * inverse;
    double series = 1.0 / 9;
    series = 1.0 / 8 - d * series;
    series = 1.0 / 7 - d * series;
    series = 1.0 / 6 - d * series;
    series = 1.0 / 5 - d * series;
    series = 1.0 / 4 - d * series;
    series = 1.0 / 3 - d * series;
    series = 1.0 / 2 - d * series;
    double direct = d - log_of(y * inverse);
    return d > -0.01 && d < 0.01 ? d * d * series : direct;
}

/* The slow way, for up to CHUNK pixels: m/ln 2 · mean(d − log(1 + d)), d = y/m − 1. Every term is ≥ 0. */
static void smoe_exact(const float *x, size_t stride, size_t channels, size_t count, float epsilon, float *out)
{
    double mean[CHUNK] = {0}, inverse[CHUNK], sum[CHUNK] = {0};
    float low[CHUNK], high[CHUNK];
    for (size_t p = 0; p < count; p++)
        low[p] = high[p] = max0(x[p]);
    for (size_t c = 0; c < channels; c++) {
        const float *row = x + c * stride;
        for (size_t p = 0; p < count; p++) {
            float v = max0(row[p]);
            low[p] = v < low[p] ? v : low[p];
            high[p] = v > high[p] ? v : high[p];
            mean[p] += (double)v;
        }
    }
    int differ = 0;
    for (size_t p = 0; p < count; p++) {
        mean[p] = mean[p] / (double)channels + (double)epsilon;
        inverse[p] = 1 / mean[p];
        differ |= low[p] < high[p];
    }
    for (size_t c = 0; differ && c < channels; c++) {
        const float *row = x + c * stride;
        for (size_t p = 0; p < count; p++)
            sum[p] += excess((double)max0(row[p]) + (double)epsilon, mean[p], inverse[p]);
    }
    for (size_t p = 0; p < count; p++) {
        double s = mean[p] / 0.6931471805599453 * sum[p] / (double)channels;
        out[p] = low[p] < high[p] && s > 0 && s <= 3.4028234663852886e38 ? (float)s : 0;
    }
}

/* What the fast way knows of its pixels: Σy, and Πy as mantissa·2^(exponent − bias). The arrays are not whole
 * pages apart: a processor that compares the low bits of addresses would let a load of one wait for a store to
 * another. */
typedef struct {
    double total[SMOE_TILE + 3 * APART];
    float mantissa[SMOE_TILE + 5 * APART];
    int32_t exponent[SMOE_TILE];
} Columns;

/* The maps of `count` columns into `out`, with −1 where a column has to go the slow way. */
static void finish_columns(const Columns *columns, size_t channels, int32_t bias, size_t count, float *out)
{
    const double share = 1 / (double)channels;
    for (size_t p = 0; p < count; p++) {
        double mean = columns->total[p] * share;
        /* The product's share of the error shrinks with the number of channels, the mean's does not. */
        double logs = (double)log2_of_mantissa(columns->mantissa[p]) + (double)(columns->exponent[p] - bias);
        double q = log2_of(mean) - logs * share;
        out[p] = q > NEARLY_EQUAL && columns->total[p] < LARGEST_SUM ? (float)(mean * q) : -1;
    }
}

/* Send every CHUNK that holds a −1, or all of them, the slow way. */
static void repair_columns(const float *x, size_t stride, size_t channels, size_t count, float epsilon, int all,
                           float *out)
{
    for (size_t p = 0; p < count; p += CHUNK) {
        size_t n = count - p < CHUNK ? count - p : CHUNK;
        int found = all;
        for (size_t i = p; !all && i < p + n; i++)
            found |= out[i] < 0;
        if (found)
            smoe_exact(x + p, stride, channels, n, epsilon, out + p);
    }
}

static void begin_columns(Columns *columns, size_t count)
{
    for (size_t p = 0; p < count; p++) {
        columns->total[p] = 0;
        columns->mantissa[p] = 1;
        columns->exponent[p] = 0;
    }
}

/* Multiply eight channels of each pixel into the columns. */
static inline void gather_eight(Columns *columns, const float *x, size_t stride, size_t count, float epsilon,
                                int relu)
{
    const float *x0 = x, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    const float *x4 = x3 + stride, *x5 = x4 + stride, *x6 = x5 + stride, *x7 = x6 + stride;
    double *restrict total = columns->total;
    float *restrict mantissa = columns->mantissa;
    int32_t *restrict exponent = columns->exponent;
    for (size_t p = 0; p < count; p++) {
        float y0 = lifted(x0[p], epsilon, relu), y1 = lifted(x1[p], epsilon, relu);
        float y2 = lifted(x2[p], epsilon, relu), y3 = lifted(x3[p], epsilon, relu);
        float y4 = lifted(x4[p], epsilon, relu), y5 = lifted(x5[p], epsilon, relu);
        float y6 = lifted(x6[p], epsilon, relu), y7 = lifted(x7[p], epsilon, relu);
        float a = (y0 * y1) * (y2 * y3), b = (y4 * y5) * (y6 * y7);
        total[p] += (double)(((y0 + y1) + (y2 + y3)) + ((y4 + y5) + (y6 + y7)));
        exponent[p] += exponent_of(a) + exponent_of(b);
        mantissa[p] *= mantissa_of(a) * mantissa_of(b);
    }
}

/* Multiply one channel of each pixel into the columns. */
static inline void gather_one(Columns *columns, const float *x, size_t count, float epsilon, int relu)
{
    double *restrict total = columns->total;
    float *restrict mantissa = columns->mantissa;
    int32_t *restrict exponent = columns->exponent;
    for (size_t p = 0; p < count; p++) {
        float y = lifted(x[p], epsilon, relu);
        total[p] += (double)y;
        exponent[p] += exponent_of(y);
        mantissa[p] *= mantissa_of(y);
    }
}

/* Bring the mantissas back to [1, 2). */
static void settle(Columns *columns, size_t count)
{
    for (size_t p = 0; p < count; p++) {
        columns->exponent[p] += exponent_of(columns->mantissa[p]);
        columns->mantissa[p] = mantissa_of(columns->mantissa[p]);
    }
}

static inline void smoe_of(const float *x, size_t stride, size_t channels, size_t count, float epsilon, int relu,
                           float *out)
{
    Columns columns;
    int32_t bias = 0;
    int fast = epsilon >= SMALLEST_EPSILON;
    if (fast) {
        begin_columns(&columns, count);
        for (size_t start = 0; start < channels; start += BLOCK) {
            size_t end = channels - start < BLOCK ? channels : start + BLOCK, c = start;
            for (; c + 2 * GROUP <= end; c += 2 * GROUP, bias += 2 * EXPONENT_BIAS)
                gather_eight(&columns, x + c * stride, stride, count, epsilon, relu);
            for (; c < end; c++, bias += EXPONENT_BIAS)
                gather_one(&columns, x + c * stride, count, epsilon, relu);
            settle(&columns, count);
            bias += EXPONENT_BIAS;
        }
        finish_columns(&columns, channels, bias, count, out);
    }
    repair_columns(x, stride, channels, count, epsilon, !fast, out);
}

static void smoe_planes(const float *x, size_t stride, size_t channels, size_t count, float epsilon, float *out)
{
    smoe_of(x, stride, channels, count, epsilon, 0, out);
}

static void smoe_planes_relu(const float *x, size_t stride, size_t channels, size_t count, float epsilon, float *out)
{
    smoe_of(x, stride, channels, count, epsilon, 1, out);
}
