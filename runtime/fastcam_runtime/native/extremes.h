/* Minimum and maximum, written so that compilers emit one instruction, and of many values. */
#ifndef FASTCAM_EXTREMES_H
#define FASTCAM_EXTREMES_H

#include <stddef.h>

static inline float smaller(float a, float b) { return a < b ? a : b; }
static inline float larger(float a, float b) { return a > b ? a : b; }

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
