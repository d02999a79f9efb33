/* The custom-operator library: kernels for the functions of the domain `fastcam`.
 *
 * onnxruntime expands a model's local function into its body, unless a registered operator has the same domain
 * and name: then that operator's kernel runs. Every operator here has one variadic input, so it accepts and
 * ignores the constants that only the function's body needs. */
#include "exported.h"
#include "operators.h"
#include "ort_abi.h"

#include <stdlib.h>

#define DOMAIN "fastcam"

typedef struct {
    OrtCustomOp op; /* first, so that a pointer to it is also a pointer to the Operator */
    const char *name;
    Compute *compute;
    ReadAttributes *read_attributes; /* NULL: no attributes */
    int output;                      /* element type; ORT_UNDEFINED means float */
} Operator;

typedef struct {
    Setting setting;
    Compute *compute;
} Kernel;

static const char *ORT_CALL get_name(const OrtCustomOp *op) { return ((const Operator *)op)->name; }

static const char *ORT_CALL get_provider(const OrtCustomOp *op)
{
    (void)op;
    return NULL; /* the CPU */
}

static size_t ORT_CALL get_one(const OrtCustomOp *op)
{
    (void)op;
    return 1;
}

static int ORT_CALL get_input_type(const OrtCustomOp *op, size_t index)
{
    (void)op, (void)index;
    return ORT_UNDEFINED; /* any type */
}

static int ORT_CALL get_output_type(const OrtCustomOp *op, size_t index)
{
    int type = ((const Operator *)op)->output;
    (void)index;
    return type == ORT_UNDEFINED ? ORT_FLOAT : type;
}

static int ORT_CALL get_input_kind(const OrtCustomOp *op, size_t index)
{
    (void)op, (void)index;
    return ORT_VARIADIC;
}

static int ORT_CALL get_output_kind(const OrtCustomOp *op, size_t index)
{
    (void)op, (void)index;
    return ORT_REQUIRED;
}

static int ORT_CALL get_memory(const OrtCustomOp *op, size_t index)
{
    (void)op, (void)index;
    return ORT_MEM_DEFAULT;
}

static int ORT_CALL get_arity(const OrtCustomOp *op)
{
    (void)op;
    return 1;
}

static int ORT_CALL get_heterogeneous(const OrtCustomOp *op)
{
    (void)op;
    return 0;
}

static OrtStatus *ORT_CALL create_kernel(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info,
                                         void **out)
{
    const Operator *self = (const Operator *)op;
    Kernel *kernel = malloc(sizeof *kernel);
    if (kernel == NULL)
        return api->CreateStatus(ORT_FAIL, "fastcam: no memory left for a kernel");
    *kernel = (Kernel){.setting = {.api = api, .kernels = fastcam_kernels()}, .compute = self->compute};
    OrtStatus *status = NULL;
    if (self->read_attributes != NULL)
        status = self->read_attributes(api, info, &kernel->setting);
    if (status != NULL)
        free(kernel);
    else
        *out = kernel;
    return status;
}

static OrtStatus *ORT_CALL compute_kernel(void *kernel, OrtKernelContext *context)
{
    return ((Kernel *)kernel)->compute(&((Kernel *)kernel)->setting, context);
}

static void ORT_CALL destroy_kernel(void *kernel) { free(kernel); }

#define CUSTOM_OP                                       \
    {                                                   \
        .version = ORT_API_VERSION,                     \
        .GetName = get_name,                            \
        .GetExecutionProviderType = get_provider,       \
        .GetInputType = get_input_type,                 \
        .GetInputTypeCount = get_one,                   \
        .GetOutputType = get_output_type,               \
        .GetOutputTypeCount = get_one,                  \
        .KernelDestroy = destroy_kernel,                \
        .GetInputCharacteristic = get_input_kind,       \
        .GetOutputCharacteristic = get_output_kind,     \
        .GetInputMemoryType = get_memory,               \
        .GetVariadicInputMinArity = get_arity,          \
        .GetVariadicInputHomogeneity = get_heterogeneous, \
        .GetVariadicOutputMinArity = get_arity,         \
        .GetVariadicOutputHomogeneity = get_heterogeneous, \
        .CreateKernelV2 = create_kernel,                \
        .KernelComputeV2 = compute_kernel,              \
    }

static const Operator operators[] = {
#define OPERATOR(function, ...) {.op = CUSTOM_OP, .compute = function, __VA_ARGS__},
#include "table.h"
};

#define COUNT (sizeof operators / sizeof operators[0])

/* The name of an operator; NULL if `index` is out of range. */
EXPORTED const char *fastcam_operator(size_t index) { return index < COUNT ? operators[index].name : NULL; }

static OrtStatus *make_domain(const OrtApi *api, OrtCustomOpDomain **out)
{
    OrtStatus *status = api->CreateCustomOpDomain(DOMAIN, out);
    for (size_t i = 0; status == NULL && i < COUNT; i++) {
        status = api->CustomOpDomain_Add(*out, &operators[i].op);
        if (status != NULL)
            api->ReleaseCustomOpDomain(*out);
    }
    return status;
}

/* onnxruntime calls this for `SessionOptions.register_custom_ops_library`. The domain must outlive every session
 * made with these options. The library cannot tell when the last one ends, so it never releases the domain. */
EXPORTED OrtStatus *ORT_CALL RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base)
{
    OrtCustomOpDomain *domain = NULL;
    const OrtApi *api = base->GetApi(ORT_API_VERSION);
    if (api == NULL) {
        /* An older API table is a prefix of ours: it lacks what the kernels need, but can report the error. */
        api = base->GetApi(1);
        return api == NULL ? NULL : api->CreateStatus(ORT_FAIL, "fastcam: onnxruntime 1.17 or newer is needed");
    }
    OrtStatus *status = make_domain(api, &domain);
    return status != NULL ? status : api->AddCustomOpDomain(options, domain);
}
