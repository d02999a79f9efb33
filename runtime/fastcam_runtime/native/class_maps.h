/* The last steps of the class maps: min–max of the upsampled CAM, and its products with the combined map. */
#include "extremes.h"
#include "kernels.h"

#include <math.h>

/* A map whose range is below this fraction of its maximum counts as constant: upsampling rounds by that much. */
#define ROUNDING 1e-6f

static void minmax(const float *map, size_t count, float *restrict out)
{
    if (count == 0)
        return;
    float least = map[0], most = map[0];
    extremes_of(map, count, &least, &most);
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
