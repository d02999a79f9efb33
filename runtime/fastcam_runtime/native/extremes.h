/* Minimum and maximum, written so that compilers emit one instruction, and of many values. x86 has the instruction of
 * the comparison, ARM that of C's own functions: they differ only if `b` is a NaN. */
#ifndef FASTCAM_EXTREMES_H
#define FASTCAM_EXTREMES_H

#include <math.h>
#include <stddef.h>

#ifdef __aarch64__
static inline float smaller(float a, float b) { return fminf(a, b); }
static inline float larger(float a, float b) { return fmaxf(a, b); }
#else
static inline float smaller(float a, float b) { return a < b ? a : b; }
static inline float larger(float a, float b) { return a > b ? a : b; }
#endif

/* Partial extremes: too many to unroll, so compilers vectorise the loop over them instead. */
enum { EXTREMES = 32 };

/* Widen `least` … `most` to include all values. */
static inline void extremes_of(const float *values, size_t count, float *least, float *most)
{
    float low[EXTREMES], high[EXTREMES];
    for (size_t i = 0; i < EXTREMES; i++) {
        low[i] = *least;
        high[i] = *most;
    }
    size_t whole = count - count % EXTREMES;
    for (size_t p = 0; p < whole; p += EXTREMES) {
        for (size_t i = 0; i < EXTREMES; i++) {
            low[i] = smaller(values[p + i], low[i]);
            high[i] = larger(values[p + i], high[i]);
        }
    }
    for (size_t p = whole; p < count; p++) {
        *least = smaller(values[p], *least);
        *most = larger(values[p], *most);
    }
    for (size_t i = 0; i < EXTREMES; i++) {
        *least = smaller(low[i], *least);
        *most = larger(high[i], *most);
    }
}

#endif
