/* The frame and the colours of a map's levels, mixed by a weight per level, in one pass over the picture. */
#ifndef FASTCAM_BLEND_LEVELS_H
#define FASTCAM_BLEND_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "exported.h"

/* Called from Python. A channel of the picture is ((frame·keep + 255) >> 8) + add: a keep of 255 and an add of 0
 * leave the frame as it is. `keep` and `add` hold four bytes for each of 256 levels, one per channel and a 0;
 * add is at most 255 − keep. Strides are bytes from row to row; levels have no gaps. */
EXPORTED void fastcam_blend_levels(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *levels,
                                   const uint8_t *keep, const uint8_t *add, uint8_t *picture,
                                   ptrdiff_t picture_stride, size_t height, size_t width);

#endif
