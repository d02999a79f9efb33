/* Selects the kernels for this processor, and the block size of onnxruntime's blocked layout. */
#include "kernels.h"

#ifdef FASTCAM_HAVE_AVX2
#include <cpuid.h>

/* The bits of XCR0: which registers the operating system saves. 0 if the processor lacks XGETBV. */
static unsigned saved_registers(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return eax;
}

/* CPUID leaf 7, EBX: the feature bits for AVX2 and later extensions. */
static unsigned extensions(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) ? ebx : 0;
}

static int has_avx2(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_FMA))
        return 0;
    return (saved_registers() & 0x6) == 0x6 && (extensions() & bit_AVX2);
}

static int has_avx512(void) { return (saved_registers() & 0xe6) == 0xe6 && (extensions() & bit_AVX512F); }
#endif

int fastcam_block(void)
{
#ifdef FASTCAM_HAVE_AVX2
    return has_avx512() ? 16 : 8;
#else
    return 0;
#endif
}

const Kernels *fastcam_kernels(void)
{
#ifdef FASTCAM_HAVE_AVX2
    if (has_avx2())
        return &fastcam_kernels_avx2;
#endif
    return &fastcam_kernels_generic;
}
