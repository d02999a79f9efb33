/* The pixelwise maximum of maps of different sizes, each interpolated bilinearly. */
#include "combine_scales.h"
#include "extremes.h"

/* Write the largest of the parts, or of them and `out`. As in `add_parts`, a constant count vectorises. */
static inline void max_parts(const Part *parts, size_t count, int on_top, size_t width, float *restrict out)
{
    for (size_t x = 0; x < width; x++) {
        float most = on_top ? out[x] : parts[0].above * parts[0].upper[x] + parts[0].below * parts[0].lower[x];
        for (size_t k = on_top ? 0 : 1; k < count; k++)
            most = larger(parts[k].above * parts[k].upper[x] + parts[k].below * parts[k].lower[x], most);
        out[x] = most;
    }
}

static void largest_of(const Part *parts, size_t count, int on_top, size_t width, float *restrict out)
{
    if (on_top)
        max_parts(parts, count, 1, width, out);
    else if (count == PARTS)
        max_parts(parts, PARTS, 0, width, out);
    else if (count == 4)
        max_parts(parts, 4, 0, width, out);
    else if (count == 3)
        max_parts(parts, 3, 0, width, out);
    else
        max_parts(parts, count, 0, width, out);
}

static void largest_rows(const Layer *layers, size_t count, size_t width, size_t first, size_t last,
                         float *scratch, float *out)
{
    for (size_t y = first; y < last; y++, out += width) {
        Part parts[PARTS];
        for (size_t k = 0; k < count; k++) {
            parts[k % PARTS] = row_part(&layers[k], y, first, width, scratch + 2 * k * width);
            if (k % PARTS == PARTS - 1 || k + 1 == count)
                largest_of(parts, k % PARTS + 1, k >= PARTS, width, out);
        }
    }
}
