"""Files that once hung, filled the memory or ended in a traceback, each made in a few lines.

`REGRESSIONS` has one row per file: how it is made, and a part of the line that refuses it.
"""

from __future__ import annotations

from collections.abc import Callable

import onnx
from onnx import TensorProto, helper
from support.networks import hide_a_shape, small_cnn

Maker = Callable[[], onnx.ModelProto]


def huge_weight() -> onnx.ModelProto:
    """A weight of 2^50 × … elements, with the data of a small one."""
    model = small_cnn()
    model.graph.initializer[0].dims[0] = 1 << 50
    return model


def nested_functions() -> onnx.ModelProto:
    """Five levels of functions that each call the next one ten times: 100,000 nodes when they are inlined."""
    model = small_cnn()
    for level in range(5):
        inner = f"F{level + 1}" if level < 4 else "Relu"
        lines = [f"v{i + 1} = {'local.' if level < 4 else ''}{inner} (v{i})" for i in range(10)]
        body = "\n".join(["v0 = Identity (x)", *lines, "y = Identity (v10)"])
        text = f'<domain: "local", opset_import: ["" : 17, "local" : 1]> F{level} (x) => (y) {{ {body} }}'
        model.functions.append(onnx.parser.parse_function(text))
    model.opset_import.add(domain="local", version=1)
    model.graph.node[1].CopyFrom(helper.make_node("F0", ["c1"], ["a1"], domain="local"))
    return model


def function_that_calls_itself() -> onnx.ModelProto:
    """A function that calls itself."""
    return with_function("y = local.F (x)")


def huge_batch() -> onnx.ModelProto:
    """100,000 pictures in one run."""
    return small_cnn("float[100000,3,64,64] input")


def batch_of_small_pictures() -> onnx.ModelProto:
    """4,096 pictures of 64×64, which took 3.4 GB in `bench`."""
    return small_cnn("float[4096,3,64,64] input")


def huge_picture() -> onnx.ModelProto:
    """A picture of 100,000 × 100,000 pixels."""
    return small_cnn("float[1,3,100000,100000] input")


def many_channels() -> onnx.ModelProto:
    """A picture with 100,000 channels."""
    return small_cnn("float[1,100000,64,64] input")


def endless_loop() -> onnx.ModelProto:
    """A loop that does not end."""
    return looping(1 << 62)


def looping(trips: int) -> onnx.ModelProto:
    """A loop of so many trips, before a tensor whose shape is known only at run time."""
    model = small_cnn()
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Relu", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, None),
        ],
    )
    model.graph.initializer.append(helper.make_tensor("trips", TensorProto.INT64, [], [trips]))
    model.graph.node[1].CopyFrom(helper.make_node("Loop", ["trips", "", "c1"], ["a1"], body=body))
    return model


def huge_padding() -> onnx.ModelProto:
    """A tensor of 3·10^9 elements inside the network, with an inferable size."""
    model = small_cnn()
    attribute = next(a for a in model.graph.node[0].attribute if a.name == "pads")
    attribute.ints[:] = [40_000] * 4
    return model


def hidden_padding() -> onnx.ModelProto:
    """The same after an operator that shape inference does not know."""
    model = small_cnn()
    hide_a_shape(model)
    attribute = next(a for a in model.graph.node[2].attribute if a.name == "pads")
    attribute.ints[:] = [30_000] * 4
    return model


def flat_convolution() -> onnx.ModelProto:
    """The first convolution's weight has one dimension."""
    model = small_cnn()
    weight = model.graph.initializer[0]
    del weight.dims[1:]
    weight.dims[0] = len(weight.raw_data) // 4
    return model


def attribute_without_type() -> onnx.ModelProto:
    """An attribute of type 0."""
    model = small_cnn()
    model.graph.node[0].attribute[0].type = onnx.AttributeProto.UNDEFINED
    return model


def attribute_of_unknown_type() -> onnx.ModelProto:
    """The same for a type that does not exist, as a newer format may have."""
    model = small_cnn()
    data = model.graph.node[0].attribute[0].SerializeToString()
    model.graph.node[0].attribute[0].ParseFromString(data.replace(b"\xa0\x01\x07", b"\xa0\x01\x63"))
    return model


def with_function(body: str, opset: int = 17) -> onnx.ModelProto:
    """`small_cnn` with its first activation in a local function of this body."""
    model = small_cnn()
    imports = f'["" : {opset}, "local" : 1]'
    text = f'<domain: "local", opset_import: {imports}> F (x) => (y) {{ {body} }}'
    model.functions.append(onnx.parser.parse_function(text))
    model.opset_import.add(domain="local", version=1)
    model.graph.node[1].CopyFrom(helper.make_node("F", ["c1"], ["a1"], domain="local"))
    return model


def undefined_name() -> onnx.ModelProto:
    """A function that reads an undefined name."""
    return with_function("y = Add (x, nowhere)")


def far_opset() -> onnx.ModelProto:
    """A function that imports version 2^40 of the standard operators."""
    return with_function("y = Relu (x)", 1 << 40)


def negative_opset() -> onnx.ModelProto:
    """The same below zero."""
    model = with_function("y = Relu (x)")
    model.functions[0].opset_import[0].version = -(1 << 40)
    return model


def normalization_without_size() -> onnx.ModelProto:
    """LRN needs `size`."""
    model = small_cnn()
    model.graph.node[1].CopyFrom(helper.make_node("LRN", ["c1"], ["a1"]))
    return model


def huge_opset() -> onnx.ModelProto:
    """A model that imports version 2^40 of a domain, beside a function."""
    model = with_function("y = Relu (x)")
    model.opset_import[0].version = 1 << 40
    return model


def unreadable_operator() -> onnx.ModelProto:
    """An operator whose name is not UTF-8."""
    data = small_cnn().SerializeToString()
    return onnx.load_from_string(data.replace(b"Relu", b"Rel\xff"))


def resize_of_graphs() -> onnx.ModelProto:
    """A Resize whose mode is no text."""
    model = _resizing()
    mode = next(a for a in model.graph.node[1].attribute if a.name == "mode")
    mode.type = onnx.AttributeProto.GRAPHS
    return model


def resize_in_bytes() -> onnx.ModelProto:
    """A Resize whose mode is not UTF-8."""
    model = _resizing()
    mode = next(a for a in model.graph.node[1].attribute if a.name == "mode")
    mode.s = b"\xce\xfa\xff"
    return model


def _resizing() -> onnx.ModelProto:
    model = small_cnn()
    model.graph.initializer.append(helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 1, 1]))
    node = helper.make_node("Resize", ["c1", "", "scales"], ["a1"], mode="nearest")
    model.graph.node[1].CopyFrom(node)
    return model


def node_for_an_unknown_device() -> onnx.ModelProto:
    """A node that names a device configuration which the model does not have."""
    model = small_cnn()
    model.graph.node[1].device_configurations.add()
    return model


def node_without_inputs() -> onnx.ModelProto:
    """A convolution without inputs."""
    model = small_cnn()
    del model.graph.node[2].input[:]
    return model


def node_with_too_few_inputs() -> onnx.ModelProto:
    """A convolution without its weight."""
    model = small_cnn()
    del model.graph.node[0].input[1:]
    return model


def node_without_outputs() -> onnx.ModelProto:
    """A convolution without outputs."""
    model = small_cnn()
    del model.graph.node[2].output[:]
    return model


def many_nodes() -> onnx.ModelProto:
    """More nodes than any image network has."""
    model = small_cnn()
    node = helper.make_node("Relu", ["c1"], ["z"])
    model.graph.node.extend([node] * 100_001)
    return model


def unnamed_image() -> onnx.ModelProto:
    """An input without a name."""
    model = small_cnn()
    model.graph.input[0].name = model.graph.node[0].input[0] = ""
    return model


def long_label() -> onnx.ModelProto:
    """A class name of 50,000 characters."""
    model = small_cnn()
    helper.set_model_props(model, {"names": str(["a" * 50_000, *map(str, range(9))])})
    return model


def endless_list() -> onnx.ModelProto:
    """A list of 2^62 numbers: shape inference wrote it out until the memory was full."""
    model = small_cnn()
    limits = {"first": 0, "last": 1 << 62, "step": 1}
    for name, value in limits.items():
        model.graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [], [value]))
    model.graph.node[1].output[0] = "plain"
    for at, node in enumerate(
        (
            helper.make_node("Range", [*limits], ["list"]),
            helper.make_node("Cast", ["list"], ["floats"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["floats"], ["sum"], keepdims=0),
            helper.make_node("Add", ["plain", "sum"], ["a1"]),
        )
    ):
        model.graph.node.insert(2 + at, node)
    return model


REGRESSIONS: dict[str, tuple[Maker, str]] = {
    "huge_weight": (huge_weight, "w1"),
    "nested_functions": (nested_functions, "nodes"),
    "function_that_calls_itself": (function_that_calls_itself, "itself"),
    "huge_batch": (huge_batch, "pictures"),
    "batch_of_small_pictures": (batch_of_small_pictures, "pixels are the limit"),
    "huge_picture": (huge_picture, "pixels"),
    "many_channels": (many_channels, "channels"),
    "endless_loop": (endless_loop, "loop"),
    "huge_padding": (huge_padding, "elements are the limit"),
    "hidden_padding": (hidden_padding, "memory"),
    "flat_convolution": (flat_convolution, "w1"),
    "attribute_without_type": (attribute_without_type, "attribute"),
    "attribute_of_unknown_type": (attribute_of_unknown_type, "attribute"),
    "undefined_name": (undefined_name, "nowhere"),
    "far_opset": (far_opset, "opset"),
    "negative_opset": (negative_opset, "opset"),
    "normalization_without_size": (normalization_without_size, "size"),
    "huge_opset": (huge_opset, "opset"),
    "unreadable_operator": (unreadable_operator, "UTF-8"),
    "resize_of_graphs": (resize_of_graphs, "mode"),
    "resize_in_bytes": (resize_in_bytes, "mode"),
    "node_for_an_unknown_device": (node_for_an_unknown_device, "device"),
    "node_without_inputs": (node_without_inputs, "has 0 inputs of at least 2"),
    "node_with_too_few_inputs": (node_with_too_few_inputs, "has 1 input of at least 2"),
    "node_without_outputs": (node_without_outputs, "no image input"),
    "many_nodes": (many_nodes, "nodes"),
    "endless_list": (endless_list, "far too many numbers"),
    "unnamed_image": (unnamed_image, "no image input"),
}
