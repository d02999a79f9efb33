/* Interpolation of maps of different sizes to one size, for all operators that need it. */
#ifndef FASTCAM_INTERPOLATE_H
#define FASTCAM_INTERPOLATE_H

#include "operators.h"

/* What the interpolated maps become: their weighted sum, LOVI, or their pixelwise maximum, scaled to 0…1 per image
 * for SCORE_MAP. */
typedef enum { SUM, LARGEST, LOVI, SCORE_MAP } Purpose;

typedef struct {
    int64_t height, width;
} Size;

/* The maps: inputs 0 … count − 1, [N,h,w] each. With `lengths`, the height and width of each, input 0 holds them all
 * one after the other, [N,Σh·w]. A `weights` of NULL means that all weights are 1. */
typedef struct {
    size_t count;
    const int64_t *lengths;
    const float *weights;
} Maps;

/* Interpolate the maps to `size` and write the operator's output. */
OrtStatus *interpolate(const Setting *setting, OrtKernelContext *context, Maps maps, Size size, Purpose purpose);

#endif
