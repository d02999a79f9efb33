/* The sum and the product of all channels of a pixel whose activations are in blocks of 8 or 16 channels. Vectors hold
 * channels, not pixels: a network has few blocks, so that columns of one channel each would be too short to pay. */
#include "lanes.h"

enum {
    RENORMALIZE_PRODUCTS = 64, /* mantissas, each below 2, whose product fits into a float with room to spare */
    SHORT_SUM = 4,             /* sums of GROUP values that are added as floats */
};

/* y of the `v`th of the GROUP vectors from `data` on. */
INLINED Floats lifted_vector(const float *data, Activations x, size_t v, Floats epsilon, int relu)
{
    const size_t vectors = x.block / LANES; /* in a block */
    Floats values = load_floats(data + v / vectors * x.stride + v % vectors * LANES);
    return added(relu ? rectified(values) : values, epsilon);
}

INLINED void gather_blocks(Activations x, size_t p, Floats epsilon, int relu, Columns *columns)
{
    const size_t vectors = x.channels / LANES, rows = GROUP * LANES / x.block; /* rows of GROUP vectors */
    const float *data = x.data + p * x.block;
    Floats m = every_float(1), sum = every_float(0);
    Ints e = every_int(0);
    double total = 0;
    int32_t products = 0;
    size_t v = 0;
    for (; v + GROUP <= vectors; v += GROUP, data += rows * x.stride) {
        Floats a = lifted_vector(data, x, 0, epsilon, relu), b = lifted_vector(data, x, 1, epsilon, relu);
        Floats c = lifted_vector(data, x, 2, epsilon, relu), d = lifted_vector(data, x, 3, epsilon, relu);
        sum = added(sum, added(added(a, b), added(c, d)));
        m = times(m, split_off(times(times(a, b), times(c, d)), &e));
        products++;
        if (products % SHORT_SUM == 0) {
            total += total_of(sum);
            sum = every_float(0);
        }
        if (products % RENORMALIZE_PRODUCTS == 0)
            m = split_off(m, &e);
    }
    int32_t splits = products + products / RENORMALIZE_PRODUCTS + 1;
    for (size_t rest = 0; v + rest < vectors; rest++, splits++) {
        Floats y = lifted_vector(data, x, rest, epsilon, relu);
        sum = added(sum, y);
        m = times(m, split_off(y, &e));
    }
    m = split_off(m, &e); /* now each of the eight mantissas is below 2, and so their product fits */
    columns->total[p] = total + total_of(sum);
    columns->mantissa[p] = product_of(m);
    columns->exponent[p] = sum_of(e) - LANES * splits * EXPONENT_BIAS;
}
