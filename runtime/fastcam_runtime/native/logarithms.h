/* Logarithms without library calls, so that compilers vectorise loops over them. */
#ifndef FASTCAM_LOGARITHMS_H
#define FASTCAM_LOGARITHMS_H

#include <stdint.h>
#include <string.h>

/* A positive, normal double x as 2^(e + ½)·(1 + z)/(1 − z) with |z| < 0.172. */
static inline double split_of(double x, double *e)
{
    const double two52 = 4503599627370496.0, root2 = 1.4142135623730951;
    uint64_t bits, whole;
    double f;
    memcpy(&bits, &x, sizeof bits);
    /* AVX2 cannot convert 64-bit integers: put the exponent into the low bits of 2^52 and subtract. */
    whole = (bits >> 52) | 0x4330000000000000u;
    memcpy(e, &whole, sizeof *e);
    *e -= two52 + 1023;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&f, &bits, sizeof f);
    return (f - root2) / (f + root2);
}

/* Natural logarithm of a positive, normal double. The error is at most 4e-16·max(1, |result|). */
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

/* log2((1 + z)/(1 − z)) = 2/ln 2·artanh z for |z| < 0.172, with an error of 5e-8. The last coefficient also stands for
 * the terms that follow. */
static inline float log2_series(float z)
{
    float w = z * z;
    float series = 0.421175352f;
    series = series * w + 2.885390082f / 5;
    series = series * w + 2.885390082f / 3;
    series = series * w + 2.885390082f;
    return z * series;
}

/* log2 of a float in [1, 2), with an error of 2e-7. */
static inline float log2_of_mantissa(float f)
{
    const float root2 = 1.41421356f;
    return 0.5f + log2_series((f - root2) / (f + root2));
}

#endif
