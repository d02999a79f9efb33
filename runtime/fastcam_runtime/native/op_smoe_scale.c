/* SmoeScale: from activations to the map of a scale. */
#include "operators.h"
#include "tensors.h"

/* Fewer activations than this are not worth waking another thread for. */
enum { PARALLEL_FROM = 1 << 16 };

typedef struct {
    const Setting *setting;
    SmoePlanes *smoe;
    const float *x;
    float *out;
    size_t images, channels, pixels, tiles; /* channels, pixels and tiles of one image */
} Work;

static void run_tile(void *data, size_t index)
{
    const Work *work = data;
    size_t image = index / work->tiles, start = index % work->tiles * SMOE_TILE;
    size_t count = work->pixels - start < SMOE_TILE ? work->pixels - start : SMOE_TILE;
    work->smoe(work->x + image * work->channels * work->pixels + start, work->pixels, work->channels, count,
               work->setting->epsilon, work->out + image * work->pixels + start);
}

static OrtStatus *run_smoe(const Setting *setting, OrtKernelContext *context, SmoePlanes *smoe)
{
    const OrtApi *api = setting->api;
    Tensor x;
    TRY(read_input(api, context, 0, ORT_FLOAT, &x));
    if (x.rank != 4 || x.dims[1] < 1)
        FAIL("SmoeScale takes [N,C,H,W] with at least one channel");
    Work work = {setting, smoe, x.data, NULL, (size_t)x.dims[0], (size_t)x.dims[1], 0, 0};
    work.pixels = (size_t)x.dims[2] * (size_t)x.dims[3];
    work.tiles = (work.pixels + SMOE_TILE - 1) / SMOE_TILE;
    TRY(make_output(api, context, x.dims[0], x.dims[2], x.dims[3], &work.out));
    size_t count = work.images * work.tiles;
    if (work.images * work.channels * work.pixels >= PARALLEL_FROM)
        return api->KernelContext_ParallelFor(context, run_tile, count, 0, &work);
    for (size_t i = 0; i < count; i++)
        run_tile(&work, i);
    return NULL;
}

OrtStatus *smoe_scale(const Setting *setting, OrtKernelContext *context)
{
    return run_smoe(setting, context, setting->kernels->smoe_planes);
}

OrtStatus *smoe_scale_relu(const Setting *setting, OrtKernelContext *context)
{
    return run_smoe(setting, context, setting->kernels->smoe_planes_relu);
}
