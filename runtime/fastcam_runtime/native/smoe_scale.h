/* SMOE Scale: with y = max(x, 0) + ε and m = mean y over the channels, m·(log2 m − mean log2 y).
 *
 * The sum of a column's logarithms is the logarithm of its product. A product of four factors fits into a float;
 * its exponent is added and its mantissa, in [1, 2), multiplied. So only two logarithms per pixel remain.
 * Two cases take the exact path, with deviations from the mean in double precision: a small log2 m − mean log2 y,
 * which suffers from cancellation, and extreme values, whose product of four over- or underflows. A NaN counts as
 * 0, and a column with an infinity gives 0. The result is always finite and ≥ 0, and exactly 0 for equal channels.
 *
 * Activations are in planes (NCHW), or in blocks of 8 or 16 channels (NCHWc), as onnxruntime stores them on some
 * processors. */
#include "logarithms.h"
#include "smoe_columns.h"
#include "smoe_blocks.h"
#include "smoe_exact.h"

/* Below this, log2 m − mean log2 y has fewer than six correct digits on the fast path. */
#define NEARLY_EQUAL 0.25
/* Products of four values in this range are normal floats. A column's sum bounds its largest value. */
#define SMALLEST_EPSILON 1e-9f
#define LARGEST_SUM 4e9

/* Write the results of `count` columns to `out`, and −1 for a column that needs the exact path. */
static void finish_columns(const Columns *columns, size_t channels, int32_t bias, size_t count, float *out)
{
    const double share = 1 / (double)channels, offset = 0.5 + (bias + EXPONENT_BIAS) * share;
    const float part = (float)share;
    for (size_t p = 0; p < count; p++) {
        double mean = columns->total[p] * share, whole;
        float mantissa = columns->mantissa[p];
        /* q = log2 m − mean log2 y: the logarithms of the mantissas in float, the exponents in double. */
        float fraction = log2_series((float)split_of(mean, &whole));
        fraction -= part * log2_of_mantissa(mantissa_of(mantissa));
        double q = whole + offset + (double)fraction - (columns->exponent[p] + exponent_of(mantissa)) * share;
        out[p] = q > NEARLY_EQUAL && columns->total[p] < LARGEST_SUM ? (float)(mean * q) : -1;
    }
}

/* Whether any of the columns needs the exact path. */
static inline int has_negative(const float *out, size_t count)
{
    int found = 0;
    for (size_t p = 0; p < count; p++)
        found |= out[p] < 0;
    return found;
}

/* Recompute every CHUNK that holds a −1, or all of them, on the exact path. */
static inline void repair_columns(Activations x, size_t count, float epsilon, int all, float *out)
{
    if (!all && !has_negative(out, count))
        return;
    for (size_t p = 0; p < count; p += CHUNK) {
        size_t n = count - p < CHUNK ? count - p : CHUNK;
        Activations here = from_pixel(x, p);
        if (all || has_negative(out + p, n))
            smoe_exact(read_floats, &here, x.channels, n, (double)epsilon, out + p);
    }
}

INLINED void smoe_fast(Activations x, size_t count, float epsilon, int relu, float *out)
{
    Columns columns;
    int32_t bias = 0;
    if (count == 0)
        return;
    if (x.block > 1)
        for (size_t p = 0; p < count; p++)
            gather_blocks(x, p, every_float(epsilon), relu, &columns);
    else
        bias = (relu ? gather_rectified : gather_positive)(&columns, x, count, epsilon);
    finish_columns(&columns, x.channels, bias, count, out);
}

INLINED void smoe_of(Activations x, size_t count, float epsilon, int relu, float *out)
{
    int fast = epsilon >= SMALLEST_EPSILON;
    if (fast)
        smoe_fast(x, count, epsilon, relu, out);
    repair_columns(x, count, epsilon, !fast, out);
}

static void smoe_planes(Activations x, size_t count, float epsilon, float *out)
{
    x.block = 1; /* a constant, so that the compiler removes the code for blocks */
    smoe_of(x, count, epsilon, 0, out);
}

static void smoe_planes_relu(Activations x, size_t count, float epsilon, float *out)
{
    x.block = 1;
    smoe_of(x, count, epsilon, 1, out);
}

INLINED void smoe_of_blocks(Activations x, size_t count, float epsilon, int relu, float *out)
{
    if (x.block == 16) {
        x.block = 16; /* constants again */
        smoe_of(x, count, epsilon, relu, out);
    } else {
        x.block = 8;
        smoe_of(x, count, epsilon, relu, out);
    }
}

static void smoe_blocks(Activations x, size_t count, float epsilon, float *out)
{
    smoe_of_blocks(x, count, epsilon, 0, out);
}

static void smoe_blocks_relu(Activations x, size_t count, float epsilon, float *out)
{
    smoe_of_blocks(x, count, epsilon, 1, out);
}
