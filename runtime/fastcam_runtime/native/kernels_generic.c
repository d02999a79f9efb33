/* The kernels for the platform's baseline instructions: SSE2 on x86-64, NEON on ARM64. */
#include "kernels.h"

#define ARITHMETIC
#include "table.h"
#undef ARITHMETIC

const Kernels fastcam_kernels_generic = {
    .instructions = "generic",
#define KERNEL(type, name) .name = name,
#include "table.h"
};
