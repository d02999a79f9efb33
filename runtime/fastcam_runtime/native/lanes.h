/* Vectors of eight numbers, loaded from floats or bytes: AVX2, NEON, or plain loops elsewhere. Compilers do not vectorise
 * loops that mix bytes with floats, so these use intrinsics. */
#ifndef FASTCAM_LANES_H
#define FASTCAM_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

#if defined(__AVX2__) && defined(__GNUC__)
typedef __m256i Ints;
typedef __m256 Floats;

static inline Ints load_bytes(const uint8_t *bytes)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)bytes));
}
static inline Ints load_ints(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
static inline void store_ints(int32_t *out, Ints x) { _mm256_storeu_si256((__m256i *)out, x); }
static inline Floats load_floats(const float *x) { return _mm256_loadu_ps(x); }
static inline void store_floats(float *out, Floats x) { _mm256_storeu_ps(out, x); }
static inline Ints every_int(int32_t x) { return _mm256_set1_epi32(x); }
static inline Floats every_float(float x) { return _mm256_set1_ps(x); }
static inline Ints plus(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
static inline Ints above(Ints a, Ints zero) { return _mm256_max_epi32(_mm256_sub_epi32(a, zero), every_int(0)); }
static inline Ints flipped(Ints a, Ints mask) { return _mm256_xor_si256(a, mask); }
static inline Floats lift(Ints a, Floats epsilon) { return _mm256_add_ps(_mm256_cvtepi32_ps(a), epsilon); }
static inline Floats times(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
static inline Ints exponents(Floats a) { return _mm256_srli_epi32(_mm256_castps_si256(a), 23); }
static inline Floats mantissas(Floats a)
{
    const __m256i low = every_int(0x007fffff), one = every_int(0x3f800000);
    return _mm256_castsi256_ps(_mm256_or_si256(_mm256_and_si256(_mm256_castps_si256(a), low), one));
}
static inline Floats added(Floats a, Floats b) { return _mm256_add_ps(a, b); }
static inline Floats rectified(Floats a) { return _mm256_max_ps(a, _mm256_setzero_ps()); } /* 0 for a NaN */
/* The mantissas of positive numbers; their exponents, biased, are added to `sum`. */
static inline Floats split_off(Floats a, Ints *sum)
{
    *sum = plus(*sum, exponents(a));
    return mantissas(a);
}
static inline double total_of(Floats a)
{
    __m256d four = _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
static inline int32_t sum_of(Ints a)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    half = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 1)));
}
static inline float product_of(Floats a)
{
    __m128 half = _mm_mul_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_mul_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_mul_ss(half, _mm_movehdup_ps(half)));
}

#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>

typedef struct {
    int32x4_t low, high;
} Ints;
typedef struct {
    float32x4_t low, high;
} Floats;

static inline Ints load_bytes(const uint8_t *bytes)
{
    uint16x8_t wide = vmovl_u8(vld1_u8(bytes));
    return (Ints){vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide))), vreinterpretq_s32_u32(vmovl_high_u16(wide))};
}
static inline Ints load_ints(const int32_t *x) { return (Ints){vld1q_s32(x), vld1q_s32(x + 4)}; }
static inline void store_ints(int32_t *out, Ints x)
{
    vst1q_s32(out, x.low);
    vst1q_s32(out + 4, x.high);
}
static inline Floats load_floats(const float *x) { return (Floats){vld1q_f32(x), vld1q_f32(x + 4)}; }
static inline void store_floats(float *out, Floats x)
{
    vst1q_f32(out, x.low);
    vst1q_f32(out + 4, x.high);
}
static inline Ints every_int(int32_t x) { return (Ints){vdupq_n_s32(x), vdupq_n_s32(x)}; }
static inline Floats every_float(float x) { return (Floats){vdupq_n_f32(x), vdupq_n_f32(x)}; }
static inline Ints plus(Ints a, Ints b) { return (Ints){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
static inline Ints above(Ints a, Ints zero)
{
    const int32x4_t none = vdupq_n_s32(0);
    return (Ints){vmaxq_s32(vsubq_s32(a.low, zero.low), none), vmaxq_s32(vsubq_s32(a.high, zero.high), none)};
}
static inline Ints flipped(Ints a, Ints mask)
{
    return (Ints){veorq_s32(a.low, mask.low), veorq_s32(a.high, mask.high)};
}
static inline Floats lift(Ints a, Floats epsilon)
{
    return (Floats){vaddq_f32(vcvtq_f32_s32(a.low), epsilon.low), vaddq_f32(vcvtq_f32_s32(a.high), epsilon.high)};
}
static inline Floats times(Floats a, Floats b)
{
    return (Floats){vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}
static inline Ints exponents(Floats a)
{
    return (Ints){vshrq_n_s32(vreinterpretq_s32_f32(a.low), 23), vshrq_n_s32(vreinterpretq_s32_f32(a.high), 23)};
}
static inline Floats mantissas(Floats a)
{
    const int32x4_t bias = vdupq_n_s32(EXPONENT_BIAS); /* inserted above the lowest 23 bits */
    return (Floats){vreinterpretq_f32_s32(vsliq_n_s32(vreinterpretq_s32_f32(a.low), bias, 23)),
                    vreinterpretq_f32_s32(vsliq_n_s32(vreinterpretq_s32_f32(a.high), bias, 23))};
}
static inline Floats split_off(Floats a, Ints *sum)
{
    *sum = plus(*sum, exponents(a));
    /* Without this, compilers compute the mantissas first and keep a copy of `a` for the exponents. */
    __asm__("" : "+w"(a.low), "+w"(a.high), "+w"(sum->low), "+w"(sum->high));
    return mantissas(a);
}
static inline Floats added(Floats a, Floats b)
{
    return (Floats){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}
static inline Floats rectified(Floats a)
{
    const float32x4_t none = vdupq_n_f32(0);
    return (Floats){vmaxnmq_f32(a.low, none), vmaxnmq_f32(a.high, none)}; /* 0 for a NaN */
}
static inline double total_of(Floats a)
{
    float64x2_t low = vaddq_f64(vcvt_f64_f32(vget_low_f32(a.low)), vcvt_high_f64_f32(a.low));
    float64x2_t high = vaddq_f64(vcvt_f64_f32(vget_low_f32(a.high)), vcvt_high_f64_f32(a.high));
    return vaddvq_f64(vaddq_f64(low, high));
}
static inline int32_t sum_of(Ints a) { return vaddvq_s32(vaddq_s32(a.low, a.high)); }
static inline float product_of(Floats a)
{
    float32x4_t four = vmulq_f32(a.low, a.high);
    float32x2_t two = vmul_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) * vget_lane_f32(two, 1);
}

#else
typedef struct {
    int32_t lane[LANES];
} Ints;
typedef struct {
    float lane[LANES];
} Floats;

#define EACH(type, expression)            \
    type out;                             \
    for (size_t l = 0; l < LANES; l++)    \
        out.lane[l] = (expression);       \
    return out

static inline Ints load_bytes(const uint8_t *bytes) { EACH(Ints, bytes[l]); }
static inline Ints load_ints(const int32_t *x) { EACH(Ints, x[l]); }
static inline void store_ints(int32_t *out, Ints x) { memcpy(out, x.lane, sizeof x.lane); }
static inline Floats load_floats(const float *x) { EACH(Floats, x[l]); }
static inline void store_floats(float *out, Floats x) { memcpy(out, x.lane, sizeof x.lane); }
static inline Ints every_int(int32_t x) { EACH(Ints, x); }
static inline Floats every_float(float x) { EACH(Floats, x); }
static inline Ints plus(Ints a, Ints b) { EACH(Ints, a.lane[l] + b.lane[l]); }
static inline Ints above(Ints a, Ints zero) { EACH(Ints, a.lane[l] > zero.lane[l] ? a.lane[l] - zero.lane[l] : 0); }
static inline Ints flipped(Ints a, Ints mask) { EACH(Ints, a.lane[l] ^ mask.lane[l]); }
static inline Floats lift(Ints a, Floats epsilon) { EACH(Floats, (float)a.lane[l] + epsilon.lane[l]); }
static inline Floats times(Floats a, Floats b) { EACH(Floats, a.lane[l] * b.lane[l]); }
static inline Ints exponents(Floats a) { EACH(Ints, exponent_of(a.lane[l])); }
static inline Floats mantissas(Floats a) { EACH(Floats, mantissa_of(a.lane[l])); }
static inline Floats added(Floats a, Floats b) { EACH(Floats, a.lane[l] + b.lane[l]); }
static inline Floats rectified(Floats a) { EACH(Floats, a.lane[l] > 0 ? a.lane[l] : 0); }
static inline Floats split_off(Floats a, Ints *sum)
{
    *sum = plus(*sum, exponents(a));
    return mantissas(a);
}
static inline double total_of(Floats a)
{
    double total = 0;
    for (size_t l = 0; l < LANES; l++)
        total += (double)a.lane[l];
    return total;
}
static inline int32_t sum_of(Ints a)
{
    int32_t sum = 0;
    for (size_t l = 0; l < LANES; l++)
        sum += a.lane[l];
    return sum;
}
static inline float product_of(Floats a)
{
    float product = 1;
    for (size_t l = 0; l < LANES; l++)
        product *= a.lane[l];
    return product;
}
#undef EACH
#endif

#endif
