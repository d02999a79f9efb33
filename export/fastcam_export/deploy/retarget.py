"""Write the saliency branch with the operators that a target supports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnx.reference
import onnx_ir as ir
from fastcam_runtime.contract import NODE_PREFIX

from ..analysis.values import constant
from ..authoring.ops import Ops
from ..errors import GraftError
from .rewrite import RULES
from .targets import TARGETS


def retarget(proto: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The same model with a branch for a target; the network's own nodes do not change.

    Args:
        proto: A grafted model without functions.
        name: One of `TARGETS`.

    Raises:
        GraftError: A requested output needs an operator that the target lacks.
    """
    target = TARGETS[name]
    if target.fixed_batch:
        _fix_batch(proto)
    if target.operators is None:
        return proto
    model = ir.from_proto(proto)
    _fold(model)
    # Some shapes are known only after folding.
    model = ir.from_proto(onnx.shape_inference.infer_shapes(ir.to_proto(model), data_prop=True))
    for node in list(_branch(model)):
        if node.op_type not in target.operators:
            _replace(model, node, target.operators)
    _fold(model)
    _drop_unused(model)
    lacking = sorted({node.op_type for node in _branch(model)} - target.operators - {"Constant"})
    if lacking:
        advice = (
            "export the network from before its quantisation"
            if "DequantizeLinear" in lacking
            else "name fewer --outputs; saliency_map alone is possible"
        )
        raise GraftError(
            f"target {name}: the requested outputs need {', '.join(lacking)}, which it lacks; {advice}"
        )
    return ir.to_proto(model)


def _branch(model: ir.Model) -> Iterator[ir.Node]:
    return (node for node in model.graph if (node.name or "").startswith(NODE_PREFIX))


def _fix_batch(proto: onnx.ModelProto) -> None:
    """Fix the batch to 1: accelerators need static shapes."""
    free = {
        value.type.tensor_type.shape.dim[0].dim_param
        for value in proto.graph.input
        if value.type.tensor_type.shape.dim
    } - {""}
    for value in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        dims = value.type.tensor_type.shape.dim
        for position, dim in enumerate(dims):
            unknown = not dim.HasField("dim_value") and not dim.dim_param
            if (dim.dim_param and dim.dim_param in free) or (position == 0 and unknown):
                dim.dim_value = 1


def _fold(model: ir.Model) -> None:
    """Constant folding."""
    for node in list(_branch(model)):
        if node.op_type == "Constant" or not node.inputs:
            continue
        contents = [constant(value) for value in node.inputs]
        if any(
            content is None and value is not None
            for content, value in zip(contents, node.inputs, strict=True)
        ):
            continue
        feeds = {f"i{k}": content for k, content in enumerate(contents) if content is not None}
        for output, result in zip(node.outputs, _evaluate(node, feeds, model), strict=True):
            folded = ir.Value(name=f"{output.name}", const_value=ir.tensor(np.asarray(result)))
            folded.shape, folded.type = output.shape, output.type
            output.name = f"{output.name}/folded"
            ir.convenience.replace_all_uses_with(output, folded)
            model.graph.initializers[str(folded.name)] = folded
        model.graph.remove(node, safe=True)


def _drop_unused(model: ir.Model) -> None:
    """Drop constants of the branch that nothing reads any more."""
    outputs = set(model.graph.outputs)
    for name, value in list(model.graph.initializers.items()):
        if name.startswith((NODE_PREFIX, "val_")) and not value.uses() and value not in outputs:
            del model.graph.initializers[name]


def _evaluate(node: ir.Node, feeds: dict[str, np.ndarray], model: ir.Model) -> list[np.ndarray]:
    proto = ir.to_proto(node)
    for k in range(len(proto.input)):
        proto.input[k] = f"i{k}" if f"i{k}" in feeds else ""
    graph = onnx.helper.make_graph(
        [proto],
        "one",
        [
            onnx.helper.make_tensor_value_info(k, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for k, v in feeds.items()
        ],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in proto.output],
    )
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in model.opset_imports.items()]
    one = onnx.helper.make_model(graph, opset_imports=opsets)
    return list(onnx.reference.ReferenceEvaluator(one).run(None, feeds))


def _replace(model: ir.Model, node: ir.Node, operators: frozenset[str]) -> None:
    """Replace a node by the first of its rules that needs only operators of the target."""
    for rule in RULES.get(node.op_type, ()):
        op = Ops(model.opset_imports[""])
        found = rule(op, node)
        if found is None or any(made.op_type not in operators | {"Constant"} for made in op.nodes):
            continue
        results = [found] if isinstance(found, ir.Value) else list(found)
        for number, made in enumerate(op.nodes):
            made.name = f"{node.name}/{made.op_type}_{number}"
            for value in made.outputs:
                value.name = f"{node.name}/{number}"
        for old, new in zip(node.outputs, results, strict=True):
            new.shape, new.type = old.shape, old.type
            if old in model.graph.outputs:
                new.name, old.name = old.name, f"{old.name}/replaced"
                model.graph.outputs[list(model.graph.outputs).index(old)] = new
            ir.convenience.replace_all_uses_with(old, new)
        model.graph.insert_after(node, op.nodes)
        model.graph.remove(node, safe=True)
        return
