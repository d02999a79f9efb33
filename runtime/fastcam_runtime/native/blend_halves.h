/* Half of each pixel and half of its map's colour, in one pass over the picture. */
#ifndef FASTCAM_BLEND_HALVES_H
#define FASTCAM_BLEND_HALVES_H

#include <stddef.h>
#include <stdint.h>

#include "exported.h"

/* Called from Python. `colours` holds the halved BGR colour of each level as four bytes, the last one 0; none is
 * above 128, so that its sum with half a byte is a byte. Strides are bytes from row to row; levels have no gaps. */
EXPORTED void fastcam_blend_halves(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *levels,
                                   const uint8_t *colours, uint8_t *picture, ptrdiff_t picture_stride,
                                   size_t height, size_t width);

#endif
