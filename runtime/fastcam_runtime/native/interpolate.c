/* Interpolates maps bilinearly to one size, then sums them, takes the maximum, or colours them. */
#include "interpolate.h"
#include "tensors.h"

#include <math.h>
#include <stdlib.h>

/* Output rows per task, and the smallest number of output pixels for which other threads are used. */
enum { BAND = 64, PARALLEL_FROM = 1 << 17 };

/* Largest side in pixels: stretched by up to 32, it still fits into 32 bits. */
enum { MAX_LENGTH = 1 << 24 };

/* A map whose range is below this fraction of its maximum counts as constant: upsampling rounds by that much. */
#define ROUNDING 1e-6f

typedef struct {
    const Setting *setting;
    size_t images, height, width, count;
    Layer *layers;  /* `count` layers: the maps of the current image */
    float *scratch; /* per band: `count` pairs of stretched rows, and three more rows */
    Range *ranges;  /* per band */
    Purpose purpose;
    Range range; /* of the current image, for SCORE_MAP */
    size_t stride; /* from image to image, if one input holds all maps; else 0 */
    void *out; /* for the current image: float [H,W], or uint8 [H,W,3] for LOVI */
} Work;

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

/* Small images are one band. */
static size_t bands_of(const Work *work)
{
    return work->height * work->width < PARALLEL_FROM ? 1 : (work->height + BAND - 1) / BAND;
}

static size_t scratch_rows(const Work *work) { return 2 * work->count + 3; }

static void run_rows(const Work *work, size_t first, size_t last, float *scratch)
{
    const Kernels *kernels = work->setting->kernels;
    size_t start = first * work->width;
    float *out = (float *)work->out + start;
    if (work->purpose == LOVI)
        kernels->lovi_rows(work->layers, work->count, work->width, first, last, scratch,
                           (uint8_t *)work->out + 3 * start);
    else if (work->purpose == SCORE_MAP)
        kernels->score_map_rows(work->layers, work->count, work->width, first, last, scratch, work->range, out);
    else if (work->purpose == LARGEST)
        kernels->largest_rows(work->layers, work->count, work->width, first, last, scratch, out);
    else
        kernels->combine_rows(work->layers, work->count, work->width, first, last, scratch, out);
}

/* The rows of a band, and its own scratch. */
typedef struct {
    size_t first, last;
    float *scratch;
} Band;

static Band band_of(const Work *work, size_t index)
{
    size_t first = index * BAND, last = index + 1 == bands_of(work) ? work->height : first + BAND;
    return (Band){first, last, work->scratch + index * scratch_rows(work) * work->width};
}

static void run_band(void *data, size_t index)
{
    const Work *work = data;
    Band band = band_of(work, index);
    run_rows(work, band.first, band.last, band.scratch);
}

static void measure_band(void *data, size_t index)
{
    const Work *work = data;
    Band band = band_of(work, index);
    work->ranges[index] = (Range){INFINITY, -INFINITY, 0};
    work->setting->kernels->largest_range(work->layers, work->count, work->width, band.first, band.last, band.scratch,
                                          &work->ranges[index]);
}

static OrtStatus *run_bands(Work *work, OrtKernelContext *context, void (*band)(void *, size_t))
{
    if (bands_of(work) > 1)
        return work->setting->api->KernelContext_ParallelFor(context, band, bands_of(work), 0, work);
    band(work, 0);
    return NULL;
}

/* The range of the current image: its largest pixel becomes exactly 1, a constant image 0. */
static Range whole_range(const Work *work)
{
    Range range = work->ranges[0];
    for (size_t i = 1; i < bands_of(work); i++) {
        range.least = fminf(work->ranges[i].least, range.least);
        range.most = fmaxf(work->ranges[i].most, range.most);
    }
    float span = range.most - range.least;
    range.scale = span > range.most * ROUNDING ? 1 / span : 0;
    if (range.scale > 0 && span * range.scale < 1)
        range.scale = nextafterf(range.scale, INFINITY);
    return range;
}

static OrtStatus *run_images(Work *work, OrtKernelContext *context)
{
    for (size_t n = 0; n < work->images; n++) {
        if (work->purpose == SCORE_MAP) {
            TRY(run_bands(work, context, measure_band));
            work->range = whole_range(work);
        }
        TRY(run_bands(work, context, run_band));
        for (size_t k = 0; k < work->count; k++)
            work->layers[k].pixels += work->stride > 0 ? work->stride : work->layers[k].height * work->layers[k].width;
        work->out = (char *)work->out + work->height * work->width * (work->purpose == LOVI ? 3 : sizeof(float));
    }
    return NULL;
}

/* Read map `k`, and set the number of images. */
static OrtStatus *read_map(Work *work, const OrtKernelContext *context, const Maps *maps, size_t k, Layer *out)
{
    const OrtApi *api = work->setting->api;
    Tensor map;
    TRY(read_input(api, context, maps->lengths == NULL ? k : 0, ORT_FLOAT, &map));
    const int64_t *lengths = maps->lengths == NULL ? map.dims + 1 : maps->lengths + 2 * k;
    if (k == 0)
        work->images = (size_t)map.dims[0];
    if (map.rank != (maps->lengths == NULL ? 3 : 2) || (size_t)map.dims[0] != work->images ||
        !is_length(lengths[0]) || !is_length(lengths[1]))
        FAIL("a map to interpolate is not [N,h,w], sides of 1 to 2^24, with the same N as the others");
    *out = (Layer){.pixels = map.data, .height = (size_t)lengths[0], .width = (size_t)lengths[1]};
    if (maps->lengths == NULL)
        return NULL;
    size_t before = 0;
    for (size_t i = 0; i < k; i++)
        before += work->layers[i].height * work->layers[i].width;
    work->stride = (size_t)map.dims[1];
    if (before + out->height * out->width > work->stride)
        FAIL("the maps to interpolate are larger than their input");
    out->pixels += before;
    return NULL;
}

/* Read the maps into the layers. `pixels` and `fractions` have room for `height` + `width` source positions per map. */
static OrtStatus *read_layers(Work *work, const OrtKernelContext *context, const Maps *maps, int32_t *pixels,
                              float *fractions)
{
    for (size_t k = 0; k < work->count; k++) {
        Layer *layer = &work->layers[k];
        TRY(read_map(work, context, maps, k, layer));
        fill_positions(layer->height, work->height, pixels, fractions);
        fill_positions(layer->width, work->width, pixels + work->height, fractions + work->height);
        layer->weight = maps->weights == NULL ? 1 : maps->weights[k];
        layer->row = pixels, layer->column = pixels + work->height;
        layer->row_fraction = fractions, layer->column_fraction = fractions + work->height;
        pixels += work->height + work->width;
        fractions += work->height + work->width;
    }
    return NULL;
}

/* Allocate the layers, the ranges, the source positions and the scratch, in this order; NULL if there is no memory. The size
 * is computed in doubles: they do not overflow, and are exact for all sizes that can be allocated. */
static void *allocate(const Work *work)
{
    double positions = (double)work->count * (double)(work->height + work->width);
    double scratch = (double)scratch_rows(work) * (double)work->width * (double)bands_of(work);
    double bytes = (double)work->count * sizeof(Layer) + (double)bands_of(work) * sizeof(Range) + positions * sizeof(int32_t) +
                   (positions + scratch) * sizeof(float);
    return bytes <= (double)(PTRDIFF_MAX / 2) ? malloc((size_t)bytes) : NULL;
}

OrtStatus *interpolate(const Setting *setting, OrtKernelContext *context, Maps maps, Size size, Purpose purpose)
{
    const OrtApi *api = setting->api;
    Work work = {.setting = setting,
                 .height = (size_t)size.height,
                 .width = (size_t)size.width,
                 .count = maps.count,
                 .purpose = purpose};
    if (maps.weights == NULL && purpose == SUM && maps.count != 1)
        FAIL("Upsample takes one map");
    if (size.height < 0 || size.width < 0 || size.height > MAX_LENGTH || size.width > MAX_LENGTH)
        FAIL("maps are interpolated to sides of 0 to 2^24 pixels");
    work.layers = allocate(&work);
    if (work.layers == NULL)
        FAIL("no memory left to combine the maps");
    work.ranges = (Range *)(work.layers + work.count);
    int32_t *pixels = (int32_t *)(work.ranges + bands_of(&work));
    float *fractions = (float *)(pixels + work.count * (work.height + work.width));
    work.scratch = fractions + work.count * (work.height + work.width);
    OrtStatus *status = read_layers(&work, context, &maps, pixels, fractions);
    const int64_t dims[4] = {(int64_t)work.images, size.height, size.width, 3};
    if (status == NULL)
        status = make_any_output(api, context, dims, purpose == LOVI ? 4 : 3, &work.out);
    if (status == NULL && work.height > 0 && work.width > 0)
        status = run_images(&work, context);
    free(work.layers);
    return status;
}
