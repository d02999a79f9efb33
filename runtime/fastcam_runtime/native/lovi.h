/* LOVI: the hue shows which scales respond at a pixel, the saturation how few do, the value how strongly.
 *
 * With s the scales' values at a pixel: hue = 300°·Σ sφ/Σ s with φ from 1 (the first scale) to 0 (the last),
 * value = max s, saturation = 1 − (Σs/(K·max s) − 1/K)/(1 − 1/K). A pixel that is 0 at all scales is black. */
#include "combine_scales.h"
#include "extremes.h"

#include <math.h>

/* Lower bound of the divisors: avoids 0/0 at a pixel that is 0 at all scales. */
#define TINY 1e-30f
/* The hue of the first scale, 300°, in sextants of the colour circle. */
#define VIOLET 5.0f

static inline float clamp01(float x) { return smaller(larger(x, 0), 1); }

/* Round to nearest, ties to even: floats near 1.5·2^23 have no fraction bits. */
static inline uint8_t to_byte(float x)
{
    const float whole = 12582912.0f;
    return (uint8_t)(int32_t)((clamp01(x) * 255 + whole) - whole);
}

static void add_scale(const Part *part, float violet, size_t width, float *restrict total, float *restrict weighted,
                      float *restrict strongest)
{
    for (size_t x = 0; x < width; x++) {
        float s = part->above * part->upper[x] + part->below * part->lower[x];
        total[x] += s;
        weighted[x] += violet * s;
        strongest[x] = larger(s, strongest[x]);
    }
}

static void paint_row(const float *total, const float *weighted, const float *strongest, size_t count, size_t width,
                      uint8_t *restrict out)
{
    const float spare = count > 1 ? 1 / (float)(count - 1) : 0;
    for (size_t x = 0; x < width; x++) {
        float hue = weighted[x] / larger(total[x], TINY), value = strongest[x];
        float saturation = ((float)count - total[x] / larger(value, TINY)) * spare;
        /* Each primary is a trapezoid over the hue: red around 0, green around 2, blue around 4. */
        float red = clamp01(fabsf(hue - 3) - 1), green = clamp01(2 - fabsf(hue - 2));
        float blue = clamp01(2 - fabsf(hue - 4));
        out[3 * x] = to_byte(value * (1 - saturation * (1 - red)));
        out[3 * x + 1] = to_byte(value * (1 - saturation * (1 - green)));
        out[3 * x + 2] = to_byte(value * (1 - saturation * (1 - blue)));
    }
}

static void lovi_rows(const Layer *layers, size_t count, size_t width, size_t first, size_t last, float *scratch,
                      uint8_t *out)
{
    float *total = scratch + 2 * count * width, *weighted = total + width, *strongest = weighted + width;
    for (size_t y = first; y < last; y++, out += 3 * width) {
        for (size_t x = 0; x < 3 * width; x++)
            total[x] = 0;
        for (size_t k = 0; k < count; k++) {
            Part part = row_part(&layers[k], y, first, width, scratch + 2 * k * width);
            float violet = count > 1 ? VIOLET * (1 - (float)k / (float)(count - 1)) : 0;
            add_scale(&part, violet, width, total, weighted, strongest);
        }
        paint_row(total, weighted, strongest, count, width, out);
    }
}
