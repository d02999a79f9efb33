/* The custom-operator library: kernels for the functions of the domain `fastcam`.
 *
 * onnxruntime expands a model's local function into its body, except where a registered operator has the same
 * domain and name: then that operator's kernel runs. Every operator here takes one variadic input, so that the
 * constants which only a function's body needs are accepted and passed over. */
#include "exported.h"
#include "operators.h"
#include "ort_abi.h"
#include "tensors.h"

#include <float.h>
#include <stdlib.h>

#define DOMAIN "fastcam"

/* Reads what a kernel takes from its node, or refuses the node. */
typedef OrtStatus *ReadAttributes(const OrtApi *api, const OrtKernelInfo *info, Setting *setting);

typedef struct {
    OrtCustomOp op; /* first, so that onnxruntime's pointer to it is one to the whole */
    const char *name;
    Compute *compute;
    ReadAttributes *read_attributes; /* NULL where nothing is taken */
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
    return ORT_UNDEFINED; /* any: data are float, constants float or int64 */
}

static int ORT_CALL get_output_type(const OrtCustomOp *op, size_t index)
{
    (void)op, (void)index;
    return ORT_FLOAT;
}

static int ORT_CALL get_byte_output_type(const OrtCustomOp *op, size_t index)
{
    (void)op, (void)index;
    return ORT_UINT8;
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

/* Whether a node has the attribute that was asked for, of the type asked for. */
static int is_there(const OrtApi *api, OrtStatus *status)
{
    if (status != NULL)
        api->ReleaseStatus(status);
    return status == NULL;
}

/* The attribute of SMOE Scale. Without it the logarithm of a 0 would be taken. */
static OrtStatus *read_epsilon(const OrtApi *api, const OrtKernelInfo *info, Setting *setting)
{
    float epsilon = 0;
    if (!is_there(api, api->KernelInfoGetAttribute_float(info, "epsilon", &epsilon)) ||
        !(epsilon > 0 && epsilon <= FLT_MAX))
        FAIL("SMOE Scale needs the attribute epsilon, a number above 0");
    setting->epsilon = epsilon;
    return NULL;
}

/* The attributes of SMOE Scale of blocks. */
static OrtStatus *read_epsilon_and_block(const OrtApi *api, const OrtKernelInfo *info, Setting *setting)
{
    int64_t block = 0;
    if (!is_there(api, api->KernelInfoGetAttribute_int64(info, "block", &block)) || (block != 8 && block != 16))
        FAIL("blocks of channels are of 8 or 16: SmoeScaleBlocked needs the attribute block, one of these");
    if (fastcam_block() != 0 && block != fastcam_block())
        FAIL("the file was prepared for another processor");
    setting->block = (size_t)block;
    return read_epsilon(api, info, setting);
}

static OrtStatus *ORT_CALL create_kernel(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info,
                                         void **out)
{
    const Operator *self = (const Operator *)op;
    Kernel *kernel = malloc(sizeof *kernel);
    if (kernel == NULL)
        return api->CreateStatus(ORT_FAIL, "fastcam: no memory left for a kernel");
    *kernel = (Kernel){{api, fastcam_kernels(), 0, 0}, self->compute};
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

#define OPERATOR(name, compute) ANY_OPERATOR(name, compute, get_output_type, NULL)
#define ANY_OPERATOR(name, compute, output_type, read_attributes)                                           \
    {                                                                                                       \
        {.version = ORT_API_VERSION,                                                                        \
         .GetName = get_name,                                                                               \
         .GetExecutionProviderType = get_provider,                                                          \
         .GetInputType = get_input_type,                                                                    \
         .GetInputTypeCount = get_one,                                                                      \
         .GetOutputType = output_type,                                                                      \
         .GetOutputTypeCount = get_one,                                                                     \
         .KernelDestroy = destroy_kernel,                                                                   \
         .GetInputCharacteristic = get_input_kind,                                                          \
         .GetOutputCharacteristic = get_output_kind,                                                        \
         .GetInputMemoryType = get_memory,                                                                  \
         .GetVariadicInputMinArity = get_arity,                                                             \
         .GetVariadicInputHomogeneity = get_heterogeneous,                                                  \
         .GetVariadicOutputMinArity = get_arity,                                                            \
         .GetVariadicOutputHomogeneity = get_heterogeneous,                                                 \
         .CreateKernelV2 = create_kernel,                                                                   \
         .KernelComputeV2 = compute_kernel},                                                                \
            name, compute, read_attributes                                                                  \
    }
#define PLANES(name, compute) ANY_OPERATOR(name, compute, get_output_type, read_epsilon)
#define BLOCKS(name, compute) ANY_OPERATOR(name, compute, get_output_type, read_epsilon_and_block)
#define PICTURE(name, compute) ANY_OPERATOR(name, compute, get_byte_output_type, NULL)
#define SMOE(number) PLANES("SmoeScale" number, smoe_scale), PLANES("SmoeScaleRelu" number, smoe_scale_relu)

static const Operator operators[] = {
    /* A model numbers the forms of the function's body that it holds, one for each shape at most. They differ in
     * how they multiply the channels, which the kernels do alike. A thirteenth would run as its body. */
    SMOE(""),
    SMOE("2"),
    SMOE("3"),
    SMOE("4"),
    SMOE("5"),
    SMOE("6"),
    SMOE("7"),
    SMOE("8"),
    SMOE("9"),
    SMOE("10"),
    SMOE("11"),
    SMOE("12"),
    /* Not in the files of the exporter, but in those that it prepares for one kind of processor. */
    BLOCKS("SmoeScaleBlocked", smoe_scale_blocked),
    BLOCKS("SmoeScaleBlockedRelu", smoe_scale_blocked_relu),
    OPERATOR("GaussNormalize", gauss_normalize_map),
    OPERATOR("GaussNormalizeDynamic", gauss_normalize_map),
    OPERATOR("CombineScales", combine_scales),
    OPERATOR("CombineScalesDynamic", combine_scales_dynamic),
    OPERATOR("Upsample", upsample),
    OPERATOR("UpsampleDynamic", upsample_dynamic),
    PICTURE("Lovi", lovi),
    PICTURE("LoviDynamic", lovi_dynamic),
    OPERATOR("MinMax", minmax_map),
    OPERATOR("FastCam", fast_cam_map),
    OPERATOR("NonClass", non_class_map),
};

#define COUNT (sizeof operators / sizeof operators[0])

/* The name of an operator; NULL behind the last. */
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

/* onnxruntime calls this for `SessionOptions.register_custom_ops_library`. The domain has to outlive every
 * session made with these options, which only the end of the process is sure to do: it is never released. */
EXPORTED OrtStatus *ORT_CALL RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base)
{
    OrtCustomOpDomain *domain = NULL;
    const OrtApi *api = base->GetApi(ORT_API_VERSION);
    if (api == NULL) {
        /* An older table cannot run the kernels but, being a prefix of ours, can still say so. */
        api = base->GetApi(1);
        return api == NULL ? NULL : api->CreateStatus(ORT_FAIL, "fastcam: onnxruntime 1.17 or newer is needed");
    }
    OrtStatus *status = make_domain(api, &domain);
    return status != NULL ? status : api->AddCustomOpDomain(options, domain);
}
