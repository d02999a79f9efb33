/* gather() of smoe_columns.h for ARM. The compilers' own vectors take a quarter more instructions, mostly because they
 * load and store every column's state for half as many rows. Twice the rows again were slower on x86, out of cache. */
#ifdef __aarch64__
#include <arm_neon.h>

enum {
    QUADS = 4,         /* vectors of a strip: its sums, products and exponents fit into the registers */
    STRIP = QUADS * 4, /* columns: one cache line of each row */
    STRIP_ROWS = 16,   /* rows that are read at once */
};

/* The state of one strip. */
typedef struct {
    float32x4_t sum[QUADS], mantissa[QUADS];
    int32x4_t exponent[QUADS];
} Strip;

/* Multiply `rows` ≤ GROUP values into each column, and add them to its sum, or start that if `fresh`. */
INLINED void gather_group(Strip *strip, const float *x, size_t stride, size_t rows, float32x4_t epsilon, int relu,
                          int fresh)
{
    float32x4_t sum[QUADS], product[QUADS];
    for (size_t r = 0; r < rows; r++, x += stride) {
        float32x4x4_t row = vld1q_f32_x4(x);
        for (size_t q = 0; q < QUADS; q++) {
            float32x4_t y = vaddq_f32(relu ? vmaxnmq_f32(row.val[q], vdupq_n_f32(0)) : row.val[q], epsilon);
            sum[q] = r == 0 ? y : vaddq_f32(sum[q], y);
            product[q] = r == 0 ? y : vmulq_f32(product[q], y);
        }
    }
    for (size_t q = 0; q < QUADS; q++) {
        int32x4_t bits = vreinterpretq_s32_f32(product[q]);
        strip->sum[q] = fresh ? sum[q] : vaddq_f32(strip->sum[q], sum[q]);
        strip->exponent[q] = vsraq_n_s32(strip->exponent[q], bits, 23);
        /* Without this, compilers first compute the mantissa and keep a copy of the bits for the exponent. */
        __asm__("" : "+w"(bits), "+w"(strip->exponent[q]));
        bits = vsliq_n_s32(bits, vdupq_n_s32(EXPONENT_BIAS), 23);
        strip->mantissa[q] = vmulq_f32(strip->mantissa[q], vreinterpretq_f32_s32(bits));
    }
}

/* gather() for the columns p … p + STRIP − 1 and up to STRIP_ROWS rows. */
INLINED void gather_strip(Columns *columns, size_t p, const float *x, size_t stride, size_t rows, float32x4_t epsilon,
                          int relu, int first)
{
    double *total = columns->total + p;
    float *mantissa = columns->mantissa + p;
    int32_t *exponent = columns->exponent + p;
    Strip strip;
    for (size_t q = 0; q < QUADS; q++) {
        strip.sum[q] = vdupq_n_f32(0);
        strip.mantissa[q] = first ? vdupq_n_f32(1) : vld1q_f32(mantissa + 4 * q);
        strip.exponent[q] = first ? vdupq_n_s32(0) : vld1q_s32(exponent + 4 * q);
    }
    size_t row = 0;
    for (; row + GROUP <= rows; row += GROUP, x += GROUP * stride)
        gather_group(&strip, x, stride, GROUP, epsilon, relu, row == 0);
    if (row < rows)
        gather_group(&strip, x, stride, rows - row, epsilon, relu, row == 0);
    for (size_t q = 0; q < QUADS; q++, total += 4) {
        float64x2_t low = vcvt_f64_f32(vget_low_f32(strip.sum[q])), high = vcvt_high_f64_f32(strip.sum[q]);
        vst1q_f64(total, first ? low : vaddq_f64(vld1q_f64(total), low));
        vst1q_f64(total + 2, first ? high : vaddq_f64(vld1q_f64(total + 2), high));
        vst1q_f32(mantissa + 4 * q, strip.mantissa[q]);
        vst1q_s32(exponent + 4 * q, strip.exponent[q]);
    }
}

/* gather() for whole strips. A constant number of rows saves instructions. */
INLINED void gather_pass(Columns *columns, const float *x, size_t stride, size_t rows, size_t end, float epsilon,
                         int relu, int first)
{
    const float32x4_t lifted_by = vdupq_n_f32(epsilon);
    for (size_t p = 0; p < end && rows == STRIP_ROWS; p += STRIP)
        gather_strip(columns, p, x + p, stride, STRIP_ROWS, lifted_by, relu, first);
    for (size_t p = 0; p < end && rows < STRIP_ROWS; p += STRIP)
        gather_strip(columns, p, x + p, stride, rows, lifted_by, relu, first);
}

/* Gather all rows of the columns that fill whole strips, with the biases of gather_all(); returns their number. */
INLINED size_t gather_strips(Columns *columns, const float *x, size_t stride, size_t rows, size_t count, float epsilon,
                             int relu)
{
    const size_t end = count - count % STRIP;
    for (size_t row = 0; row < rows; row += STRIP_ROWS, x += STRIP_ROWS * stride) {
        size_t some = rows - row < STRIP_ROWS ? rows - row : STRIP_ROWS;
        if (row == 0)
            gather_pass(columns, x, stride, some, end, epsilon, relu, 1);
        else
            gather_pass(columns, x, stride, some, end, epsilon, relu, 0);
        if ((row + STRIP_ROWS) % RENORMALIZE_ROWS == 0 && row + STRIP_ROWS < rows)
            renormalize(columns, 0, end);
    }
    return end;
}
#else
INLINED size_t gather_strips(Columns *columns, const float *x, size_t stride, size_t rows, size_t count, float epsilon,
                             int relu)
{
    (void)columns, (void)x, (void)stride, (void)rows, (void)count, (void)epsilon, (void)relu;
    return 0;
}
#endif
