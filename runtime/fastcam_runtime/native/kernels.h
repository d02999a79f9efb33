/* The arithmetic of the operators, compiled once per instruction set and selected when a node is created. */
#ifndef FASTCAM_KERNELS_H
#define FASTCAM_KERNELS_H

#include "exported.h"

#include <stddef.h>
#include <stdint.h>

/* Most values of one row in one call of a SMOE kernel. The intermediate results fit into the L2 cache, and the rows
 * are long enough for the hardware prefetcher. */
#define SMOE_TILE 2048
/* Most channels: the sum of more exponents would overflow 32 bits. */
#define SMOE_CHANNELS (1 << 24)

/* Channel c of pixel p is data[c / block * stride + p * block + c % block]. */
typedef struct {
    const float *data;
    size_t channels; /* a multiple of `block`, at least 1 */
    size_t block;    /* 1 for planes, else 8 or 16 */
    size_t stride;
} Activations;

/* Quantised activations: channel c of pixel p is data[c * channel_step + p * pixel_step]. A byte dequantises to
 * scale·max((byte ^ flip) − zero, 0). */
typedef struct {
    const uint8_t *data;
    size_t channels; /* at least 1; a multiple of 8 if `channel_step` is 1 */
    size_t channel_step, pixel_step;
    uint8_t flip; /* 0x80 for int8: the XOR maps it to uint8 in the same order; 0 for uint8 */
    uint8_t zero; /* the zero point ^ flip */
    float scale;
} Quantized;

/* One map of a combination. Output row y is at `row_fraction[y]` between rows `row[y]` and `row[y] + 1`; columns
 * alike. `row[y]` is never the last row, unless there is only one. */
typedef struct {
    const float *pixels;
    size_t height, width;
    float weight;
    const int32_t *row, *column;
    const float *row_fraction, *column_fraction;
} Layer;

/* Values of cells: value v of cell i is data[i * cell_step + v * value_step]. */
typedef struct {
    const float *data;
    size_t cell_step, value_step;
} Values;

/* Most cells in one call of `class_scores`. */
enum { CELLS = 512 };

/* A run of cells of a detector's head, one anchor of each. The score is objectness to its power times the class
 * value to its own, each after a sigmoid where that is set. Without objectness its data is NULL. */
typedef struct {
    Values classes, objectness;
    int sigmoid, objectness_sigmoid;
    float class_power, objectness_power;
} Cells;

/* The range of a map: (value − least)·scale is 0…1, up to rounding. */
typedef struct {
    float least, most, scale;
} Range;

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
typedef void RangeKernel(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                         Range *range);
typedef void ScoreMapKernel(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                            Range range, float *out);
typedef void ClassScoresKernel(const Cells *x, size_t first, size_t classes, size_t count, float *out);
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

/* The block size of onnxruntime's blocked layout (NCHWc) on this processor: as many channels as the widest
 * registers hold. 0 if unknown. */
EXPORTED int fastcam_block(void);

#endif
