/* FastCam and NonClass: the combined map times the class activation map, and times 1 − CAM. */
#include "operators.h"
#include "tensors.h"

/* Whether the maps have one size, and equal batch sizes or a batch of 1 to broadcast. */
static int compatible(const Tensor *a, const Tensor *b)
{
    return a->rank == 3 && b->rank == 3 && a->dims[1] == b->dims[1] && a->dims[2] == b->dims[2] &&
           (a->dims[0] == b->dims[0] || a->dims[0] == 1 || b->dims[0] == 1);
}

static OrtStatus *product_map(const Setting *setting, OrtKernelContext *context, ProductKernel *product)
{
    const OrtApi *api = setting->api;
    Tensor combined, cam;
    float *out;
    TRY(read_input(api, context, 0, ORT_FLOAT, &combined));
    TRY(read_input(api, context, 1, ORT_FLOAT, &cam));
    if (!compatible(&combined, &cam))
        FAIL("FastCam and NonClass take maps [N,H,W] of one size, with equal N or one N of 1");
    int64_t count = cam.dims[0] == 1 ? combined.dims[0] : cam.dims[0];
    TRY(make_output(api, context, count, cam.dims[1], cam.dims[2], &out));
    size_t pixels = (size_t)cam.dims[1] * (size_t)cam.dims[2];
    for (size_t n = 0; pixels > 0 && n < (size_t)count; n++)
        product((const float *)combined.data + (combined.dims[0] == 1 ? 0 : n * pixels),
                (const float *)cam.data + (cam.dims[0] == 1 ? 0 : n * pixels), pixels, out + n * pixels);
    return NULL;
}

OrtStatus *fast_cam_map(const Setting *setting, OrtKernelContext *context)
{
    return product_map(setting, context, setting->kernels->fast_cam);
}

OrtStatus *non_class_map(const Setting *setting, OrtKernelContext *context)
{
    return product_map(setting, context, setting->kernels->non_class);
}
