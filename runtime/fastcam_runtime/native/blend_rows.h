/* One row of levels laid over the rows of the frame that share it. The look-ups are written out for AVX2 and NEON;
 * of the arithmetic, compilers make vectors. */
#ifndef FASTCAM_BLEND_ROWS_H
#define FASTCAM_BLEND_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BLEND_BLOCK = 32 }; /* pixels that are looked at together: pictures are transparent in large parts */

/* What belongs to each byte of a block; four pixels are written as sixteen bytes, of which twelve count. */
typedef struct {
    uint8_t keep[3 * BLEND_BLOCK + 4], added[3 * BLEND_BLOCK + 4];
} BlendBlock;

static inline void blend_look_up(const uint8_t *levels, const uint8_t *table, BlendBlock *block, size_t first,
                                 size_t count)
{
    for (size_t x = first; x < count; x++) {
        const uint8_t *entry = table + 4 * levels[x];
        for (size_t c = 0; c < 3; c++)
            block->added[3 * x + c] = entry[c], block->keep[3 * x + c] = entry[3];
    }
}

#if defined(__AVX2__) && defined(__GNUC__)
static inline size_t blend_look_up_fours(const uint8_t *levels, const uint8_t *table, BlendBlock *block, size_t count)
{
    const __m128i colours = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m128i keeps = _mm_setr_epi8(3, 3, 3, 7, 7, 7, 11, 11, 11, 15, 15, 15, -1, -1, -1, -1);
    size_t x = 0;
    for (; x + 4 <= count; x += 4) {
        int32_t entry[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(entry + i, table + 4 * levels[x + i], 4);
        __m128i four = _mm_set_epi32(entry[3], entry[2], entry[1], entry[0]);
        _mm_storeu_si128((__m128i *)(block->added + 3 * x), _mm_shuffle_epi8(four, colours));
        _mm_storeu_si128((__m128i *)(block->keep + 3 * x), _mm_shuffle_epi8(four, keeps));
    }
    return x;
}

#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>

static inline size_t blend_look_up_fours(const uint8_t *levels, const uint8_t *table, BlendBlock *block, size_t count)
{
    static const uint8_t of_colours[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255};
    static const uint8_t of_keeps[16] = {3, 3, 3, 7, 7, 7, 11, 11, 11, 15, 15, 15, 255, 255, 255, 255};
    const uint8x16_t colours = vld1q_u8(of_colours), keeps = vld1q_u8(of_keeps);
    size_t x = 0;
    for (; x + 4 <= count; x += 4) {
        uint32_t entry[4];
        for (size_t i = 0; i < 4; i++)
            memcpy(entry + i, table + 4 * levels[x + i], 4);
        uint32x2_t low = vcreate_u32(entry[0] | (uint64_t)entry[1] << 32);
        uint32x2_t high = vcreate_u32(entry[2] | (uint64_t)entry[3] << 32);
        uint8x16_t four = vreinterpretq_u8_u32(vcombine_u32(low, high));
        vst1q_u8(block->added + 3 * x, vqtbl1q_u8(four, colours));
        vst1q_u8(block->keep + 3 * x, vqtbl1q_u8(four, keeps));
    }
    return x;
}

#else
static inline size_t blend_look_up_fours(const uint8_t *levels, const uint8_t *table, BlendBlock *block, size_t count)
{
    (void)levels, (void)table, (void)block, (void)count;
    return 0;
}
#endif

/* round(frame·keep/255) + added: the quotient is never halfway between two integers. */
static inline void blend_bytes(const uint8_t *restrict frame, const BlendBlock *restrict block,
                               uint8_t *restrict picture, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t product = (uint16_t)(frame[i] * block->keep[i] + 128);
        picture[i] = (uint8_t)(((product + (product >> 8)) >> 8) + block->added[i]);
    }
}

static inline int blend_nothing(const uint8_t *levels)
{
    uint64_t part, all = ~(uint64_t)0;
    for (size_t i = 0; i < BLEND_BLOCK; i += sizeof part) {
        memcpy(&part, levels + i, sizeof part);
        all &= part;
    }
    return all == ~(uint64_t)0;
}

static void blend_rows(Blend b, const uint8_t *levels, size_t width)
{
    static const uint8_t nothing[4] = {0, 0, 0, 255};
    const int transparent = !memcmp(b.table + 4 * 255, nothing, 4);
    BlendBlock block;
    for (size_t x = 0; x < width; x += BLEND_BLOCK, b.frame += 3 * BLEND_BLOCK, b.picture += 3 * BLEND_BLOCK) {
        const size_t count = width - x < BLEND_BLOCK ? width - x : BLEND_BLOCK;
        const int still = transparent && count == BLEND_BLOCK && blend_nothing(levels + x);
        if (!still)
            blend_look_up(levels + x, b.table, &block, blend_look_up_fours(levels + x, b.table, &block, count), count);
        for (size_t row = 0; row < b.rows; row++) {
            const uint8_t *frame = b.frame + (ptrdiff_t)row * b.frame_stride;
            uint8_t *picture = b.picture + (ptrdiff_t)row * b.picture_stride;
            if (still)
                memcpy(picture, frame, 3 * BLEND_BLOCK);
            else if (count == BLEND_BLOCK)
                blend_bytes(frame, &block, picture, 3 * BLEND_BLOCK);
            else
                blend_bytes(frame, &block, picture, 3 * count);
        }
    }
}

#endif
