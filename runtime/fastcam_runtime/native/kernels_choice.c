/* Which kernels this processor can run. */
#include "kernels.h"

#ifdef FASTCAM_HAVE_AVX2
#include <cpuid.h>

/* AVX2 and fused multiply-add in the processor, and their registers saved by the operating system. */
static int has_avx2(void)
{
    unsigned eax, ebx, ecx, edx, saved;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE) || !(ecx & bit_FMA))
        return 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    if ((saved & 6) != 6)
        return 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_AVX2);
}
#endif

const Kernels *fastcam_kernels(void)
{
#ifdef FASTCAM_HAVE_AVX2
    if (has_avx2())
        return &fastcam_kernels_avx2;
#endif
    return &fastcam_kernels_generic;
}
