#include "blend_levels.h"

#include "kernels.h"

void fastcam_blend_table(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *levels, size_t share,
                         const uint8_t *table, uint8_t *picture, ptrdiff_t picture_stride, size_t height,
                         size_t width)
{
    BlendKernel *blend_rows = fastcam_kernels()->blend_rows;
    for (size_t y = 0; y < height; y += share, levels += width) {
        Blend part = {.frame = frame + (ptrdiff_t)y * frame_stride,
                      .frame_stride = frame_stride,
                      .table = table,
                      .picture = picture + (ptrdiff_t)y * picture_stride,
                      .picture_stride = picture_stride,
                      .rows = height - y < share ? height - y : share};
        blend_rows(part, levels, width);
    }
}
