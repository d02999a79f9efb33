/* SMOE Scale of quantised activations, computed from their bytes.
 *
 * With q = max(byte − zero point, 0) an activation is scale·q. SMOE Scale is homogeneous, so SMOE(scale·q, ε) is
 * scale·SMOE(q, ε/scale). The sum of the q is a sum of integers, hence exact. */
#include "smoe_scale.h"

enum { BURST = 8 }; /* channels that are read at once */

/* q of eight bytes. `simple` activations are uint8 with zero point 0 and need no XOR and no subtraction. */
INLINED Ints steps_of(const uint8_t *bytes, Quantized x, int simple)
{
    Ints q = load_bytes(bytes);
    return simple ? q : above(flipped(q, every_int(x.flip)), every_int(x.zero));
}

static inline float step_at(Quantized x, size_t channel, size_t pixel)
{
    int q = (x.data[channel * x.channel_step + pixel * x.pixel_step] ^ x.flip) - x.zero;
    return (float)(q > 0 ? q : 0);
}

/* Up to CHUNK pixels of a channel. */
static inline void read_steps(const void *activations, size_t channel, size_t count, float *values)
{
    const Quantized *x = activations;
    for (size_t p = 0; p < count; p++)
        values[p] = step_at(*x, channel, p);
}

/* The sum and product of up to BURST channels of eight pixels; accumulated into the outputs unless `first`. */
INLINED void gather_burst(const uint8_t *const *rows, size_t channels, Quantized x, Floats epsilon, int simple, int first,
                          int32_t *total, float *mantissa, int32_t *exponent)
{
    Ints sum = every_int(0), e = every_int(0);
    Floats m, product[2] = {every_float(1), every_float(1)};
    for (size_t c = 0; c < channels; c++) {
        Ints q = steps_of(rows[c], x, simple);
        Floats y = lift(q, epsilon);
        sum = plus(sum, q);
        product[c / GROUP] = c % GROUP ? times(product[c / GROUP], y) : y;
    }
    m = split_off(product[0], &e);
    if (channels > GROUP)
        m = times(m, split_off(product[1], &e));
    store_ints(total, first ? sum : plus(load_ints(total), sum));
    store_floats(mantissa, first ? m : times(load_floats(mantissa), m));
    store_ints(exponent, first ? e : plus(load_ints(exponent), e));
}

/* Up to BURST channels of all pixels of a tile in planes. If fewer than eight pixels remain, they are copied to a
 * buffer of eight bytes, to avoid reading past the end. */
INLINED void gather_planes(Quantized x, size_t first_channel, size_t channels, size_t count, float epsilon, int simple,
                           int32_t *total, Columns *columns)
{
    const Floats lifted_by = every_float(epsilon);
    const int first = first_channel == 0;
    const uint8_t *rows[BURST];
    uint8_t rest[BURST][LANES] = {{0}};
    size_t p = 0;
    for (size_t c = 0; c < channels; c++)
        rows[c] = x.data + (first_channel + c) * x.channel_step;
    for (; p + LANES <= count; p += LANES) {
        gather_burst(rows, channels, x, lifted_by, simple, first, total + p, columns->mantissa + p,
                     columns->exponent + p);
        for (size_t c = 0; c < channels; c++)
            rows[c] += LANES;
    }
    if (p == count)
        return;
    for (size_t c = 0; c < channels; c++) {
        memcpy(rest[c], rows[c], count - p);
        rows[c] = rest[c];
    }
    gather_burst(rows, channels, x, lifted_by, simple, first, total + p, columns->mantissa + p, columns->exponent + p);
}

/* All channels of a tile in planes; returns the sum of the biases in each exponent. */
INLINED int32_t gather_quantized(Quantized x, size_t count, float epsilon, int simple, int32_t *total, Columns *columns)
{
    size_t products = 0;
    for (size_t c = 0; c < x.channels; c += BURST) {
        size_t some = x.channels - c < BURST ? x.channels - c : BURST;
        if (some == BURST)
            gather_planes(x, c, BURST, count, epsilon, simple, total, columns);
        else
            gather_planes(x, c, some, count, epsilon, simple, total, columns);
        products += (some + GROUP - 1) / GROUP;
        if ((c + BURST) % RENORMALIZE_ROWS == 0 && c + BURST < x.channels) {
            renormalize(columns, 0, count);
            products++;
        }
    }
    return (int32_t)products * EXPONENT_BIAS;
}

/* All channels of one pixel, which are contiguous: a whole number of vectors. */
INLINED void gather_pixel(const uint8_t *bytes, Quantized x, Floats epsilon, int simple, int32_t *total, float *mantissa,
                          int32_t *exponent)
{
    const size_t vectors = x.channels / LANES;
    Ints sum = every_int(0), e = sum;
    Floats m = every_float(1);
    int32_t bias = 0;
    size_t v = 0, waiting = 0;
    for (; v + GROUP <= vectors; v += GROUP, bytes += GROUP * LANES) {
        Ints a = steps_of(bytes, x, simple), b = steps_of(bytes + LANES, x, simple);
        Ints c = steps_of(bytes + 2 * LANES, x, simple), d = steps_of(bytes + 3 * LANES, x, simple);
        Floats product = times(times(lift(a, epsilon), lift(b, epsilon)), times(lift(c, epsilon), lift(d, epsilon)));
        sum = plus(sum, plus(plus(a, b), plus(c, d)));
        m = times(m, split_off(product, &e));
        bias++;
        if (++waiting == RENORMALIZE_PRODUCTS) {
            m = split_off(m, &e);
            bias++;
            waiting = 0;
        }
    }
    for (; v < vectors; v++, bytes += LANES) {
        Ints a = steps_of(bytes, x, simple);
        Floats y = lift(a, epsilon);
        sum = plus(sum, a);
        m = times(m, split_off(y, &e));
        bias++;
    }
    m = split_off(m, &e); /* now each of the eight mantissas is below 2, and so their product fits */
    *total = sum_of(sum);
    *mantissa = product_of(m);
    *exponent = sum_of(e) - LANES * (bias + 1) * EXPONENT_BIAS;
}

INLINED int32_t gather_pixels(Quantized x, size_t count, float epsilon, int simple, int32_t *total, Columns *columns)
{
    const Floats lifted_by = every_float(epsilon);
    for (size_t p = 0; p < count; p++)
        gather_pixel(x.data + p * x.pixel_step, x, lifted_by, simple, total + p, columns->mantissa + p,
                     columns->exponent + p);
    return 0;
}

INLINED void smoe_of_quantized(Quantized x, size_t count, float epsilon, int planes, float *out)
{
    const float step_epsilon = epsilon / x.scale;
    const int simple = x.flip == 0 && x.zero == 0, fast = step_epsilon >= SMALLEST_EPSILON;
    if (fast && count > 0) {
        Columns columns;
        int32_t total[SMOE_TILE], bias;
        if (planes)
            bias = simple ? gather_quantized(x, count, step_epsilon, 1, total, &columns)
                          : gather_quantized(x, count, step_epsilon, 0, total, &columns);
        else
            bias = simple ? gather_pixels(x, count, step_epsilon, 1, total, &columns)
                          : gather_pixels(x, count, step_epsilon, 0, total, &columns);
        for (size_t p = 0; p < count; p++)
            columns.total[p] = (double)total[p] + (double)x.channels * (double)step_epsilon;
        finish_columns(&columns, x.channels, bias, count, out);
    }
    for (size_t p = 0; p < count; p += CHUNK) {
        size_t n = count - p < CHUNK ? count - p : CHUNK;
        Quantized here = x;
        here.data += p * x.pixel_step;
        if (!fast || has_negative(out + p, n))
            smoe_exact(read_steps, &here, x.channels, n, (double)epsilon / (double)x.scale, out + p);
    }
    for (size_t p = 0; p < count; p++)
        out[p] *= x.scale;
}

static void smoe_quantized_planes(Quantized x, size_t count, float epsilon, float *out)
{
    smoe_of_quantized(x, count, epsilon, 1, out);
}

static void smoe_quantized_pixels(Quantized x, size_t count, float epsilon, float *out)
{
    smoe_of_quantized(x, count, epsilon, 0, out);
}
