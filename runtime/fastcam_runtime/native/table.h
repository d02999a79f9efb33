/* The one table of the library: its operators, and the arithmetic that is compiled for each instruction set.
 *
 * To add an operator, write its own op_NAME.c with a `Compute` function and add an OPERATOR row. Arithmetic that
 * gains from wider registers goes into its own header, with an #include and a KERNEL row here; the operator then
 * calls it as `setting->kernels->NAME`. No other file lists kernels or operators.
 *
 * Each reader of the table defines the macro of the rows that it needs and includes this file:
 *   ARITHMETIC            the definitions of all kernels, for one instruction set;
 *   KERNEL(type, name)    a function of `type` that every instruction set defines;
 *   ATTRIBUTES(read)      a function of type `ReadAttributes`, for operators that have attributes;
 *   OPERATOR(compute, …)  a function of type `Compute`, and the other members of its `Operator` as designated
 *                         initialisers. An operator without `.output` writes float32; one without
 *                         `.read_attributes` has no attributes. */

#ifdef ARITHMETIC
#include "blend_rows.h"
#include "class_maps.h"
#include "class_scores.h"
#include "gauss_normalize.h"
#include "largest.h"
#include "lovi.h"
#include "smoe_quantized.h"
#endif

#ifdef KERNEL
/* SMOE Scale of `count` ≤ SMOE_TILE / block pixels. The kernels for planes assume a `block` of 1. Those without
 * `relu` in their name require that no activation is negative. */
KERNEL(SmoeKernel, smoe_planes)
KERNEL(SmoeKernel, smoe_planes_relu)
KERNEL(SmoeKernel, smoe_blocks)
KERNEL(SmoeKernel, smoe_blocks_relu)
/* SMOE Scale of `count` ≤ SMOE_TILE pixels of quantised activations: in planes (NCHW), or channels last (NHWC). */
KERNEL(QuantizedKernel, smoe_quantized_planes)
KERNEL(QuantizedKernel, smoe_quantized_pixels)
/* ½(1 + erf((s − μ)/(σ√2))) with the unbiased σ of all `count` pixels; 0.5 where all are equal. */
KERNEL(MapKernel, gauss_normalize)
/* Rows first … last − 1 of the weighted sum of the layers, each interpolated to `width` columns. `scratch` holds
 * 2 * layers * width floats. */
KERNEL(CombineKernel, combine_rows)
/* The same rows of the layers' pixelwise maximum, each times its weight. */
KERNEL(CombineKernel, largest_rows)
/* Widens the range to include those rows; and the rows scaled to a range. `scratch` holds (2 * layers + 1) * width
 * floats. */
KERNEL(RangeKernel, largest_range)
KERNEL(ScoreMapKernel, score_map_rows)
/* The scores of `count` ≤ CELLS cells: of the best of the `classes` from `first` on. */
KERNEL(ClassScoresKernel, class_scores)
/* The same rows of LOVI, RGB; the layers' weights are 1. `scratch` holds (2 * layers + 3) * width floats. */
KERNEL(LoviKernel, lovi_rows)
/* (map − min)/(max − min) of all `count` pixels, which are ≥ 0; 0 where the map is constant. */
KERNEL(MapKernel, minmax)
/* combined · CAM, and combined · (1 − CAM). */
KERNEL(ProductKernel, fast_cam)
KERNEL(ProductKernel, non_class)
/* The rows of a picture: round(frame·keep/255) + added, by the table's entry of each pixel's level. */
KERNEL(BlendKernel, blend_rows)
#undef KERNEL
#endif

#ifdef ATTRIBUTES
ATTRIBUTES(read_smoe_attributes)
ATTRIBUTES(read_smoe_blocked_attributes)
#undef ATTRIBUTES
#endif

#ifdef OPERATOR
/* X [N,C,H,W] → [N,H,W]; without `Relu` no X is negative. A model holds one version of this function for each shape
 * of its taps, numbered from the second on. Their bodies differ only in how they multiply the channels, so one
 * kernel replaces them all. A thirteenth version has no kernel: onnxruntime runs its body. */
#define SMOE_SCALE(number)                                                                                  \
    OPERATOR(smoe_scale, .name = "SmoeScale" number, .read_attributes = read_smoe_attributes)               \
    OPERATOR(smoe_scale_relu, .name = "SmoeScaleRelu" number, .read_attributes = read_smoe_attributes)
SMOE_SCALE("")
SMOE_SCALE("2")
SMOE_SCALE("3")
SMOE_SCALE("4")
SMOE_SCALE("5")
SMOE_SCALE("6")
SMOE_SCALE("7")
SMOE_SCALE("8")
SMOE_SCALE("9")
SMOE_SCALE("10")
SMOE_SCALE("11")
SMOE_SCALE("12")
#undef SMOE_SCALE
/* X [N,C,H,W] in blocks of channels → [N,H,W]. Only files prepared for one kind of processor hold these. */
OPERATOR(smoe_scale_blocked, .name = "SmoeScaleBlocked", .read_attributes = read_smoe_blocked_attributes)
OPERATOR(smoe_scale_blocked_relu, .name = "SmoeScaleBlockedRelu", .read_attributes = read_smoe_blocked_attributes)
/* X [N,C,H,W] uint8 or int8, its scale and zero point → [N,H,W]. In prepared files X may be [N,H,W,C]. */
#define SMOE_SCALE_QUANTIZED(number) \
    OPERATOR(smoe_scale_quantized, .name = "SmoeScaleQuantized" number, .read_attributes = read_smoe_attributes)
SMOE_SCALE_QUANTIZED("")
SMOE_SCALE_QUANTIZED("2")
SMOE_SCALE_QUANTIZED("3")
SMOE_SCALE_QUANTIZED("4")
SMOE_SCALE_QUANTIZED("5")
SMOE_SCALE_QUANTIZED("6")
SMOE_SCALE_QUANTIZED("7")
SMOE_SCALE_QUANTIZED("8")
SMOE_SCALE_QUANTIZED("9")
SMOE_SCALE_QUANTIZED("10")
SMOE_SCALE_QUANTIZED("11")
SMOE_SCALE_QUANTIZED("12")
#undef SMOE_SCALE_QUANTIZED
OPERATOR(smoe_scale_channels_last, .name = "SmoeScaleQuantizedNhwc", .read_attributes = read_smoe_attributes)
/* S [N,h,w] → the same shape. */
OPERATOR(gauss_normalize_map, .name = "GaussNormalize")
OPERATOR(gauss_normalize_map, .name = "GaussNormalizeDynamic")
/* K maps [N,h,w], weights, lengths, rows, columns → [N,H,W]; dynamic: K maps, size, weights. */
OPERATOR(combine_scales, .name = "CombineScales")
OPERATOR(combine_scales_dynamic, .name = "CombineScalesDynamic")
/* M [N,h,w], length, rows, columns → [N,H,W]; dynamic: M, size. */
OPERATOR(upsample, .name = "Upsample")
OPERATOR(upsample_dynamic, .name = "UpsampleDynamic")
/* Classes [K], the scores of a detector's head, its objectness, spec → K maps one after the other, [K,Σh·w]. */
OPERATOR(class_scores_map, .name = "ClassScores")
/* Maps one after the other, [N,Σh·w], lengths, rows of each, columns → the largest, scaled to 0…1, [N,H,W]. */
OPERATOR(score_map, .name = "ScoreMap")
/* K maps [N,h,w], size → [N,H,W]. */
OPERATOR(largest_dynamic, .name = "MaxOverStridesDynamic")
/* K maps [N,h,w], lengths, rows, columns → RGB [N,H,W,3]; dynamic: K maps, size. */
OPERATOR(lovi, .name = "Lovi", .output = ORT_UINT8)
OPERATOR(lovi_dynamic, .name = "LoviDynamic", .output = ORT_UINT8)
/* M [N,H,W] → the same shape. */
OPERATOR(minmax_map, .name = "MinMax")
/* combined, cam [N,H,W] → the same shape. */
OPERATOR(fast_cam_map, .name = "FastCam")
OPERATOR(non_class_map, .name = "NonClass")
#undef OPERATOR
#endif
