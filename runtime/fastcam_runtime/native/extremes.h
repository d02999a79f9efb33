/* The smaller and the larger of two numbers, in the form that compilers have an instruction for. */
#ifndef FASTCAM_EXTREMES_H
#define FASTCAM_EXTREMES_H

static inline float smaller(float a, float b) { return a < b ? a : b; }
static inline float larger(float a, float b) { return a > b ? a : b; }

#endif
