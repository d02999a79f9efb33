/* What an operator is made of; table.h lists them all. */
#ifndef FASTCAM_OPERATORS_H
#define FASTCAM_OPERATORS_H

#include "kernels.h"
#include "ort_abi.h"

/* Attributes that one operator may have. */
enum { MAX_ATTRIBUTES = 4 };

/* What a kernel needs besides its inputs. */
typedef struct {
    const OrtApi *api;
    const Kernels *kernels;
    double attributes[MAX_ATTRIBUTES]; /* as the operator's `read_attributes` numbers them */
} Setting;

/* Reads the inputs from the context, writes the output, and returns NULL or an error. */
typedef OrtStatus *Compute(const Setting *setting, OrtKernelContext *context);

/* Reads the attributes of a node into the setting; returns NULL, or an error that refuses the node. */
typedef OrtStatus *ReadAttributes(const OrtApi *api, const OrtKernelInfo *info, Setting *setting);

#define ATTRIBUTES(read) ReadAttributes read;
#define OPERATOR(compute, ...) Compute compute;
#include "table.h"

#endif
