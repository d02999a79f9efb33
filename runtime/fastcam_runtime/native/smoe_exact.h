/* SMOE Scale the slow way: through deviations from the mean in double precision, where every term is ≥ 0. */
#include "kernels.h"
#include "logarithms.h"

enum { CHUNK = 16 /* pixels that are done together */ };

static inline float max0(float x) { return x > 0 ? x : 0; } /* 0 for a NaN */

static inline const float *channel_of(Activations x, size_t c)
{
    return x.data + c / x.block * x.stride + c % x.block;
}

static inline Activations from_pixel(Activations x, size_t p)
{
    x.data += p * x.block;
    return x;
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

/* Up to CHUNK pixels: m/ln 2 · mean(d − log(1 + d)), d = y/m − 1. */
static inline void smoe_exact(Activations x, size_t count, float epsilon, float *out)
{
    double mean[CHUNK] = {0}, inverse[CHUNK], sum[CHUNK] = {0};
    float low[CHUNK], high[CHUNK];
    for (size_t p = 0; p < count; p++)
        low[p] = high[p] = max0(x.data[p * x.block]);
    for (size_t c = 0; c < x.channels; c++) {
        const float *row = channel_of(x, c);
        for (size_t p = 0; p < count; p++) {
            float v = max0(row[p * x.block]);
            low[p] = v < low[p] ? v : low[p];
            high[p] = v > high[p] ? v : high[p];
            mean[p] += (double)v;
        }
    }
    int differ = 0;
    for (size_t p = 0; p < count; p++) {
        mean[p] = mean[p] / (double)x.channels + (double)epsilon;
        inverse[p] = 1 / mean[p];
        differ |= low[p] < high[p];
    }
    for (size_t c = 0; differ && c < x.channels; c++) {
        const float *row = channel_of(x, c);
        for (size_t p = 0; p < count; p++)
            sum[p] += excess((double)max0(row[p * x.block]) + (double)epsilon, mean[p], inverse[p]);
    }
    for (size_t p = 0; p < count; p++) {
        double s = mean[p] / 0.6931471805599453 * sum[p] / (double)x.channels;
        out[p] = low[p] < high[p] && s > 0 && s <= 3.4028234663852886e38 ? (float)s : 0;
    }
}
