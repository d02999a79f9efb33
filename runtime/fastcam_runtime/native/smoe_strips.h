/* gather() of smoe_columns.h for ARM: most columns, and whole groups of rows. The loop is in assembly, because compilers
 * copy and spill the vectors that are loaded four at a time; their best code took a third more instructions. */
#ifdef __aarch64__
#include <arm_neon.h>

enum {
    STRIP = 16,      /* columns: one cache line of each row; sums, products and exponents fit into the registers */
    STRIP_ROWS = 32, /* rows that are read at once: fewer pages than the 48 that a Cortex-A76 finds at once */
};

/* The vectors that a strip starts from, besides its own state. */
typedef struct {
    float sum[STRIP];    /* what ε adds to the sum of a pass */
    float square[STRIP]; /* ε² */
    float one[STRIP];
    int32_t zero[STRIP];
} Start;

/* Registers: v0-v3 sums, v4-v7 mantissas, v8-v11 exponents, v12 ε, v13 the exponents' bias, v14 zero. */

/* max(x, 0) of two rows; 0 for a NaN. */
#define RECTIFY \
    "fmaxnm v16.4s, v16.4s, v14.4s\n" "fmaxnm v17.4s, v17.4s, v14.4s\n" \
    "fmaxnm v18.4s, v18.4s, v14.4s\n" "fmaxnm v19.4s, v19.4s, v14.4s\n" \
    "fmaxnm v20.4s, v20.4s, v14.4s\n" "fmaxnm v21.4s, v21.4s, v14.4s\n" \
    "fmaxnm v22.4s, v22.4s, v14.4s\n" "fmaxnm v23.4s, v23.4s, v14.4s\n"

/* (a + ε)(b + ε) = ε² + ab + ε(a + b) of two rows, in four registers; a + b is added to the sums. */
#define MULTIPLY_PAIR(rectify, p0, p1, p2, p3) \
    "ld1 {" p0 ".4s-" p3 ".4s}, [%[square]]\n" \
    "ld1 {v16.4s-v19.4s}, [%[x]], %[stride]\n" \
    "ld1 {v20.4s-v23.4s}, [%[x]], %[stride]\n" rectify \
    "fmla " p0 ".4s, v16.4s, v20.4s\n" "fmla " p1 ".4s, v17.4s, v21.4s\n" \
    "fmla " p2 ".4s, v18.4s, v22.4s\n" "fmla " p3 ".4s, v19.4s, v23.4s\n" \
    "fadd v16.4s, v16.4s, v20.4s\n" "fadd v17.4s, v17.4s, v21.4s\n" \
    "fadd v18.4s, v18.4s, v22.4s\n" "fadd v19.4s, v19.4s, v23.4s\n" \
    "fmla " p0 ".4s, v16.4s, v12.s[0]\n" "fmla " p1 ".4s, v17.4s, v12.s[0]\n" \
    "fmla " p2 ".4s, v18.4s, v12.s[0]\n" "fmla " p3 ".4s, v19.4s, v12.s[0]\n" \
    "fadd v0.4s, v0.4s, v16.4s\n" "fadd v1.4s, v1.4s, v17.4s\n" \
    "fadd v2.4s, v2.4s, v18.4s\n" "fadd v3.4s, v3.4s, v19.4s\n"

/* Multiply GROUP rows into the products, in each of %[groups] rounds. */
#define GATHER_GROUPS(rectify) \
    "ld1 {v0.4s-v3.4s}, [%[sum]]\n" \
    "ld1 {v4.4s-v7.4s}, [%[mantissa]]\n" \
    "ld1 {v8.4s-v11.4s}, [%[exponent]]\n" \
    "dup v12.4s, %w[epsilon]\n" \
    "movi v13.4s, #127\n" \
    "movi v14.4s, #0\n" \
    "1:\n" \
    MULTIPLY_PAIR(rectify, "v24", "v25", "v26", "v27") \
    MULTIPLY_PAIR(rectify, "v28", "v29", "v30", "v31") \
    "subs %[groups], %[groups], #1\n" \
    "fmul v24.4s, v24.4s, v28.4s\n" "fmul v25.4s, v25.4s, v29.4s\n" \
    "fmul v26.4s, v26.4s, v30.4s\n" "fmul v27.4s, v27.4s, v31.4s\n" \
    "ssra v8.4s, v24.4s, #23\n" "ssra v9.4s, v25.4s, #23\n" \
    "ssra v10.4s, v26.4s, #23\n" "ssra v11.4s, v27.4s, #23\n" \
    "sli v24.4s, v13.4s, #23\n" "sli v25.4s, v13.4s, #23\n" \
    "sli v26.4s, v13.4s, #23\n" "sli v27.4s, v13.4s, #23\n" \
    "fmul v4.4s, v4.4s, v24.4s\n" "fmul v5.4s, v5.4s, v25.4s\n" \
    "fmul v6.4s, v6.4s, v26.4s\n" "fmul v7.4s, v7.4s, v27.4s\n" \
    "b.ne 1b\n" \
    "st1 {v4.4s-v7.4s}, [%[to_mantissa]]\n" \
    "st1 {v8.4s-v11.4s}, [%[to_exponent]]\n"

/* gather() for the columns p … p + STRIP − 1 and `groups` ≥ 1 groups of rows. */
INLINED void gather_strip(Columns *columns, size_t p, const float *x, size_t stride, size_t groups, const Start *start,
                          float epsilon, int relu, int first)
{
    register float32x4_t sum0 __asm__("v0"), sum1 __asm__("v1"), sum2 __asm__("v2"), sum3 __asm__("v3");
    double *total = columns->total + p;
    float *mantissa = columns->mantissa + p;
    int32_t *exponent = columns->exponent + p;
#define RUN(rectify)                                                                                              \
    __asm__ volatile(GATHER_GROUPS(rectify)                                                                        \
                     : "=w"(sum0), "=w"(sum1), "=w"(sum2), "=w"(sum3), [x] "+r"(x), [groups] "+r"(groups)            \
                     : [stride] "r"(stride * sizeof *x), [sum] "r"(start->sum), [square] "r"(start->square),         \
                       [mantissa] "r"(first ? start->one : mantissa), [to_mantissa] "r"(mantissa),                   \
                       [exponent] "r"(first ? start->zero : exponent), [to_exponent] "r"(exponent),                  \
                       [epsilon] "r"(bits_of(epsilon))                                                               \
                     : "memory", "cc", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v16", \
                       "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",    \
                       "v30", "v31")
    if (relu)
        RUN(RECTIFY);
    else
        RUN("");
#undef RUN
    const float32x4_t sums[4] = {sum0, sum1, sum2, sum3};
    for (size_t q = 0; q < 4; q++, total += 4) {
        float64x2_t low = vcvt_f64_f32(vget_low_f32(sums[q])), high = vcvt_high_f64_f32(sums[q]);
        vst1q_f64(total, first ? low : vaddq_f64(vld1q_f64(total), low));
        vst1q_f64(total + 2, first ? high : vaddq_f64(vld1q_f64(total + 2), high));
    }
}

/* Gather the whole groups of rows of the columns that fill whole strips; returns the number of these columns. */
INLINED size_t gather_strips(Columns *columns, const float *x, size_t stride, size_t rows, size_t count, float epsilon,
                             int relu)
{
    const size_t end = count - count % STRIP, whole = rows - rows % GROUP;
    Start start;
    for (size_t i = 0; i < STRIP; i++) {
        start.square[i] = epsilon * epsilon;
        start.one[i] = 1;
        start.zero[i] = 0;
    }
    for (size_t row = 0; row < whole; row += STRIP_ROWS, x += STRIP_ROWS * stride) {
        size_t some = whole - row < STRIP_ROWS ? whole - row : STRIP_ROWS;
        for (size_t i = 0; i < STRIP; i++)
            start.sum[i] = (float)some * epsilon;
        for (size_t p = 0; p < end && row == 0; p += STRIP)
            gather_strip(columns, p, x + p, stride, some / GROUP, &start, epsilon, relu, 1);
        for (size_t p = 0; p < end && row > 0; p += STRIP)
            gather_strip(columns, p, x + p, stride, some / GROUP, &start, epsilon, relu, 0);
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
