/* The arithmetic of the operators, compiled once for each instruction set and chosen when a node is made. */
#ifndef FASTCAM_KERNELS_H
#define FASTCAM_KERNELS_H

#include "exported.h"

#include <stddef.h>
#include <stdint.h>

/* Values of one row that one call of a SMOE kernel takes at most. What it keeps of them stays in the second-level
 * cache, and the rows that it reads are long enough for the processor to see them coming. */
#define SMOE_TILE 2048
/* Channels that it takes at most: the exponents of more would not add up in 32 bits. */
#define SMOE_CHANNELS (1 << 24)

/* Channel c of pixel p is data[c / block * stride + p * block + c % block]. */
typedef struct {
    const float *data;
    size_t channels; /* a multiple of `block`, 1 at least */
    size_t block;    /* 1 for planes, else 8 or 16 */
    size_t stride;
} Activations;

/* Quantised activations: channel c of pixel p is data[c * channel_step + p * pixel_step]. With `flip` and `zero` they are
 * scale·max((byte ^ flip) − zero, 0). */
typedef struct {
    const uint8_t *data;
    size_t channels; /* 1 at least; whole vectors of 8 where they lie together */
    size_t channel_step, pixel_step;
    uint8_t flip; /* 0x80 for int8, whose order it makes that of uint8 */
    uint8_t zero; /* the zero point, flipped */
    float scale;
} Quantized;

/* One map of a combination. Output row y lies `row_fraction[y]` of the way from row `row[y]` to the next, and so
 * do the columns. `row[y]` is the last row only where there is but one. */
typedef struct {
    const float *pixels;
    size_t height, width;
    float weight;
    const int32_t *row, *column;
    const float *row_fraction, *column_fraction;
} Layer;

/* Rows of a frame, of 3 bytes a pixel, that share one row of levels, and the picture of them. Strides are bytes from
 * row to row. */
typedef struct {
    const uint8_t *frame;
    ptrdiff_t frame_stride;
    const uint8_t *table; /* for each of 256 levels three bytes that are added, and the weight of the frame, of 255 */
    uint8_t *picture;
    ptrdiff_t picture_stride;
    size_t rows;
} Blend;

typedef void MapKernel(const float *map, size_t count, float *out);
typedef void SmoeKernel(Activations x, size_t count, float epsilon, float *out);
typedef void QuantizedKernel(Quantized x, size_t count, float epsilon, float *out);
typedef void ProductKernel(const float *combined, const float *cam, size_t count, float *out);
typedef void CombineKernel(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                           float *out);
typedef void LoviKernel(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                        uint8_t *out);
typedef void BlendKernel(Blend b, const uint8_t *levels, size_t width);

/* The kernels of one instruction set: a pointer for each KERNEL row of table.h. */
typedef struct {
    const char *instructions;
#define KERNEL(type, name) type *name;
#include "table.h"
} Kernels;

extern const Kernels fastcam_kernels_generic;
#if defined(__x86_64__) && defined(__GNUC__)
#define FASTCAM_HAVE_AVX2
extern const Kernels fastcam_kernels_avx2;
#endif

/* The fastest kernels that this processor can run. */
const Kernels *fastcam_kernels(void);

/* Channels that onnxruntime keeps together on this processor, if it does: as many as the widest registers hold. 0
 * where that is not known. */
EXPORTED int fastcam_block(void);

#endif
