/* MinMax, FastCam and NonClass: from the upsampled class activation map to the class maps. */
#include "operators.h"
#include "tensors.h"

static int same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == 3 && b->rank == 3 && a->dims[0] == b->dims[0] && a->dims[1] == b->dims[1] &&
           a->dims[2] == b->dims[2];
}

OrtStatus *minmax_map(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    Tensor cam;
    float *out;
    TRY(read_input(api, context, 0, ORT_FLOAT, &cam));
    if (cam.rank != 3)
        FAIL("MinMax takes a map of three dimensions");
    TRY(make_output(api, context, cam.dims[0], cam.dims[1], cam.dims[2], &out));
    size_t pixels = (size_t)cam.dims[1] * (size_t)cam.dims[2];
    for (size_t n = 0; n < (size_t)cam.dims[0]; n++)
        setting->kernels->minmax((const float *)cam.data + n * pixels, pixels, out + n * pixels);
    return NULL;
}

typedef void Product(const float *combined, const float *cam, size_t count, float *out);

static OrtStatus *product_map(const Setting *setting, OrtKernelContext *context, Product *product)
{
    const OrtApi *api = setting->api;
    Tensor combined, cam;
    float *out;
    TRY(read_input(api, context, 0, ORT_FLOAT, &combined));
    TRY(read_input(api, context, 1, ORT_FLOAT, &cam));
    if (!same_shape(&combined, &cam))
        FAIL("FastCam and NonClass take two maps of one shape [N,H,W]");
    TRY(make_output(api, context, cam.dims[0], cam.dims[1], cam.dims[2], &out));
    product(combined.data, cam.data, (size_t)(cam.dims[0] * cam.dims[1] * cam.dims[2]), out);
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
