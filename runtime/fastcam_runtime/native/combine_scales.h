/* The weighted sum of maps of different sizes, each interpolated bilinearly. Rows of the maps are stretched to
 * the output's width when the first output row needs them; an output row mixes two stretched rows per map. */
#include "kernels.h"

/* A row stretched by an even factor: half a step of the first pixel, equal steps from pixel to pixel, half a step
 * of the last. Inlined with a constant factor, the inner loop becomes vectors. */
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

/* One map's part of an output row: two stretched rows, each with its share of the map's weight. */
typedef struct {
    const float *upper, *lower;
    float above, below;
} Part;

enum { PARTS = 5 }; /* parts that are added up at once: the usual number of scales */

/* The sum of the parts, or that on top of what is in `out`. Inlined with a constant count, the inner loop is
 * unrolled and the outer one becomes vectors: every pixel is written once. */
static inline void add_parts(const Part *parts, size_t count, int on_top, size_t width, float *restrict out)
{
    for (size_t x = 0; x < width; x++) {
        float sum = on_top ? out[x] : 0;
        for (size_t k = 0; k < count; k++)
            sum += parts[k].above * parts[k].upper[x] + parts[k].below * parts[k].lower[x];
        out[x] = sum;
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

/* A map's part of output row `y`. `slots` keeps two stretched rows of the map, row r in slot r % 2: the output row
 * before, if it was not before `first`, left its two rows there. */
static inline Part row_part(const Layer *layer, size_t y, size_t first, size_t width, float *slots)
{
    size_t top = (size_t)layer->row[y], bottom = top + (layer->height > 1);
    size_t held = y > first ? (size_t)layer->row[y - 1] : layer->height;
    for (size_t row = top; row <= bottom; row++)
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
