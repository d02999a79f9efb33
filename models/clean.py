"""From the result of torch's exporter to the shipped file: named nodes, half the size, no debug data."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import numpy as np
import onnx
import onnx_ir as ir

OPSET = 17
"""Every operator left after `use_global_pool` has the same definition in 17 and in the exporter's 18."""

IR_VERSION = 8
"""The IR version of opset 17; older runtimes refuse the exporter's own."""

PRODUCER = "fastcam_models"


def clean(model: ir.Model, metadata: Mapping[str, str], half: bool) -> onnx.ModelProto:
    """The model under its module names and `metadata`; with `half`, its weights as float16 behind a Cast."""
    use_global_pool(model.graph)
    name_after_modules(model.graph)
    strip(model)
    if half:
        store_half(model.graph)
    declare_opset(model)
    model.metadata_props.update(metadata)
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def use_global_pool(graph: ir.Graph) -> None:
    """Write the mean over the picture as GlobalAveragePool and Flatten.

    The definition of ReduceMean changed in opset 18, and the exporter's Reshape hard-codes the channel count.
    """
    mean = next(node for node in graph if node.op_type == "ReduceMean")
    (reshape,) = mean.outputs[0].consumers()
    pool = ir.node("GlobalAveragePool", [mean.inputs[0]])
    flatten = ir.node("Flatten", [pool.outputs[0]], {"axis": 1})
    for old, new in ((mean, pool), (reshape, flatten)):
        new.metadata_props.update(old.metadata_props)
        new.outputs[0].shape, new.outputs[0].type = old.outputs[0].shape, old.outputs[0].type
    ir.convenience.replace_nodes_and_values(
        graph, mean, [mean, reshape], [pool, flatten], [reshape.outputs[0]], [flatten.outputs[0]]
    )


def name_after_modules(graph: ir.Graph) -> None:
    """Name each node and its output after the module it comes from: `blocks.1.expand.act`."""
    for node in graph:
        *_, module, _ = ast.literal_eval(node.metadata_props["pkg.torch.onnx.name_scopes"])
        node.name = f"{module}.add" if node.op_type == "Add" else module
        if not node.outputs[0].is_graph_output():
            node.outputs[0].name = node.name
        if node.op_type == "Clip":
            for bound, value in zip(("relu6.min", "relu6.max"), node.inputs[1:], strict=True):
                assert value is not None
                value.name = bound


def strip(model: ir.Model) -> None:
    """Remove everything that only says how and where the file was made."""
    graph = model.graph
    for name in [name for name, value in graph.initializers.items() if not value.uses()]:
        del graph.initializers[name]
    values = [
        *graph.inputs,
        *graph.initializers.values(),
        *(value for node in graph for value in node.outputs),
    ]
    for holder in (model, graph, *graph, *values):
        holder.metadata_props.clear()
        holder.doc_string = None
    model.producer_name, model.producer_version, model.domain = PRODUCER, None, None


def store_half(graph: ir.Graph) -> None:
    """Store the weights, nearly all of the file, as float16 and cast them back; biases stay float32.

    Runtimes compute a Cast of a constant once, when the file is loaded, so the network runs in float32.
    """
    for name, weight in list(graph.initializers.items()):
        tensor = weight.const_value
        if tensor is None or len(tensor.shape) < 2:
            continue
        half = ir.tensor(tensor.numpy().astype(np.float16), name=f"{name}.half")
        stored = ir.Value(name=half.name, const_value=half)
        cast = ir.node("Cast", [stored], {"to": ir.DataType.FLOAT}, name=f"{name}.cast")
        del graph.initializers[name]
        graph.register_initializer(stored)
        restored = cast.outputs[0]
        restored.name, restored.shape, restored.type = name, weight.shape, weight.type
        (user,) = weight.consumers()
        graph.insert_before(user, cast)
        weight.replace_all_uses_with(restored)


def declare_opset(model: ir.Model) -> None:
    """Declare `OPSET`, after checking that this does not change the meaning of any node."""
    written_for = model.opset_imports[""]
    for op_type in {node.op_type for node in model.graph}:
        versions = {onnx.defs.get_schema(op_type, v).since_version for v in (OPSET, written_for)}
        if len(versions) > 1:
            raise ValueError(f"{op_type} is not the same operator in opsets {OPSET} and {written_for}")
    model.opset_imports[""] = OPSET
    model.ir_version = IR_VERSION
