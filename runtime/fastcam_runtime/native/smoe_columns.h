/* The fast path of SMOE Scale: the sum and the product of each column of activations, vectorised over columns. */
#include "kernels.h"

#include <string.h>

/* For functions that compilers vectorise only if some arguments are constants; and for those whose loops they would
 * otherwise give fewer registers, beside the code of their only caller. */
#ifdef __GNUC__
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define OUTLINED static __attribute__((noinline, noclone))
#else
#define OUTLINED static
#endif

enum {
    GROUP = 4,              /* factors of a product */
    ROWS = 8,               /* rows that are read at once */
    RENORMALIZE_ROWS = 256, /* rows between two calls of renormalize(): the product stays below 2^(256/4 + 8) */
    CACHE_LINE = 16,        /* in floats */
    EXPONENT_BIAS = 127,
};

static inline int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* max(x, 0) + ε, with an integer comparison: the bits of a negative float are a negative integer. */
INLINED float lifted(float x, float epsilon, int relu)
{
    int32_t bits = bits_of(x);
    bits = bits > 0 || !relu ? bits : 0;
    memcpy(&x, &bits, sizeof x);
    return x + epsilon;
}

static inline int32_t exponent_of(float x) { return bits_of(x) >> 23; } /* of a positive number, biased */

static inline float mantissa_of(float x)
{
    int32_t bits = (bits_of(x) & 0x007fffff) | 0x3f800000;
    float mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    return mantissa;
}

/* Per column: Σy, and Πy as mantissa·2^(exponent − bias). The padding keeps the arrays from being a multiple of
 * 4 KiB apart, which avoids 4K aliasing: a load that waits for a store because their low address bits match. */
typedef struct {
    double total[SMOE_TILE + 3 * CACHE_LINE];
    float mantissa[SMOE_TILE + 5 * CACHE_LINE];
    int32_t exponent[SMOE_TILE];
} Columns;

/* Bring the mantissas of columns start … count − 1 back to [1, 2) and adjust the exponents. */
static void renormalize(Columns *columns, size_t start, size_t count)
{
    for (size_t p = start; p < count; p++) {
        columns->exponent[p] += exponent_of(columns->mantissa[p]);
        columns->mantissa[p] = mantissa_of(columns->mantissa[p]);
    }
}

#include "smoe_strips.h" /* for ARM, instead of gather() for most columns; it needs the above */

/* Multiply `rows` ≤ ROWS values into columns start … count − 1, or start these with them if `first`. With constant
 * arguments the compiler unrolls the loops over rows and vectorises the loop over columns. */
INLINED void gather(Columns *columns, const float *x, size_t stride, size_t rows, size_t start, size_t count,
                    float epsilon, int relu, int first)
{
    double *restrict total = columns->total;
    float *restrict mantissa = columns->mantissa;
    int32_t *restrict exponent = columns->exponent;
    for (size_t p = start; p < count; p++) {
        float y[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1}, term[ROWS] = {0};
        for (size_t r = 0; r < rows; r++)
            term[r] = y[r] = lifted(x[r * stride + p], epsilon, relu);
        float a = (y[0] * y[1]) * (y[2] * y[3]), b = (y[4] * y[5]) * (y[6] * y[7]);
        float sum = ((term[0] + term[1]) + (term[2] + term[3])) + ((term[4] + term[5]) + (term[6] + term[7]));
        int32_t e = rows > GROUP ? exponent_of(a) + exponent_of(b) : exponent_of(a);
        float m = rows > GROUP ? mantissa_of(a) * mantissa_of(b) : mantissa_of(a);
        total[p] = first ? (double)sum : total[p] + (double)sum;
        exponent[p] = first ? e : exponent[p] + e;
        mantissa[p] = first ? m : mantissa[p] * m;
    }
}

/* gather() for a number of rows that is not a constant. */
INLINED void gather_some(Columns *columns, const float *x, size_t stride, size_t rows, size_t start, size_t count,
                         float epsilon, int relu, int first)
{
    switch (rows) {
    case 1: gather(columns, x, stride, 1, start, count, epsilon, relu, first); break;
    case 2: gather(columns, x, stride, 2, start, count, epsilon, relu, first); break;
    case 3: gather(columns, x, stride, 3, start, count, epsilon, relu, first); break;
    case 4: gather(columns, x, stride, 4, start, count, epsilon, relu, first); break;
    case 5: gather(columns, x, stride, 5, start, count, epsilon, relu, first); break;
    case 6: gather(columns, x, stride, 6, start, count, epsilon, relu, first); break;
    case 7: gather(columns, x, stride, 7, start, count, epsilon, relu, first); break;
    case 8: gather(columns, x, stride, 8, start, count, epsilon, relu, first); break;
    default: break;
    }
}

/* Gather all rows (at least one) of `count` columns; returns the sum of the biases in each exponent. */
INLINED int32_t gather_all(Columns *columns, const float *x, size_t stride, size_t rows, size_t count, float epsilon,
                           int relu)
{
    const size_t start = gather_strips(columns, x, stride, rows, count, epsilon, relu), rest = rows % GROUP;
    size_t products = 0;
    if (start > 0 && rest > 0)
        gather_some(columns, x + (rows - rest) * stride, stride, rest, 0, start, epsilon, relu, rest == rows);
    for (size_t row = 0; row < rows; row += ROWS) {
        size_t some = rows - row < ROWS ? rows - row : ROWS;
        if (row == 0)
            gather_some(columns, x, stride, some, start, count, epsilon, relu, 1);
        else
            gather_some(columns, x + row * stride, stride, some, start, count, epsilon, relu, 0);
        products += (some + GROUP - 1) / GROUP;
        if ((row + ROWS) % RENORMALIZE_ROWS == 0 && row + ROWS < rows) {
            renormalize(columns, start, count);
            products++;
        }
    }
    return (int32_t)products * EXPONENT_BIAS;
}

OUTLINED int32_t gather_positive(Columns *columns, Activations x, size_t count, float epsilon)
{
    return gather_all(columns, x.data, x.stride, x.channels / x.block, count, epsilon, 0);
}

OUTLINED int32_t gather_rectified(Columns *columns, Activations x, size_t count, float epsilon)
{
    return gather_all(columns, x.data, x.stride, x.channels / x.block, count, epsilon, 1);
}
