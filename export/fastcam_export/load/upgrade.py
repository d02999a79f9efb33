"""Upgrade a model so that the graft can extend it, without changing what it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import onnx
import onnx_ir as ir
from fastcam_runtime.contract import DOMAIN, METADATA_KEY
from fastcam_runtime.errors import last_line
from onnx_ir.passes.common import InlinePass

from ..analysis.operators import PROCESSOR_DOMAINS, PROCESSOR_OPERATORS, facts
from ..authoring.ops import MIN_OPSET
from ..errors import GraftError, LoadError
from .loaded_model import LoadedModel
from .messages import messages, reads
from .view import view

OLDEST_OPSET = 7
RESIZE_MODES_OPSET = 11
"""Since this opset, Resize has attributes for how it places and rounds pixels."""
FUNCTION_IR_VERSION = 8
"""The first version of the file format with local functions."""


def upgrade(source: LoadedModel) -> LoadedModel:
    """The same model, ready for the graft: a recent enough opset and file format, no local functions.

    Raises:
        GraftError: The model holds a graft already, or is made for one kind of processor.
        LoadError: Its opset is too old or too new or cannot be upgraded, or a part of it cannot be read.
    """
    _refuse_grafted(source)
    _refuse_processor_layout(source)
    given = source.proto
    if source.proto.functions:
        # A tap may be inside a function, where a graph output cannot read it.
        proto = ir.to_proto(_inlined(source))
        proto.metadata_props.extend(source.proto.metadata_props)
        source = replace(source, proto=proto, notes=(*source.notes, "local functions inlined"))
    source = _upgrade_opset(source)
    _drop_weights_from_inputs(source.proto)
    _drop_stale_shapes(source.proto.graph)
    source.proto.ir_version = max(source.proto.ir_version, FUNCTION_IR_VERSION)
    if source.path is None and source.proto is not given:
        source = replace(source, untouched=given)
    return source


def _refuse_grafted(source: LoadedModel) -> None:
    if METADATA_KEY in source.metadata or any(f.domain == DOMAIN for f in source.proto.functions):
        raise GraftError(f"{source.name} is grafted already: start from the original file, or use this one")


def _refuse_processor_layout(source: LoadedModel) -> None:
    """Refuse a file that onnxruntime's optimiser saved for one kind of processor: channels lie in blocks."""
    for node in source.proto.graph.node:
        if node.domain in PROCESSOR_DOMAINS or node.op_type in PROCESSOR_OPERATORS:
            raise GraftError(
                f"{source.name} is saved in the memory layout of one kind of processor ({node.op_type} of "
                f"{node.domain}), by onnxruntime's optimiser: start from the original file"
            )


def _inlined(source: LoadedModel) -> ir.Model:
    model = view(source)
    for function in model.functions.values():
        _adopt_opsets(function, model.opset_imports)
    try:
        InlinePass()(model)
    except (ValueError, ir.passes.InvariantError) as error:
        raise LoadError(f"{source.name}: its local functions cannot be inlined: {error}") from error
    return model


def _adopt_opsets(function: ir.Function, opsets: Mapping[str, int]) -> None:
    """Set the versions that a function imports to the model's, if its operators are the same in both."""
    for domain, version in function.opset_imports.items():
        wanted = opsets.get(domain, version)
        nodes = ir.traversal.RecursiveGraphIterator(function)
        if all(_same(node.op_type, domain, version, wanted) for node in nodes if node.domain == domain):
            function.opset_imports[domain] = wanted


def _same(op_type: str, domain: str, *versions: int) -> bool:
    """Whether an operator exists, unchanged, in all these versions of its domain."""
    try:
        return (
            len({onnx.defs.get_schema(op_type, version, domain).since_version for version in versions}) == 1
        )
    except onnx.defs.SchemaError:
        return False


def _upgrade_opset(source: LoadedModel) -> LoadedModel:
    opset = source.opset
    newest = onnx.defs.onnx_opset_version()
    if opset > newest:
        raise LoadError(f"opset {opset} is newer than this onnx package knows ({newest}): upgrade onnx")
    if opset < OLDEST_OPSET:
        raise LoadError(f"opset {opset} is too old: {OLDEST_OPSET} and up can be upgraded")
    if opset >= MIN_OPSET:
        return source
    unknown = sorted(
        {n.op_type for n in source.proto.graph.node if not n.domain and not onnx.defs.has(n.op_type)}
    )
    if unknown:
        listed = ", ".join(unknown)
        raise LoadError(f"opset {opset} cannot be upgraded: ONNX has no operator {listed}")
    try:
        proto = onnx.version_converter.convert_version(source.proto, MIN_OPSET)
    except Exception as error:  # the C++ converter raises plain RuntimeError and its kin
        raise LoadError(
            f"opset {opset} cannot be upgraded to {MIN_OPSET}, which the graft needs: {last_line(error)}"
        ) from error
    _restore(proto, source.proto)
    if opset < RESIZE_MODES_OPSET:
        _keep_resize_modes(proto)
    _drop_empty_scales(proto.graph)
    _keep_softmax_whole(proto.graph)
    return replace(source, proto=proto, notes=(*source.notes, f"opset {opset} upgraded to {MIN_OPSET}"))


def _restore(proto: onnx.ModelProto, original: onnx.ModelProto) -> None:
    """Restore the metadata, which the converter drops."""
    if not proto.metadata_props:
        proto.metadata_props.extend(original.metadata_props)
    proto.producer_name, proto.producer_version = original.producer_name, original.producer_version
    proto.doc_string = original.doc_string


def _keep_resize_modes(proto: onnx.ModelProto) -> None:
    """Set the attributes that say how Upsample and the first Resize place and round pixels.

    The converter leaves them out, and the defaults of later versions differ.
    """
    modes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    for node in messages(proto.graph):
        if isinstance(node, onnx.NodeProto) and node.op_type == "Resize":
            present = {attribute.name for attribute in node.attribute}
            missing = [name for name in modes if name not in present]
            node.attribute.extend(onnx.helper.make_attribute(name, modes[name]) for name in missing)


def _drop_empty_scales(graph: onnx.GraphProto) -> None:
    """Remove the empty `scales` of a Resize that has `sizes`: since opset 13 it may have only one of them."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    tensors |= {
        node.output[0]: attribute.t
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    }
    for node in graph.node:
        has_sizes = node.op_type == "Resize" and len(node.input) > 3 and node.input[3] != ""
        if has_sizes and node.input[2] in tensors and 0 in tensors[node.input[2]].dims:
            node.input[2] = ""


def _keep_softmax_whole(graph: onnx.GraphProto) -> None:
    """Compute the half-precision Softmax that a network ends with in float32, as it was before opset 13.

    Since opset 13 Softmax is a function, which runtimes without a kernel expand: the last digit of the scores
    would change. But a cast rounds the result of a neighbour that has a half-precision kernel. So this is
    done only between an operator without such a kernel and the output.
    """
    types = {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.output)}
    outputs = {value.name for value in graph.output}
    readers = Counter(name for node in graph.node for name in reads(node)) + Counter(outputs)
    ends = outputs | {n.input[0] for n in graph.node if n.op_type == "Reshape" and n.output[0] in outputs}
    for node in [node for node in graph.node if node.op_type in ("Softmax", "LogSoftmax")]:
        y = node.output[0]
        if types.get(y) == onnx.TensorProto.FLOAT16 and y in ends and readers[y] == 1:
            chain = _reshapes_before(graph, node, readers)
            if chain:
                _widen(graph, chain)


def _reshapes_before(
    graph: onnx.GraphProto, last: onnx.NodeProto, readers: Mapping[str, int]
) -> list[onnx.NodeProto]:
    """`last` and the reshapes before it, first to last; empty if their input is not computed in float32."""
    producers = {name: node for node in graph.node for name in node.output}
    chain = [last]
    while (producer := producers.get(chain[0].input[0])) is not None:
        operator = facts(producer.op_type)
        if operator.half_is_float32:
            return chain
        if not (operator.reshapes or producer.op_type == "Identity") or readers[producer.output[0]] > 1:
            break
        chain.insert(0, producer)
    return []


def _widen(graph: onnx.GraphProto, chain: Sequence[onnx.NodeProto]) -> None:
    """Put casts to float32 and back around a chain of nodes."""
    first, last = chain[0], chain[-1]
    x, y = first.input[0], last.output[0]
    taken = {name for node in graph.node for name in (node.name, *node.input, *node.output)}
    wide, narrow = (_new_name(f"{y}/{word}", taken) for word in ("wide", "narrow"))
    for inner in chain:
        for i in reversed([i for i, value in enumerate(graph.value_info) if value.name == inner.output[0]]):
            del graph.value_info[i]
    begin, end = (list(graph.node).index(node) for node in (first, last))
    first.input[0], last.output[0] = wide, narrow
    back = onnx.helper.make_node("Cast", [narrow], [y], narrow, to=onnx.TensorProto.FLOAT16)
    graph.node.insert(end + 1, back)
    graph.node.insert(begin, onnx.helper.make_node("Cast", [x], [wide], wide, to=onnx.TensorProto.FLOAT))


def _new_name(wanted: str, taken: Collection[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def _drop_weights_from_inputs(proto: onnx.ModelProto) -> None:
    """Remove initializers from the inputs.

    Before file format 4 every initializer had to be an input too. In later formats that makes it overridable,
    and onnxruntime no longer folds it: the network would become slower.
    """
    if proto.ir_version >= 4:
        return
    weights = {tensor.name for tensor in proto.graph.initializer}
    inputs = [value for value in proto.graph.input if value.name not in weights]
    del proto.graph.input[:]
    proto.graph.input.extend(inputs)


def _drop_stale_shapes(graph: onnx.GraphProto) -> None:
    """Drop sizes that contradict the free dimensions of a picture.

    Such sizes remain if someone made the dimensions free later, and onnxruntime plans its memory by them.
    Inference finds the sizes that are still true.
    """
    weights = {tensor.name for tensor in graph.initializer}
    pictures = [sizes for v in graph.input if v.name not in weights and len(sizes := _sizes(v)) == 4]
    free_batch = any(not sizes[0] for sizes in pictures)
    free_place = any(not all(sizes[1:]) for sizes in pictures)

    def is_stale(value: onnx.ValueInfoProto) -> bool:
        sizes = _sizes(value)
        # Pooled features have one dimension above 1. A tensor with more than one has pixels, in any layout.
        pixels = len(sizes) > 3 and all(sizes[1:]) and sum(size > 1 for size in sizes[1:]) > 1
        return (free_batch and len(sizes) > 1 and sizes[0] > 0) or (free_place and pixels)

    kept = [value for value in graph.value_info if not is_stale(value)]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    for value in graph.output:
        if free_batch and _sizes(value)[:1] == [1]:
            value.type.tensor_type.shape.dim[0].Clear()


def _sizes(value: onnx.ValueInfoProto) -> list[int]:
    """The dimensions, 0 for free ones; empty if unknown."""
    return [max(dim.dim_value, 0) for dim in value.type.tensor_type.shape.dim]
