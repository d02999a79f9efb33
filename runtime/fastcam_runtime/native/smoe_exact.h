/* The exact path of SMOE Scale: it sums deviations from the mean in double precision, where every term is ≥ 0. */
#include "kernels.h"
#include "logarithms.h"

enum { CHUNK = 16 /* pixels per call */ };

static inline float max0(float x) { return x > 0 ? x : 0; } /* 0 for a NaN */

/* Reads max(x, 0) of up to CHUNK pixels of a channel. */
typedef void ReadChunk(const void *activations, size_t channel, size_t count, float *values);

static inline void read_floats(const void *activations, size_t channel, size_t count, float *values)
{
    const Activations *x = activations;
    const float *row = x->data + channel / x->block * x->stride + channel % x->block;
    for (size_t p = 0; p < count; p++)
        values[p] = max0(row[p * x->block]);
}

static inline Activations from_pixel(Activations x, size_t p)
{
    x.data += p * x.block;
    return x;
}

/* d − log(1 + d) for d = (y − m)/m; always ≥ 0. No cancellation for small d, nor for y far below m. */
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
static inline void smoe_exact(ReadChunk *read, const void *x, size_t channels, size_t count, double epsilon, float *out)
{
    double mean[CHUNK] = {0}, inverse[CHUNK], sum[CHUNK] = {0};
    float low[CHUNK] = {0}, high[CHUNK], values[CHUNK];
    read(x, 0, count, low);
    memcpy(high, low, sizeof high);
    for (size_t c = 0; c < channels; c++) {
        read(x, c, count, values);
        for (size_t p = 0; p < count; p++) {
            low[p] = values[p] < low[p] ? values[p] : low[p];
            high[p] = values[p] > high[p] ? values[p] : high[p];
            mean[p] += (double)values[p];
        }
    }
    int differ = 0;
    for (size_t p = 0; p < count; p++) {
        mean[p] = mean[p] / (double)channels + epsilon;
        inverse[p] = 1 / mean[p];
        differ |= low[p] < high[p];
    }
    for (size_t c = 0; differ && c < channels; c++) {
        read(x, c, count, values);
        for (size_t p = 0; p < count; p++)
            sum[p] += excess((double)values[p] + epsilon, mean[p], inverse[p]);
    }
    for (size_t p = 0; p < count; p++) {
        double s = mean[p] / 0.6931471805599453 * sum[p] / (double)channels;
        out[p] = low[p] < high[p] && s > 0 && s <= 3.4028234663852886e38 ? (float)s : 0;
    }
}
