#include "blend_halves.h"

#include <string.h>

static uint32_t colour_of(const uint8_t *colours, uint8_t level)
{
    uint32_t colour;
    memcpy(&colour, colours + 4 * level, sizeof colour);
    return colour;
}

static void blend_row(const uint8_t *frame, const uint8_t *levels, const uint8_t *colours, uint8_t *picture,
                      size_t width)
{
    size_t x = 0;
#if defined(_MSC_VER) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* Two pixels are six of eight bytes, all of them added at once. What is stored in the other two is
     * overwritten by the next pixels, which are there: one is left for the loop below at least. */
    for (; x + 4 <= width; x += 2) {
        uint64_t two, mixed = colour_of(colours, levels[x]);
        memcpy(&two, frame + 3 * x, sizeof two);
        mixed |= (uint64_t)colour_of(colours, levels[x + 1]) << 24;
        mixed += two >> 1 & 0x7f7f7f7f7f7f;
        memcpy(picture + 3 * x, &mixed, sizeof mixed);
    }
#endif
    for (; x < width; x++)
        for (size_t c = 0; c < 3; c++)
            picture[3 * x + c] = (uint8_t)((frame[3 * x + c] >> 1) + colours[4 * levels[x] + c]);
}

void fastcam_blend_halves(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *levels,
                          const uint8_t *colours, uint8_t *picture, ptrdiff_t picture_stride, size_t height,
                          size_t width)
{
    for (size_t y = 0; y < height; y++)
        blend_row(frame + (ptrdiff_t)y * frame_stride, levels + y * width, colours,
                  picture + (ptrdiff_t)y * picture_stride, width);
}
