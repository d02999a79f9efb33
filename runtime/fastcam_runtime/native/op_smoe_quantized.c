/* SmoeScaleQuantized: from quantised activations to the map of a scale, without dequantising the tensor. */
#include "operators.h"
#include "tensors.h"

#include <float.h>

/* Most channels: the sum of their values must fit into 32 bits. */
enum { MOST_CHANNELS = 1 << 22 };

typedef struct {
    QuantizedKernel *smoe;
    Quantized x; /* of the first image */
    float epsilon, *out;
    size_t pixels, tiles; /* of one image */
} Work;

static void run_tile(void *data, size_t index)
{
    const Work *work = data;
    size_t image = index / work->tiles, start = index % work->tiles * SMOE_TILE;
    size_t count = work->pixels - start < SMOE_TILE ? work->pixels - start : SMOE_TILE;
    Quantized x = work->x;
    x.data += image * x.channels * work->pixels + start * x.pixel_step;
    work->smoe(x, count, work->epsilon, work->out + image * work->pixels + start);
}

/* Read the tensor of input 0, and its per-tensor scale and zero point, inputs 1 and 2. */
static OrtStatus *read_quantized(const OrtApi *api, const OrtKernelContext *context, Tensor *x, Quantized *out)
{
    Tensor scale, zero;
    TRY(read_input(api, context, 0, ORT_UNDEFINED, x));
    TRY(read_input(api, context, 1, ORT_FLOAT, &scale));
    TRY(read_input(api, context, 2, x->type, &zero));
    if (x->type != ORT_UINT8 && x->type != ORT_INT8)
        FAIL("quantised SMOE Scale takes uint8 or int8");
    if (x->rank != 4 || scale.rank > 1 || zero.rank > 1 || (scale.rank == 1 && scale.dims[0] != 1) ||
        (zero.rank == 1 && zero.dims[0] != 1))
        FAIL("quantised SMOE Scale takes four dimensions, with one scale and one zero point");
    out->data = x->data;
    out->scale = *(const float *)scale.data;
    out->flip = x->type == ORT_INT8 ? 0x80 : 0;
    out->zero = *(const uint8_t *)zero.data ^ out->flip;
    if (!(out->scale > 0 && out->scale <= FLT_MAX))
        FAIL("the scale of quantised activations must be finite and above 0");
    return NULL;
}

/* `channel` is the axis of the channels, 1 or 3. */
static OrtStatus *run_quantized(const Setting *setting, OrtKernelContext *context, size_t channel)
{
    const OrtApi *api = setting->api;
    Tensor x;
    Work work = {.epsilon = (float)setting->attributes[0]};
    TRY(read_quantized(api, context, &x, &work.x));
    const int64_t *size = channel == 1 ? x.dims + 2 : x.dims + 1;
    const int64_t channels = x.dims[channel];
    if (channels < 1 || channels > MOST_CHANNELS || (channel == 3 && channels % 8 != 0))
        FAIL("quantised SMOE Scale takes 1 to 2^22 channels, a multiple of 8 where they come last");
    work.pixels = (size_t)size[0] * (size_t)size[1];
    work.x.channels = (size_t)channels;
    work.x.channel_step = channel == 1 ? work.pixels : 1;
    work.x.pixel_step = channel == 1 ? 1 : (size_t)channels;
    work.smoe = channel == 1 ? setting->kernels->smoe_quantized_planes : setting->kernels->smoe_quantized_pixels;
    work.tiles = (work.pixels + SMOE_TILE - 1) / SMOE_TILE;
    TRY(make_output(api, context, x.dims[0], size[0], size[1], &work.out));
    const size_t images = (size_t)x.dims[0];
    return run_parts(api, context, run_tile, images * work.tiles, images * work.x.channels * work.pixels, &work);
}

OrtStatus *smoe_scale_quantized(const Setting *setting, OrtKernelContext *context)
{
    return run_quantized(setting, context, 1);
}

OrtStatus *smoe_scale_channels_last(const Setting *setting, OrtKernelContext *context)
{
    return run_quantized(setting, context, 3);
}
