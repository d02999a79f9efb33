/* CombineScales, Upsample and Lovi: bilinear interpolation of maps to one size, and what is made of them there. */
#include "operators.h"
#include "tensors.h"

#include <stdlib.h>

/* Output rows that one thread does in one go, and output pixels from which other threads are woken. */
enum { BAND = 64, PARALLEL_FROM = 1 << 17 };

typedef struct {
    const Setting *setting;
    size_t images, height, width, count;
    Layer *layers;  /* `count` of them, with the maps of one image */
    float *scratch; /* for each band, `count` pairs of stretched rows and three more */
    float *out;     /* the weighted sum, or NULL for */
    uint8_t *lovi;
} Work;

/* Where `size` output pixels read `length` source pixels: (i + ½)·length/size − ½, kept inside the map, as a
 * pixel, never the last of several, and the way from it to the next. */
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

static int is_length(int64_t length) { return length > 0 && length <= INT32_MAX; }

static size_t bands_of(const Work *work) { return (work->height + BAND - 1) / BAND; }

static size_t scratch_rows(const Work *work) { return 2 * work->count + 3; }

static void run_rows(const Work *work, size_t first, size_t last, float *scratch)
{
    const Kernels *kernels = work->setting->kernels;
    size_t start = first * work->width;
    if (work->out != NULL)
        kernels->combine_rows(work->layers, work->count, work->width, first, last, scratch, work->out + start);
    else
        kernels->lovi_rows(work->layers, work->count, work->width, first, last, scratch, work->lovi + 3 * start);
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
        if (work->out != NULL)
            work->out += work->height * work->width;
        else
            work->lovi += 3 * work->height * work->width;
    }
    return NULL;
}

/* Read the maps, inputs 0 … count − 1, into the layers; `pixels` and `fractions` have room for where each of
 * them is read, `height` rows and `width` columns. */
static OrtStatus *read_layers(Work *work, const OrtKernelContext *context, const float *weights,
                              int32_t *pixels, float *fractions)
{
    const OrtApi *api = work->setting->api;
    for (size_t k = 0; k < work->count; k++) {
        Tensor map;
        TRY(read_input(api, context, k, ORT_FLOAT, &map));
        if (map.rank != 3 || (size_t)map.dims[0] != work->images || !is_length(map.dims[1]) || !is_length(map.dims[2]))
            FAIL("a map to interpolate is not [N,h,w] with the same N as the others");
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

/* What the interpolated maps become. */
typedef enum { SUM, LOVI } Purpose;

static OrtStatus *make_work_output(Work *work, OrtKernelContext *context, Purpose purpose)
{
    const OrtApi *api = work->setting->api;
    const int64_t dims[4] = {(int64_t)work->images, (int64_t)work->height, (int64_t)work->width, 3};
    void *data = NULL;
    TRY(make_any_output(api, context, dims, purpose == LOVI ? 4 : 3, &data));
    work->out = purpose == SUM ? data : NULL;
    work->lovi = purpose == LOVI ? data : NULL;
    return NULL;
}

/* The first `count` inputs are the maps; `weights` is NULL where all are 1. */
static OrtStatus *interpolate(const Setting *setting, OrtKernelContext *context, size_t count, int64_t height,
                              int64_t width, const float *weights, Purpose purpose)
{
    const OrtApi *api = setting->api;
    Tensor map;
    Work work = {setting, 0, (size_t)height, (size_t)width, count, NULL, NULL, NULL, NULL};
    TRY(read_input(api, context, 0, ORT_FLOAT, &map));
    if (map.rank != 3 || height > INT32_MAX || width > INT32_MAX || height < 0 || width < 0)
        FAIL("a map to interpolate is not [N,h,w], or its new size is not one");
    work.images = (size_t)map.dims[0];
    TRY(make_work_output(&work, context, purpose));
    if (work.images == 0 || height == 0 || width == 0)
        return NULL;
    size_t positions = count * (work.height + work.width);
    size_t rows = scratch_rows(&work) * work.width * bands_of(&work);
    Layer *layers = malloc(count * sizeof *layers + positions * sizeof(int32_t) + (positions + rows) * sizeof(float));
    if (layers == NULL)
        FAIL("no memory left to combine the maps");
    int32_t *pixels = (int32_t *)(layers + count);
    float *fractions = (float *)(pixels + positions);
    work.layers = layers;
    work.scratch = fractions + positions;
    OrtStatus *status = read_layers(&work, context, weights, pixels, fractions);
    if (status == NULL)
        status = run_images(&work, context);
    free(layers);
    return status;
}

/* Inputs M1 … MK, weights [K], then the constants of a fixed size: lengths, rows [K,2,H], columns [K,2,W]. */
OrtStatus *combine_scales(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    size_t inputs;
    Tensor weights, rows, columns;
    TRY(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 5)
        FAIL("CombineScales takes maps, weights, lengths, rows and columns");
    TRY(read_input(api, context, inputs - 4, ORT_FLOAT, &weights));
    TRY(read_input(api, context, inputs - 2, ORT_FLOAT, &rows));
    TRY(read_input(api, context, inputs - 1, ORT_FLOAT, &columns));
    if (weights.rank != 1 || (size_t)weights.dims[0] != inputs - 4 || rows.rank != 3 || columns.rank != 3)
        FAIL("CombineScales takes one weight per map, rows [K,2,H] and columns [K,2,W]");
    return interpolate(setting, context, inputs - 4, rows.dims[2], columns.dims[2], weights.data, SUM);
}

/* Inputs M1 … MK, size int64 [2], weights [K]. */
OrtStatus *combine_scales_dynamic(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    size_t inputs;
    Tensor size, weights;
    TRY(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 3)
        FAIL("CombineScalesDynamic takes maps, a size and weights");
    TRY(read_input(api, context, inputs - 2, ORT_INT64, &size));
    TRY(read_input(api, context, inputs - 1, ORT_FLOAT, &weights));
    if (size.rank != 1 || size.dims[0] != 2 || weights.rank != 1 || (size_t)weights.dims[0] != inputs - 2)
        FAIL("CombineScalesDynamic takes one weight per map and a size of two numbers");
    const int64_t *to = size.data;
    return interpolate(setting, context, inputs - 2, to[0], to[1], weights.data, SUM);
}

/* Inputs M, then the constants of a fixed size: lengths, rows [1,2,H], columns [1,2,W]. */
OrtStatus *upsample(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    Tensor rows, columns;
    TRY(read_input(api, context, 2, ORT_FLOAT, &rows));
    TRY(read_input(api, context, 3, ORT_FLOAT, &columns));
    if (rows.rank != 3 || columns.rank != 3)
        FAIL("Upsample takes rows [1,2,H] and columns [1,2,W]");
    return interpolate(setting, context, 1, rows.dims[2], columns.dims[2], NULL, SUM);
}

/* Inputs M, size int64 [2]. */
OrtStatus *upsample_dynamic(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    Tensor size;
    TRY(read_input(api, context, 1, ORT_INT64, &size));
    if (size.rank != 1 || size.dims[0] != 2)
        FAIL("UpsampleDynamic takes a size of two numbers");
    const int64_t *to = size.data;
    return interpolate(setting, context, 1, to[0], to[1], NULL, SUM);
}

/* Inputs M1 … MK, then the constants of a fixed size: lengths, rows [K,2,H], columns [K,2,W]. */
OrtStatus *lovi(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    size_t inputs;
    Tensor rows, columns;
    TRY(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 4)
        FAIL("Lovi takes maps, lengths, rows and columns");
    TRY(read_input(api, context, inputs - 2, ORT_FLOAT, &rows));
    TRY(read_input(api, context, inputs - 1, ORT_FLOAT, &columns));
    if (rows.rank != 3 || columns.rank != 3)
        FAIL("Lovi takes rows [K,2,H] and columns [K,2,W]");
    return interpolate(setting, context, inputs - 3, rows.dims[2], columns.dims[2], NULL, LOVI);
}

/* Inputs M1 … MK, size int64 [2]. */
OrtStatus *lovi_dynamic(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    size_t inputs;
    Tensor size;
    TRY(api->KernelContext_GetInputCount(context, &inputs));
    if (inputs < 2)
        FAIL("LoviDynamic takes maps and a size");
    TRY(read_input(api, context, inputs - 1, ORT_INT64, &size));
    if (size.rank != 1 || size.dims[0] != 2)
        FAIL("LoviDynamic takes a size of two numbers");
    const int64_t *to = size.data;
    return interpolate(setting, context, inputs - 1, to[0], to[1], NULL, LOVI);
}
