/* The kernels for the instructions that every processor of the platform has: SSE2 on x86-64, NEON on ARM64. */
#define FASTCAM_TABLE fastcam_kernels_generic
#define FASTCAM_INSTRUCTIONS "generic"
#include "kernels_table.h"
