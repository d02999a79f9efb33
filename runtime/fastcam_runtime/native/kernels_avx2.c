/* The kernels for x86 processors with AVX2 and fused multiply-add; an empty file elsewhere. */
#include "kernels.h"

#ifdef FASTCAM_HAVE_AVX2
/* The standard headers come first: the pragma must apply to our functions only. */
#include <immintrin.h>
#include <math.h>
#include <string.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define ARITHMETIC
#include "table.h"
#undef ARITHMETIC
#ifdef __clang__
#pragma clang attribute pop
#endif

const Kernels fastcam_kernels_avx2 = {
    .instructions = "avx2",
#define KERNEL(type, name) .name = name,
#include "table.h"
};
#endif
