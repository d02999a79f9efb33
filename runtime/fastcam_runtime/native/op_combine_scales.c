/* CombineScales, Upsample, MaxOverStrides and Lovi: they interpolate maps bilinearly to one size, then sum them,
 * take the maximum, or colour them. */
#include "operators.h"
#include "tensors.h"

#include <stdlib.h>

/* Output rows per task, and the smallest number of output pixels for which other threads are used. */
enum { BAND = 64, PARALLEL_FROM = 1 << 17 };

/* Largest side in pixels: stretched by up to 32, it still fits into 32 bits. */
enum { MAX_LENGTH = 1 << 24 };

/* What the interpolated maps become. */
typedef enum { SUM, LARGEST, LOVI } Purpose;

typedef struct {
    const Setting *setting;
    size_t images, height, width, count;
    Layer *layers;  /* `count` layers: the maps of the current image */
    float *scratch; /* per band: `count` pairs of stretched rows, and three more rows */
    Purpose purpose;
    void *out; /* for the current image: float [H,W], or uint8 [H,W,3] for LOVI */
} Work;

typedef struct {
    int64_t height, width;
} Size;

/* The source positions of `size` output pixels: (i + ½)·length/size − ½, clamped to the map. `pixel` is the whole
 * part, at most length − 2 (0 if the length is 1), and `fraction` the rest. */
static void fill_positions(size_t length, size_t size, int32_t *pixel, float *fraction)
{
    const double step = (double)length / (double)size, end = (double)(length - 1);
    const int32_t last = length > 1 ? (int32_t)length - 2 : 0;
    for (int32_t i = 0; i < (int32_t)size; i++) {
        double at = (i + 0.5) * step - 0.5;
        at = at > 0 ? at : 0;
        at = at < end ? at : end;
        int32_t whole = (int32_t)at < last ? (int32_t)at : last;
        pixel[i] = whole;
        fraction[i] = (float)(at - whole);
    }
}

static int is_length(int64_t length) { return length > 0 && length <= MAX_LENGTH; }

static size_t bands_of(const Work *work) { return (work->height + BAND - 1) / BAND; }

static size_t scratch_rows(const Work *work) { return 2 * work->count + 3; }

static void run_rows(const Work *work, size_t first, size_t last, float *scratch)
{
    const Kernels *kernels = work->setting->kernels;
    size_t start = first * work->width;
    if (work->purpose == LOVI) {
        kernels->lovi_rows(work->layers, work->count, work->width, first, last, scratch,
                           (uint8_t *)work->out + 3 * start);
        return;
    }
    CombineKernel *rows = work->purpose == SUM ? kernels->combine_rows : kernels->largest_rows;
    rows(work->layers, work->count, work->width, first, last, scratch, (float *)work->out + start);
}

static void run_band(void *data, size_t index)
{
    const Work *work = data;
    size_t first = index * BAND, last = work->height - first < BAND ? work->height : first + BAND;
    run_rows(work, first, last, work->scratch + index * scratch_rows(work) * work->width);
}

static OrtStatus *run_images(Work *work, OrtKernelContext *context)
{
    const OrtApi *api = work->setting->api;
    for (size_t n = 0; n < work->images; n++) {
        if (work->height * work->width >= PARALLEL_FROM)
            TRY(api->KernelContext_ParallelFor(context, run_band, bands_of(work), 0, work));
        else
            run_rows(work, 0, work->height, work->scratch);
        for (size_t k = 0; k < work->count; k++)
            work->layers[k].pixels += work->layers[k].height * work->layers[k].width;
        work->out = (char *)work->out + work->height * work->width * (work->purpose == LOVI ? 3 : sizeof(float));
    }
    return NULL;
}

/* Read the maps, inputs 0 … count − 1, into the layers, and set the number of images. `pixels` and `fractions` have
 * room for `height` + `width` source positions per map. */
static OrtStatus *read_layers(Work *work, const OrtKernelContext *context, const float *weights,
                              int32_t *pixels, float *fractions)
{
    const OrtApi *api = work->setting->api;
    for (size_t k = 0; k < work->count; k++) {
        Tensor map;
        TRY(read_input(api, context, k, ORT_FLOAT, &map));
        if (k == 0)
            work->images = (size_t)map.dims[0];
        if (map.rank != 3 || (size_t)map.dims[0] != work->images || !is_length(map.dims[1]) || !is_length(map.dims[2]))
            FAIL("a map to interpolate is not [N,h,w], sides of 1 to 2^24, with the same N as the others");
        size_t height = (size_t)map.dims[1], width = (size_t)map.dims[2];
        fill_positions(height, work->height, pixels, fractions);
        fill_positions(width, work->width, pixels + work->height, fractions + work->height);
        work->layers[k] = (Layer){
            map.data, height, width, weights == NULL ? 1 : weights[k],
            pixels, pixels + work->height, fractions, fractions + work->height,
        };
        pixels += work->height + work->width;
        fractions += work->height + work->width;
    }
    return NULL;
}

/* Allocate the layers, their source positions and the scratch, in this order; NULL if there is no memory. The size
 * is computed in doubles: they do not overflow, and are exact for all sizes that can be allocated. */
static void *allocate(const Work *work)
{
    double positions = (double)work->count * (double)(work->height + work->width);
    double scratch = (double)scratch_rows(work) * (double)work->width * (double)bands_of(work);
    double bytes = (double)work->count * sizeof(Layer) + positions * sizeof(int32_t) +
                   (positions + scratch) * sizeof(float);
    return bytes <= (double)(PTRDIFF_MAX / 2) ? malloc((size_t)bytes) : NULL;
}

/* Interpolate the first `count` inputs, the maps, to `size`. A `weights` of NULL means that all weights are 1. */
static OrtStatus *interpolate(const Setting *setting, OrtKernelContext *context, size_t count, Size size,
                              const float *weights, Purpose purpose)
{
    const OrtApi *api = setting->api;
    Work work = {setting, 0, (size_t)size.height, (size_t)size.width, count, NULL, NULL, purpose, NULL};
    if (weights == NULL && purpose == SUM && count != 1)
        FAIL("Upsample takes one map");
    if (size.height < 0 || size.width < 0 || size.height > MAX_LENGTH || size.width > MAX_LENGTH)
        FAIL("maps are interpolated to sides of 0 to 2^24 pixels");
    work.layers = allocate(&work);
    if (work.layers == NULL)
        FAIL("no memory left to combine the maps");
    int32_t *pixels = (int32_t *)(work.layers + count);
    float *fractions = (float *)(pixels + count * (work.height + work.width));
    work.scratch = fractions + count * (work.height + work.width);
    OrtStatus *status = read_layers(&work, context, weights, pixels, fractions);
    const int64_t dims[4] = {(int64_t)work.images, size.height, size.width, 3};
    if (status == NULL)
        status = make_any_output(api, context, dims, purpose == LOVI ? 4 : 3, &work.out);
    if (status == NULL && work.height > 0 && work.width > 0)
        status = run_images(&work, context);
    free(work.layers);
    return status;
}

/* The number of inputs; fails if it is below `least`. */
static OrtStatus *count_inputs(const OrtApi *api, const OrtKernelContext *context, size_t least, size_t *out)
{
    TRY(api->KernelContext_GetInputCount(context, out));
    if (*out < least)
        FAIL("inputs of the interpolation are missing");
    return NULL;
}

/* The fixed output size, from the shapes of the last two inputs: rows [·,·,H] and columns [·,·,W]. */
static OrtStatus *read_fixed_size(const OrtApi *api, const OrtKernelContext *context, size_t inputs, Size *out)
{
    Tensor rows, columns;
    TRY(read_input(api, context, inputs - 2, ORT_FLOAT, &rows));
    TRY(read_input(api, context, inputs - 1, ORT_FLOAT, &columns));
    if (rows.rank != 3 || columns.rank != 3)
        FAIL("a fixed size comes as rows [·,·,H] and columns [·,·,W]");
    *out = (Size){rows.dims[2], columns.dims[2]};
    return NULL;
}

/* The free size in input `index`, int64 [2]. */
static OrtStatus *read_free_size(const OrtApi *api, const OrtKernelContext *context, size_t index, Size *out)
{
    Tensor size;
    TRY(read_input(api, context, index, ORT_INT64, &size));
    if (size.rank != 1 || size.dims[0] != 2)
        FAIL("a free size is two numbers");
    const int64_t *to = size.data;
    *out = (Size){to[0], to[1]};
    return NULL;
}

/* The weights in input `index`, one for each of `count` maps. */
static OrtStatus *read_weights(const OrtApi *api, const OrtKernelContext *context, size_t index, size_t count,
                               const float **out)
{
    Tensor weights;
    TRY(read_input(api, context, index, ORT_FLOAT, &weights));
    if (weights.rank != 1 || (size_t)weights.dims[0] != count)
        FAIL("CombineScales takes one weight per map");
    *out = weights.data;
    return NULL;
}

/* Inputs M1 … MK, weights [K], then the constants of a fixed size: lengths, rows, columns. */
OrtStatus *combine_scales(const Setting *setting, OrtKernelContext *context)
{
    size_t inputs = 0;
    Size size = {0, 0};
    const float *weights = NULL;
    TRY(count_inputs(setting->api, context, 5, &inputs));
    TRY(read_weights(setting->api, context, inputs - 4, inputs - 4, &weights));
    TRY(read_fixed_size(setting->api, context, inputs, &size));
    return interpolate(setting, context, inputs - 4, size, weights, SUM);
}

/* Inputs M1 … MK, size, weights [K]. */
OrtStatus *combine_scales_dynamic(const Setting *setting, OrtKernelContext *context)
{
    size_t inputs = 0;
    Size size = {0, 0};
    const float *weights = NULL;
    TRY(count_inputs(setting->api, context, 3, &inputs));
    TRY(read_weights(setting->api, context, inputs - 1, inputs - 2, &weights));
    TRY(read_free_size(setting->api, context, inputs - 2, &size));
    return interpolate(setting, context, inputs - 2, size, weights, SUM);
}

/* Inputs M1 … MK, then the constants of a fixed size: lengths, rows, columns. */
static OrtStatus *interpolate_fixed(const Setting *setting, OrtKernelContext *context, Purpose purpose)
{
    size_t inputs = 0;
    Size size = {0, 0};
    TRY(count_inputs(setting->api, context, 4, &inputs));
    TRY(read_fixed_size(setting->api, context, inputs, &size));
    return interpolate(setting, context, inputs - 3, size, NULL, purpose);
}

/* Inputs M1 … MK, size. */
static OrtStatus *interpolate_free(const Setting *setting, OrtKernelContext *context, Purpose purpose)
{
    size_t inputs = 0;
    Size size = {0, 0};
    TRY(count_inputs(setting->api, context, 2, &inputs));
    TRY(read_free_size(setting->api, context, inputs - 1, &size));
    return interpolate(setting, context, inputs - 1, size, NULL, purpose);
}

/* Upsampling is the sum of one map with weight 1. */
OrtStatus *upsample(const Setting *setting, OrtKernelContext *context)
{
    return interpolate_fixed(setting, context, SUM);
}

OrtStatus *upsample_dynamic(const Setting *setting, OrtKernelContext *context)
{
    return interpolate_free(setting, context, SUM);
}

/* Inputs M1 … MK, lengths, rows of each map, columns: the rows come in bands, and only their last axis is read. */
OrtStatus *largest(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    size_t inputs = 0;
    Size size = {0, 0};
    TRY(count_inputs(api, context, 4, &inputs));
    if (inputs % 2 != 0)
        FAIL("MaxOverStrides takes one constant of rows per map");
    TRY(read_fixed_size(api, context, inputs, &size));
    return interpolate(setting, context, inputs / 2 - 1, size, NULL, LARGEST);
}

OrtStatus *largest_dynamic(const Setting *setting, OrtKernelContext *context)
{
    return interpolate_free(setting, context, LARGEST);
}

OrtStatus *lovi(const Setting *setting, OrtKernelContext *context)
{
    return interpolate_fixed(setting, context, LOVI);
}

OrtStatus *lovi_dynamic(const Setting *setting, OrtKernelContext *context)
{
    return interpolate_free(setting, context, LOVI);
}
