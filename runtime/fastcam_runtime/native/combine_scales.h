/* The weighted sum of maps of different sizes, each interpolated bilinearly. A row of a map is stretched to the
 * output's width when an output row first needs it; an output row blends two stretched rows per map. */
#ifndef FASTCAM_COMBINE_SCALES_H
#define FASTCAM_COMBINE_SCALES_H

#include "kernels.h"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

/* Stretch a row by an even factor: `factor / 2` copies of the first pixel, linear steps between pixels, then
 * `factor / 2` copies of the last. With a constant factor the compiler vectorises the inner loop. */
static inline void stretch_evenly(const float *in, size_t length, size_t factor, float *restrict out)
{
    const size_t half = factor / 2;
    for (size_t r = 0; r < half; r++)
        out[r] = in[0];
    for (size_t i = 0; i + 1 < length; i++)
        for (size_t r = 0; r < factor; r++)
            out[half + i * factor + r] =
                in[i] + (float)(2 * r + 1) / (float)(2 * factor) * (in[i + 1] - in[i]);
    for (size_t r = 0; r < half; r++)
        out[half + (length - 1) * factor + r] = in[length - 1];
}

static void stretch_row(const Layer *layer, size_t row, size_t width, float *restrict out)
{
    const float *in = layer->pixels + row * layer->width;
    if (width == 2 * layer->width)
        stretch_evenly(in, layer->width, 2, out);
    else if (width == 4 * layer->width)
        stretch_evenly(in, layer->width, 4, out);
    else if (width == 8 * layer->width)
        stretch_evenly(in, layer->width, 8, out);
    else if (width == 16 * layer->width)
        stretch_evenly(in, layer->width, 16, out);
    else if (width == 32 * layer->width)
        stretch_evenly(in, layer->width, 32, out);
    else {
        const size_t step = layer->width > 1;
        for (size_t x = 0; x < width; x++) {
            const float *left = in + layer->column[x];
            out[x] = left[0] + layer->column_fraction[x] * (left[step] - left[0]);
        }
    }
}

/* One map's contribution to an output row: two stretched rows, each with its share of the map's weight. */
typedef struct {
    const float *upper, *lower;
    float above, below;
} Part;

enum { PARTS = 5 }; /* parts added in one pass: the usual number of scales */

/* Write the sum of the parts, at least one, to the columns that can be done sixteen at a time: one load on ARM, where
 * compilers load four. Returns their number. */
static inline size_t add_parts_widely(const Part *parts, size_t count, size_t width, float *restrict out)
{
    size_t x = 0;
#ifdef __aarch64__
    for (; x + 16 <= width; x += 16) {
        float32x4x4_t sum;
        for (size_t k = 0; k < count; k++) {
            float32x4x4_t upper = vld1q_f32_x4(parts[k].upper + x), lower = vld1q_f32_x4(parts[k].lower + x);
            for (size_t q = 0; q < 4; q++) {
                sum.val[q] = k == 0 ? vmulq_n_f32(upper.val[q], parts[k].above)
                                    : vfmaq_n_f32(sum.val[q], upper.val[q], parts[k].above);
                sum.val[q] = vfmaq_n_f32(sum.val[q], lower.val[q], parts[k].below);
            }
        }
        vst1q_f32_x4(out + x, sum);
    }
#else
    (void)parts, (void)count, (void)width, (void)out;
#endif
    return x;
}

/* Write the sum of the parts, at least one, or add it to `out`. With a constant count the compiler unrolls the inner
 * loop and vectorises the outer one, so every pixel is written once. */
static inline void add_parts(const Part *parts, size_t count, int on_top, size_t width, float *restrict out)
{
    for (size_t x = on_top ? 0 : add_parts_widely(parts, count, width, out); x < width; x++) {
        /* One product per statement, so that each becomes a fused multiply-add. */
        float sum = parts[0].above * parts[0].upper[x];
        sum += parts[0].below * parts[0].lower[x];
        for (size_t k = 1; k < count; k++) {
            sum += parts[k].above * parts[k].upper[x];
            sum += parts[k].below * parts[k].lower[x];
        }
        out[x] = on_top ? out[x] + sum : sum;
    }
}

static void add_up(const Part *parts, size_t count, int on_top, size_t width, float *restrict out)
{
    if (on_top)
        add_parts(parts, count, 1, width, out);
    else if (count == PARTS)
        add_parts(parts, PARTS, 0, width, out);
    else if (count == 4)
        add_parts(parts, 4, 0, width, out);
    else if (count == 1)
        add_parts(parts, 1, 0, width, out);
    else
        add_parts(parts, count, 0, width, out);
}

/* A map's part of output row `y`. `slots` caches two stretched rows of the map, row r in slot r % 2. Unless `y` is
 * `first`, the slots still hold the rows of output row y − 1. */
static inline Part row_part(const Layer *layer, size_t y, size_t first, size_t width, float *slots)
{
    size_t top = (size_t)layer->row[y], bottom = top + (layer->height > 1);
    size_t held = y > first ? (size_t)layer->row[y - 1] : layer->height;
    for (size_t row = top; top != held && row <= bottom; row++)
        if (row != held && row != held + 1)
            stretch_row(layer, row, width, slots + row % 2 * width);
    float below = layer->weight * layer->row_fraction[y];
    return (Part){slots + top % 2 * width, slots + bottom % 2 * width, layer->weight - below, below};
}

static void combine_rows(const Layer *layers, size_t count, size_t width, size_t first, size_t last,
                         float *scratch, float *out)
{
    for (size_t y = first; y < last; y++, out += width) {
        Part parts[PARTS];
        for (size_t k = 0; k < count; k++) {
            parts[k % PARTS] = row_part(&layers[k], y, first, width, scratch + 2 * k * width);
            if (k % PARTS == PARTS - 1 || k + 1 == count)
                add_up(parts, k % PARTS + 1, k >= PARTS, width, out);
        }
    }
}

#endif
