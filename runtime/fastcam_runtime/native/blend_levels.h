/* A map over a frame: the frame's pixels weighted, and a colour added, by the level of each. One pass. */
#ifndef FASTCAM_BLEND_LEVELS_H
#define FASTCAM_BLEND_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "exported.h"

/* Called from Python. A byte of the picture is round(frame·keep/255) + added. `table` has four bytes for each of 256
 * levels: what is added to the three channels, at most 255 − keep, and keep. Strides are bytes from row to row. Each
 * row of levels serves `share` rows of the frame, the last one those that are left; levels have no gaps. Frame and
 * picture do not overlap. A changed signature gets a new name, so that Python never calls an older library. */
EXPORTED void fastcam_blend_table(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *levels, size_t share,
                                  const uint8_t *table, uint8_t *picture, ptrdiff_t picture_stride, size_t height,
                                  size_t width);

#endif
