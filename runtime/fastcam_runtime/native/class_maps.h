/* The last steps of the class maps: min–max of the upsampled CAM, and its products with the combined map. */
#include "extremes.h"
#include "kernels.h"

#include <math.h>

/* Partial extremes: too many to unroll, so compilers vectorise the loop over them instead. */
enum { EXTREMES = 32 };

/* A map whose range is below this fraction of its maximum counts as constant: upsampling rounds by that much. */
#define ROUNDING 1e-6f

static void minmax(const float *map, size_t count, float *restrict out)
{
    if (count == 0)
        return;
    float low[EXTREMES], high[EXTREMES], least = map[0], most = map[0];
    for (size_t i = 0; i < EXTREMES; i++)
        low[i] = high[i] = map[0];
    size_t whole = count - count % EXTREMES;
    for (size_t p = 0; p < whole; p += EXTREMES) {
        for (size_t i = 0; i < EXTREMES; i++) {
            low[i] = smaller(map[p + i], low[i]);
            high[i] = larger(map[p + i], high[i]);
        }
    }
    for (size_t p = whole; p < count; p++) {
        least = smaller(map[p], least);
        most = larger(map[p], most);
    }
    for (size_t i = 0; i < EXTREMES; i++) {
        least = smaller(low[i], least);
        most = larger(high[i], most);
    }
    float span = most - least;
    float divisor = span > most * ROUNDING ? span : INFINITY;
    for (size_t p = 0; p < count; p++)
        out[p] = (map[p] - least) / divisor;
}

static void fast_cam(const float *combined, const float *cam, size_t count, float *restrict out)
{
    for (size_t p = 0; p < count; p++)
        out[p] = combined[p] * cam[p];
}

static void non_class(const float *combined, const float *cam, size_t count, float *restrict out)
{
    for (size_t p = 0; p < count; p++)
        out[p] = combined[p] * (1 - cam[p]);
}
