/* CombineScales, Upsample, ScoreMap and Lovi: maps interpolated to one size. */
#include "interpolate.h"
#include "tensors.h"

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
    return interpolate(setting, context, (Maps){inputs - 4, NULL, weights}, size, SUM);
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
    return interpolate(setting, context, (Maps){inputs - 2, NULL, weights}, size, SUM);
}

/* Inputs M1 … MK, then the constants of a fixed size: lengths, rows, columns. */
static OrtStatus *interpolate_fixed(const Setting *setting, OrtKernelContext *context, Purpose purpose)
{
    size_t inputs = 0;
    Size size = {0, 0};
    TRY(count_inputs(setting->api, context, 4, &inputs));
    TRY(read_fixed_size(setting->api, context, inputs, &size));
    return interpolate(setting, context, (Maps){inputs - 3, NULL, NULL}, size, purpose);
}

/* Inputs M1 … MK, size. */
static OrtStatus *interpolate_free(const Setting *setting, OrtKernelContext *context, Purpose purpose)
{
    size_t inputs = 0;
    Size size = {0, 0};
    TRY(count_inputs(setting->api, context, 2, &inputs));
    TRY(read_free_size(setting->api, context, inputs - 1, &size));
    return interpolate(setting, context, (Maps){inputs - 1, NULL, NULL}, size, purpose);
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

/* Inputs M [N,Σh·w], lengths [K,2], rows of each map, columns: the rows come in bands, and only their last axis is
 * read. */
OrtStatus *score_map(const Setting *setting, OrtKernelContext *context)
{
    const OrtApi *api = setting->api;
    size_t inputs = 0;
    Size size = {0, 0};
    Tensor lengths;
    TRY(count_inputs(api, context, 4, &inputs));
    TRY(read_input(api, context, 1, ORT_INT64, &lengths));
    if (lengths.rank != 2 || (size_t)lengths.dims[0] != inputs - 3 || lengths.dims[1] != 2)
        FAIL("ScoreMap takes two lengths and one constant of rows per map");
    TRY(read_fixed_size(api, context, inputs, &size));
    return interpolate(setting, context, (Maps){inputs - 3, lengths.data, NULL}, size, SCORE_MAP);
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
