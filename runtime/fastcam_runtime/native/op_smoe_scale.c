/* SmoeScale and SmoeScaleBlocked: from activations to the map of a scale. */
#include "operators.h"
#include "tensors.h"

#include <float.h>

enum { EPSILON, BLOCK }; /* attributes */

typedef struct {
    const Setting *setting;
    SmoeKernel *smoe;
    Activations x; /* of the first image */
    float *out;
    size_t pixels, tile, tiles; /* pixels per image, pixels per tile, tiles per image */
} Work;

static void run_tile(void *data, size_t index)
{
    const Work *work = data;
    size_t image = index / work->tiles, start = index % work->tiles * work->tile;
    size_t count = work->pixels - start < work->tile ? work->pixels - start : work->tile;
    Activations x = work->x;
    x.data += image * x.channels * work->pixels + start * x.block;
    work->smoe(x, count, (float)work->setting->attributes[EPSILON], work->out + image * work->pixels + start);
}

/* `block` is 1 for the kernels of planes. */
static OrtStatus *run_smoe(const Setting *setting, OrtKernelContext *context, SmoeKernel *smoe, size_t block)
{
    const OrtApi *api = setting->api;
    Tensor x;
    TRY(read_input(api, context, 0, ORT_FLOAT, &x));
    if (x.rank != 4 || x.dims[1] < 1 || x.dims[1] > SMOE_CHANNELS || (size_t)x.dims[1] % block != 0)
        FAIL("SMOE Scale takes [N,C,H,W] with 1 to 2^24 channels, a multiple of the block size if it has one");
    Work work = {.setting = setting, .smoe = smoe};
    work.pixels = (size_t)x.dims[2] * (size_t)x.dims[3];
    work.x = (Activations){x.data, (size_t)x.dims[1], block, work.pixels * block};
    work.tile = SMOE_TILE / block;
    work.tiles = (work.pixels + work.tile - 1) / work.tile;
    TRY(make_output(api, context, x.dims[0], x.dims[2], x.dims[3], &work.out));
    const size_t images = (size_t)x.dims[0];
    return run_parts(api, context, run_tile, images * work.tiles, images * work.x.channels * work.pixels, &work);
}

/* Epsilon must be above 0: the kernels take the logarithm of x + epsilon. */
OrtStatus *read_smoe_attributes(const OrtApi *api, const OrtKernelInfo *info, Setting *setting)
{
    float epsilon = 0;
    if (!has_attribute(api, api->KernelInfoGetAttribute_float(info, "epsilon", &epsilon)) ||
        !(epsilon > 0 && epsilon <= FLT_MAX))
        FAIL("SMOE Scale needs the attribute epsilon, a number above 0");
    setting->attributes[EPSILON] = (double)epsilon;
    return NULL;
}

OrtStatus *read_smoe_blocked_attributes(const OrtApi *api, const OrtKernelInfo *info, Setting *setting)
{
    int64_t block = 0;
    if (!has_attribute(api, api->KernelInfoGetAttribute_int64(info, "block", &block)) || (block != 8 && block != 16))
        FAIL("SmoeScaleBlocked needs the attribute block, 8 or 16");
    if (fastcam_block() != 0 && block != fastcam_block())
        FAIL("the file was prepared for another processor");
    setting->attributes[BLOCK] = (double)block;
    return read_smoe_attributes(api, info, setting);
}

OrtStatus *smoe_scale(const Setting *setting, OrtKernelContext *context)
{
    return run_smoe(setting, context, setting->kernels->smoe_planes, 1);
}

OrtStatus *smoe_scale_relu(const Setting *setting, OrtKernelContext *context)
{
    return run_smoe(setting, context, setting->kernels->smoe_planes_relu, 1);
}

OrtStatus *smoe_scale_blocked(const Setting *setting, OrtKernelContext *context)
{
    return run_smoe(setting, context, setting->kernels->smoe_blocks, (size_t)setting->attributes[BLOCK]);
}

OrtStatus *smoe_scale_blocked_relu(const Setting *setting, OrtKernelContext *context)
{
    return run_smoe(setting, context, setting->kernels->smoe_blocks_relu, (size_t)setting->attributes[BLOCK]);
}
