/* The pixelwise maximum of maps of different sizes, each interpolated bilinearly. */
#include "combine_scales.h"
#include "extremes.h"

#include <string.h>

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

static void largest_row(const Layer *layers, size_t count, size_t width, size_t y, size_t first, float *scratch,
                        float *out)
{
    Part parts[PARTS];
    for (size_t k = 0; k < count; k++) {
        parts[k % PARTS] = row_part(&layers[k], y, first, width, scratch + 2 * k * width);
        if (k % PARTS == PARTS - 1 || k + 1 == count)
            largest_of(parts, k % PARTS + 1, k >= PARTS, width, out);
    }
}

static void largest_rows(const Layer *layers, size_t count, size_t width, size_t first, size_t last,
                         float *scratch, float *out)
{
    for (size_t y = first; y < last; y++, out += width)
        largest_row(layers, count, width, y, first, scratch, out);
}

/* Output rows that blend the same two stretched rows of every map. They are computed together: the stretched rows are
 * read once, and a pixel takes one multiplication per map. */
enum { RUN = 4, RUN_LANES = 16 };

typedef struct {
    const float *upper[PARTS], *lower[PARTS];
    float below[PARTS][RUN];
} Run;

/* Whether rows y … y + RUN − 1 are a run. */
static inline int is_run(const Layer *layers, size_t count, size_t y, size_t last)
{
    int same = count <= PARTS && y + RUN <= last;
    for (size_t k = 0; same && k < count; k++)
        same = layers[k].row[y] == layers[k].row[y + RUN - 1];
    return same;
}

static inline Run run_of(const Layer *layers, size_t count, size_t y, size_t first, size_t width, float *scratch)
{
    Run run = {0};
    for (size_t k = 0; k < count; k++) {
        Part part = row_part(&layers[k], y, first, width, scratch + 2 * k * width);
        run.upper[k] = part.upper, run.lower[k] = part.lower;
        for (size_t r = 0; r < RUN; r++)
            run.below[k][r] = layers[k].row_fraction[y + r];
    }
    return run;
}

/* The largest of the maps at column x, for each row of the run. */
static inline void run_values(const Run *run, size_t count, size_t x, float *most)
{
    for (size_t r = 0; r < RUN; r++)
        most[r] = run->upper[0][x] + run->below[0][r] * (run->lower[0][x] - run->upper[0][x]);
    for (size_t k = 1; k < count; k++) {
        float upper = run->upper[k][x], step = run->lower[k][x] - upper;
        for (size_t r = 0; r < RUN; r++)
            most[r] = larger(upper + run->below[k][r] * step, most[r]);
    }
}

static inline void range_of_run(const Run *run, size_t count, size_t width, float *restrict low, float *restrict high)
{
    float most[RUN];
    size_t whole = width - width % RUN_LANES;
    for (size_t x = 0; x < whole; x += RUN_LANES)
        for (size_t i = 0; i < RUN_LANES; i++) {
            run_values(run, count, x + i, most);
            for (size_t r = 0; r < RUN; r++) {
                low[i] = smaller(most[r], low[i]);
                high[i] = larger(most[r], high[i]);
            }
        }
    for (size_t x = whole; x < width; x++) {
        run_values(run, count, x, most);
        extremes_of(most, RUN, low, high);
    }
}

static inline float to_range(float value, Range range) { return smaller((value - range.least) * range.scale, 1); }

/* Tiles are computed on the stack: compilers cannot tell that rows of `width` pixels do not overlap. */
static inline void scale_run(const Run *run, size_t count, size_t width, Range range, float *restrict out)
{
    float tile[RUN][RUN_LANES], most[RUN];
    size_t whole = width - width % RUN_LANES;
    for (size_t x = 0; x < whole; x += RUN_LANES) {
        for (size_t i = 0; i < RUN_LANES; i++) {
            run_values(run, count, x + i, most);
            for (size_t r = 0; r < RUN; r++)
                tile[r][i] = to_range(most[r], range);
        }
        for (size_t r = 0; r < RUN; r++)
            memcpy(out + r * width + x, tile[r], sizeof tile[r]);
    }
    for (size_t x = whole; x < width; x++) {
        run_values(run, count, x, most);
        for (size_t r = 0; r < RUN; r++)
            out[r * width + x] = to_range(most[r], range);
    }
}

/* Call `function` with a constant count where it is a usual number of strides. */
#define WITH_COUNT(function, run, count, ...)     \
    do {                                          \
        if ((count) == 3)                         \
            function(run, 3, __VA_ARGS__);        \
        else if ((count) == 4)                    \
            function(run, 4, __VA_ARGS__);        \
        else                                      \
            function(run, count, __VA_ARGS__);    \
    } while (0)

/* The rows are computed twice, here and for `score_map_rows`: that takes less time than reading them from memory. */
static void largest_range(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                          Range *range)
{
    float *row = scratch + 2 * count * width, low[RUN_LANES], high[RUN_LANES];
    for (size_t i = 0; i < RUN_LANES; i++)
        low[i] = range->least, high[i] = range->most;
    for (size_t y = first; y < last;) {
        if (is_run(layers, count, y, last)) {
            Run run = run_of(layers, count, y, first, width, scratch);
            WITH_COUNT(range_of_run, &run, count, width, low, high);
            y += RUN;
        } else {
            largest_row(layers, count, width, y, first, scratch, row);
            extremes_of(row, width, low, high);
            y += 1;
        }
    }
    for (size_t i = 0; i < RUN_LANES; i++) {
        range->least = smaller(low[i], range->least);
        range->most = larger(high[i], range->most);
    }
}

static void score_map_rows(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                           Range range, float *restrict out)
{
    float *restrict row = scratch + 2 * count * width;
    for (size_t y = first; y < last;) {
        if (is_run(layers, count, y, last)) {
            Run run = run_of(layers, count, y, first, width, scratch);
            WITH_COUNT(scale_run, &run, count, width, range, out + (y - first) * width);
            y += RUN;
        } else {
            largest_row(layers, count, width, y, first, scratch, row);
            for (size_t x = 0; x < width; x++)
                out[(y - first) * width + x] = to_range(row[x], range);
            y += 1;
        }
    }
}
