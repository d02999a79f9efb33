#include "blend_levels.h"

#include <string.h>

enum { BLOCK = 32 }; /* pixels whose weights stay in the fastest cache */

/* Three bytes for each pixel of a block, from a table with four for each level. */
static void look_up(const uint8_t *restrict levels, const uint8_t *restrict table, uint8_t *restrict found,
                    size_t width)
{
    size_t x = 0;
#if defined(_MSC_VER) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; x + 2 <= width; x += 2) {
        uint32_t one, other;
        memcpy(&one, table + 4 * levels[x], 4);
        memcpy(&other, table + 4 * levels[x + 1], 4);
        uint64_t two = one | (uint64_t)other << 24; /* the fourth byte of a level is 0 */
        memcpy(found + 3 * x, &two, 8);
    }
#endif
    for (; x < width; x++)
        memcpy(found + 3 * x, table + 4 * levels[x], 3);
}

static void blend_block(const uint8_t *restrict frame, const uint8_t *restrict levels,
                        const uint8_t *restrict keep, const uint8_t *restrict add, uint8_t *restrict picture,
                        size_t width)
{
    uint8_t weights[3 * BLOCK + 2], colours[3 * BLOCK + 2]; /* two pixels are written in eight bytes */
    look_up(levels, keep, weights, width);
    look_up(levels, add, colours, width);
    for (size_t i = 0; i < 3 * width; i++)
        picture[i] = (uint8_t)(((frame[i] * weights[i] + 255) >> 8) + colours[i]);
}

static int is_still(const uint8_t *levels, size_t width)
{
    static const uint8_t nothing[BLOCK];
    return !memcmp(levels, nothing, width);
}

void fastcam_blend_levels(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *levels,
                          const uint8_t *keep, const uint8_t *add, uint8_t *picture, ptrdiff_t picture_stride,
                          size_t height, size_t width)
{
    const int transparent = keep[0] == 255 && keep[1] == 255 && keep[2] == 255; /* then its add is 0 */
    for (size_t y = 0; y < height; y++) {
        const uint8_t *row = frame + (ptrdiff_t)y * frame_stride, *values = levels + y * width;
        uint8_t *out = picture + (ptrdiff_t)y * picture_stride;
        for (size_t x = 0; x < width; x += BLOCK) {
            size_t count = width - x < BLOCK ? width - x : BLOCK;
            if (transparent && is_still(values + x, count))
                memcpy(out + 3 * x, row + 3 * x, 3 * count);
            else
                blend_block(row + 3 * x, values + x, keep, add, out + 3 * x, count);
        }
    }
}
