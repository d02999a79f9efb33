/* The part of onnxruntime's C ABI that a custom-operator library needs.
 *
 * onnxruntime's Python package ships no headers. Its function table only grows at the end, so a slot keeps its
 * index in every later release, and this table fits every release from 1.17 on. `void *slots_…[n]` stands for n
 * functions that are not called here. The assertions below check the indices. */
#ifndef FASTCAM_ORT_ABI_H
#define FASTCAM_ORT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define ORT_CALL __stdcall
#else
#define ORT_CALL
#endif

/* The release that added KernelContext_ParallelFor, the newest function in use: onnxruntime 1.17. */
#define ORT_API_VERSION 17

enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };                         /* OrtErrorCode */
enum { ORT_UNDEFINED = 0, ORT_FLOAT = 1, ORT_UINT8 = 2, ORT_INT8 = 3, ORT_INT64 = 7 }; /* ONNXTensorElementDataType */
enum { ORT_REQUIRED = 0, ORT_OPTIONAL = 1, ORT_VARIADIC = 2 };           /* ...InputOutputCharacteristic */
enum { ORT_MEM_DEFAULT = 0 };                                            /* OrtMemType */

typedef struct OrtStatus OrtStatus;  /* NULL means success */
typedef struct OrtValue OrtValue;
typedef struct OrtShape OrtShape;    /* OrtTensorTypeAndShapeInfo */
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtCustomOp OrtCustomOp;

typedef struct OrtApi {
    OrtStatus *(ORT_CALL *CreateStatus)(int code, const char *message);
    void *slots_1[25];
    OrtStatus *(ORT_CALL *CreateCustomOpDomain)(const char *name, OrtCustomOpDomain **out);
    OrtStatus *(ORT_CALL *CustomOpDomain_Add)(OrtCustomOpDomain *domain, const OrtCustomOp *op);
    OrtStatus *(ORT_CALL *AddCustomOpDomain)(OrtSessionOptions *options, OrtCustomOpDomain *domain);
    void *slots_29[22];
    OrtStatus *(ORT_CALL *GetTensorMutableData)(OrtValue *value, void **out);
    void *slots_52[8];
    OrtStatus *(ORT_CALL *GetTensorElementType)(const OrtShape *shape, int *out);
    OrtStatus *(ORT_CALL *GetDimensionsCount)(const OrtShape *shape, size_t *out);
    OrtStatus *(ORT_CALL *GetDimensions)(const OrtShape *shape, int64_t *out, size_t count);
    void *slots_63[2];
    OrtStatus *(ORT_CALL *GetTensorTypeAndShape)(const OrtValue *value, OrtShape **out);
    void *slots_66[19];
    OrtStatus *(ORT_CALL *KernelInfoGetAttribute_float)(const OrtKernelInfo *info, const char *name, float *out);
    OrtStatus *(ORT_CALL *KernelInfoGetAttribute_int64)(const OrtKernelInfo *info, const char *name, int64_t *out);
    void *slots_87[1];
    OrtStatus *(ORT_CALL *KernelContext_GetInputCount)(const OrtKernelContext *context, size_t *out);
    void *slots_89[1];
    OrtStatus *(ORT_CALL *KernelContext_GetInput)(const OrtKernelContext *context, size_t index,
                                                  const OrtValue **out);
    OrtStatus *(ORT_CALL *KernelContext_GetOutput)(OrtKernelContext *context, size_t index, const int64_t *dims,
                                                   size_t count, OrtValue **out);
    void *slots_92[1];
    void(ORT_CALL *ReleaseStatus)(OrtStatus *status);
    void *slots_94[5];
    void(ORT_CALL *ReleaseShape)(OrtShape *shape); /* ReleaseTensorTypeAndShapeInfo */
    void *slots_100[1];
    void(ORT_CALL *ReleaseCustomOpDomain)(OrtCustomOpDomain *domain);
    void *slots_102[172];
    OrtStatus *(ORT_CALL *KernelContext_ParallelFor)(const OrtKernelContext *context, void (*fn)(void *, size_t),
                                                     size_t total, size_t batches, void *data);
} OrtApi;

#define ORT_SLOT(name, index) \
    _Static_assert(offsetof(OrtApi, name) == (index) * sizeof(void *), #name " moved")
ORT_SLOT(CreateCustomOpDomain, 26);
ORT_SLOT(AddCustomOpDomain, 28);
ORT_SLOT(GetTensorMutableData, 51);
ORT_SLOT(GetTensorElementType, 60);
ORT_SLOT(GetDimensions, 62);
ORT_SLOT(GetTensorTypeAndShape, 65);
ORT_SLOT(KernelInfoGetAttribute_float, 85);
ORT_SLOT(KernelContext_GetInputCount, 88);
ORT_SLOT(KernelContext_GetOutput, 91);
ORT_SLOT(ReleaseStatus, 93);
ORT_SLOT(ReleaseShape, 99);
ORT_SLOT(ReleaseCustomOpDomain, 101);
ORT_SLOT(KernelContext_ParallelFor, 274);
#undef ORT_SLOT

typedef struct OrtApiBase {
    const OrtApi *(ORT_CALL *GetApi)(uint32_t version); /* NULL if the version is not supported */
    const char *(ORT_CALL *GetVersionString)(void);
} OrtApiBase;

/* An operator: its schema and its kernel. Newer fields follow; onnxruntime reads only those of `version`. */
struct OrtCustomOp {
    uint32_t version;
    void *(ORT_CALL *CreateKernel)(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info);
    const char *(ORT_CALL *GetName)(const OrtCustomOp *op);
    const char *(ORT_CALL *GetExecutionProviderType)(const OrtCustomOp *op);
    int(ORT_CALL *GetInputType)(const OrtCustomOp *op, size_t index);
    size_t(ORT_CALL *GetInputTypeCount)(const OrtCustomOp *op);
    int(ORT_CALL *GetOutputType)(const OrtCustomOp *op, size_t index);
    size_t(ORT_CALL *GetOutputTypeCount)(const OrtCustomOp *op);
    void(ORT_CALL *KernelCompute)(void *kernel, OrtKernelContext *context);
    void(ORT_CALL *KernelDestroy)(void *kernel);
    int(ORT_CALL *GetInputCharacteristic)(const OrtCustomOp *op, size_t index);
    int(ORT_CALL *GetOutputCharacteristic)(const OrtCustomOp *op, size_t index);
    int(ORT_CALL *GetInputMemoryType)(const OrtCustomOp *op, size_t index);
    int(ORT_CALL *GetVariadicInputMinArity)(const OrtCustomOp *op);
    int(ORT_CALL *GetVariadicInputHomogeneity)(const OrtCustomOp *op);
    int(ORT_CALL *GetVariadicOutputMinArity)(const OrtCustomOp *op);
    int(ORT_CALL *GetVariadicOutputHomogeneity)(const OrtCustomOp *op);
    OrtStatus *(ORT_CALL *CreateKernelV2)(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info,
                                          void **kernel);
    OrtStatus *(ORT_CALL *KernelComputeV2)(void *kernel, OrtKernelContext *context);
    OrtStatus *(ORT_CALL *InferOutputShapeFn)(const OrtCustomOp *op, void *context);
    int(ORT_CALL *GetStartVersion)(const OrtCustomOp *op);
    int(ORT_CALL *GetEndVersion)(const OrtCustomOp *op);
    void *added_later[4]; /* GetMayInplace … ReleaseAliasMap of version 18, left NULL */
};

#endif
