/* Reading inputs, creating outputs and reporting errors, for all operators. */
#ifndef FASTCAM_TENSORS_H
#define FASTCAM_TENSORS_H

#include "ort_abi.h"

#include <stddef.h>

enum { MAX_RANK = 5 }; /* N×k×h×w×V: the raw head of a detector */

typedef struct {
    const void *data;
    int type; /* element type */
    size_t rank;
    int64_t dims[MAX_RANK];
} Tensor;

/* Return early with a failed call's status. */
#define TRY(call)                   \
    do {                            \
        OrtStatus *status_ = (call); \
        if (status_ != NULL)        \
            return status_;         \
    } while (0)

#define FAIL(message) return api->CreateStatus(ORT_INVALID_ARGUMENT, "fastcam: " message)

/* Whether a call that read an attribute succeeded: the node has it, in the requested type. Releases the status. */
static inline int has_attribute(const OrtApi *api, OrtStatus *status)
{
    if (status != NULL)
        api->ReleaseStatus(status);
    return status == NULL;
}

static inline OrtStatus *read_shape(const OrtApi *api, const OrtShape *shape, int type, Tensor *out)
{
    TRY(api->GetTensorElementType(shape, &out->type));
    if (out->type != type && type != ORT_UNDEFINED)
        FAIL("an input has an unexpected element type");
    TRY(api->GetDimensionsCount(shape, &out->rank));
    if (out->rank > MAX_RANK)
        FAIL("an input has too many dimensions");
    return api->GetDimensions(shape, out->dims, out->rank);
}

/* Input `index`, which must have element type `type`; ORT_UNDEFINED accepts any. */
static inline OrtStatus *read_input(const OrtApi *api, const OrtKernelContext *context, size_t index, int type,
                                    Tensor *out)
{
    const OrtValue *value = NULL;
    OrtShape *shape = NULL;
    void *data = NULL;
    *out = (Tensor){0};
    TRY(api->KernelContext_GetInput(context, index, &value));
    if (value == NULL)
        FAIL("an input is missing");
    TRY(api->GetTensorTypeAndShape(value, &shape));
    OrtStatus *status = read_shape(api, shape, type, out);
    api->ReleaseShape(shape);
    TRY(status);
    TRY(api->GetTensorMutableData((OrtValue *)value, &data));
    out->data = data;
    return NULL;
}

/* The only output, of `rank` dimensions. */
static inline OrtStatus *make_any_output(const OrtApi *api, OrtKernelContext *context, const int64_t *dims,
                                         size_t rank, void **out)
{
    OrtValue *value = NULL;
    TRY(api->KernelContext_GetOutput(context, 0, dims, rank, &value));
    return api->GetTensorMutableData(value, out);
}

/* The only output, float32 [n, height, width]. */
static inline OrtStatus *make_output(const OrtApi *api, OrtKernelContext *context, int64_t n, int64_t height,
                                     int64_t width, float **out)
{
    const int64_t dims[3] = {n, height, width};
    void *data = NULL;
    TRY(make_any_output(api, context, dims, 3, &data));
    *out = data;
    return NULL;
}

/* Run `part` for 0 … count - 1. Threads share the work where `elements` are read in all and waking them pays. */
static inline OrtStatus *run_parts(const OrtApi *api, const OrtKernelContext *context, void (*part)(void *, size_t),
                                   size_t count, size_t elements, void *work)
{
    enum { PARALLEL_FROM = 1 << 16 };
    if (elements >= PARALLEL_FROM)
        return api->KernelContext_ParallelFor(context, part, count, 0, work);
    for (size_t i = 0; i < count; i++)
        part(work, i);
    return NULL;
}

#endif
