/* Included once by the source file of each instruction set, which names its table in FASTCAM_TABLE. */
#include "class_maps.h"
#include "gauss_normalize.h"
#include "lovi.h"
#include "smoe_scale.h"

const Kernels FASTCAM_TABLE = {
    FASTCAM_INSTRUCTIONS, smoe_planes, smoe_planes_relu, smoe_blocks, smoe_blocks_relu, gauss_normalize,
    combine_rows, lovi_rows, minmax, fast_cam, non_class,
};
