/* GaussNormalize and MinMax: they normalise a map to 0 … 1, image by image. */
#include "operators.h"
#include "tensors.h"

static OrtStatus *normalize(const Setting *setting, OrtKernelContext *context, MapKernel *kernel)
{
    const OrtApi *api = setting->api;
    Tensor map;
    float *out;
    TRY(read_input(api, context, 0, ORT_FLOAT, &map));
    if (map.rank != 3)
        FAIL("GaussNormalize and MinMax take a map of three dimensions");
    TRY(make_output(api, context, map.dims[0], map.dims[1], map.dims[2], &out));
    size_t pixels = (size_t)map.dims[1] * (size_t)map.dims[2];
    /* A batch of empty maps may have any N up to 2^63: do not loop over it. */
    for (size_t n = 0; pixels > 0 && n < (size_t)map.dims[0]; n++)
        kernel((const float *)map.data + n * pixels, pixels, out + n * pixels);
    return NULL;
}

OrtStatus *gauss_normalize_map(const Setting *setting, OrtKernelContext *context)
{
    return normalize(setting, context, setting->kernels->gauss_normalize);
}

OrtStatus *minmax_map(const Setting *setting, OrtKernelContext *context)
{
    return normalize(setting, context, setting->kernels->minmax);
}
