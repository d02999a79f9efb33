/* The types that every operator implements; table.h lists the operators. */
#ifndef FASTCAM_OPERATORS_H
#define FASTCAM_OPERATORS_H

#include "kernels.h"
#include "ort_abi.h"

/* Most attributes of one operator. */
enum { MAX_ATTRIBUTES = 4 };

/* What a kernel needs besides its inputs. */
typedef struct {
    const OrtApi *api;
    const Kernels *kernels;
    double attributes[MAX_ATTRIBUTES]; /* in the order of the operator's `read_attributes` */
} Setting;

/* Reads the inputs from the context, writes the output, and returns NULL or an error. */
typedef OrtStatus *Compute(const Setting *setting, OrtKernelContext *context);

/* Reads the attributes of a node into the setting; returns NULL, or an error that refuses the node. */
typedef OrtStatus *ReadAttributes(const OrtApi *api, const OrtKernelInfo *info, Setting *setting);

#define ATTRIBUTES(read) ReadAttributes read;
#define OPERATOR(compute, ...) Compute compute;
#include "table.h"

#endif
