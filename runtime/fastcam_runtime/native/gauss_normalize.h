/* The CDF of the normal distribution with the map's own mean and standard deviation: ½(1 + erf((s − μ)/(σ√2))). */
#include "extremes.h"
#include "kernels.h"

#include <math.h>

/* Partial sums: too many to unroll, so compilers vectorise the loop over them instead. */
enum { SUMS = 32 };

/* erf with an error of 4e-7: a rational fit for |x| ≤ 3.9. Beyond, erf is ±1 in float32. */
static inline float erf_of(float x)
{
    x = larger(smaller(x, 3.9f), -3.9f);
    float u = x * x;
    float p = 2.011873076e-08f;
    p = p * u - 1.996945454e-06f;
    p = p * u + 1.474783440e-04f;
    p = p * u + 3.896407468e-03f;
    p = p * u + 5.114929711e-02f;
    p = p * u + 2.042277424e-01f;
    p = p * u + 1.128378800e+00f;
    float q = 1.006635467e-03f;
    q = q * u + 1.473074652e-02f;
    q = q * u + 1.167867074e-01f;
    q = q * u + 5.143211367e-01f;
    q = q * u + 1.0f;
    return larger(smaller(x * p / q, 1), -1);
}

/* Mean and unbiased variance. The sums are of s − s[0], which avoids cancellation in a map with low contrast:
 * s[0] is at most √count standard deviations from the mean. The variance of equal values is exactly 0. */
static void moments(const float *s, size_t count, double *mean, double *variance)
{
    double first[SUMS] = {0}, second[SUMS] = {0}, shift = (double)s[0], n = (double)count;
    size_t whole = count - count % SUMS;
    for (size_t p = 0; p < whole; p += SUMS) {
        for (size_t i = 0; i < SUMS; i++) {
            double d = (double)s[p + i] - shift;
            first[i] += d;
            second[i] += d * d;
        }
    }
    for (size_t i = 0; i < count - whole; i++) {
        double d = (double)s[whole + i] - shift;
        first[i] += d;
        second[i] += d * d;
    }
    double sum = 0, squares = 0;
    for (size_t i = 0; i < SUMS; i++) {
        sum += first[i];
        squares += second[i];
    }
    *mean = shift + sum / n;
    *variance = count > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
}

static void gauss_normalize(const float *map, size_t count, float *restrict out)
{
    double mean, variance;
    if (count == 0)
        return;
    moments(map, count, &mean, &variance);
    /* The variance is 0 for a constant map, and NaN or infinite for a map that is not finite. */
    if (!(variance > 0 && variance <= 1.7976931348623157e308)) {
        for (size_t p = 0; p < count; p++)
            out[p] = 0.5f;
        return;
    }
    double scale = 1 / sqrt(2 * variance);
    for (size_t p = 0; p < count; p++)
        out[p] = 0.5f + 0.5f * erf_of((float)(((double)map[p] - mean) * scale));
}
