/* Minimum and maximum, written so that compilers emit one instruction. */
#ifndef FASTCAM_EXTREMES_H
#define FASTCAM_EXTREMES_H

static inline float smaller(float a, float b) { return a < b ? a : b; }
static inline float larger(float a, float b) { return a > b ? a : b; }

#endif
