/* The operators' kernels: each reads its inputs from the context, writes its output, and returns NULL or an error. */
#ifndef FASTCAM_OPERATORS_H
#define FASTCAM_OPERATORS_H

#include "kernels.h"
#include "ort_abi.h"

/* What a kernel needs besides its inputs. */
typedef struct {
    const OrtApi *api;
    const Kernels *kernels;
    float epsilon; /* of SmoeScale and SmoeScaleBlocked */
    size_t block;  /* of SmoeScaleBlocked: channels that lie together in X, 8 or 16 */
} Setting;

typedef OrtStatus *Compute(const Setting *setting, OrtKernelContext *context);

Compute smoe_scale;              /* X [N,C,H,W], nowhere negative → [N,H,W] */
Compute smoe_scale_relu;         /* X [N,C,H,W] → [N,H,W] */
Compute smoe_scale_blocked;      /* X [N,C,H,W] in blocks of channels, nowhere negative → [N,H,W] */
Compute smoe_scale_blocked_relu; /* X [N,C,H,W] in blocks of channels → [N,H,W] */
Compute gauss_normalize_map;     /* S [N,h,w] → the same shape */
Compute combine_scales;          /* K maps [N,h,w], weights, lengths, rows, columns → [N,H,W] */
Compute combine_scales_dynamic;  /* K maps [N,h,w], size, weights → [N,H,W] */
Compute upsample;                /* M [N,h,w], length, rows, columns → [N,H,W] */
Compute upsample_dynamic;        /* M [N,h,w], size → [N,H,W] */
Compute lovi;                    /* K maps [N,h,w], lengths, rows, columns → RGB uint8 [N,H,W,3] */
Compute lovi_dynamic;            /* K maps [N,h,w], size → RGB uint8 [N,H,W,3] */
Compute minmax_map;              /* M [N,H,W] → the same shape */
Compute fast_cam_map;            /* combined, cam [N,H,W] → the same shape */
Compute non_class_map;           /* combined, cam [N,H,W] → the same shape */

#endif
